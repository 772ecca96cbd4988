"""Which model a stream names while its call goes on."""

import pytest

from hermes.calls.events import CallFailure, CallStart
from hermes.errors import ProviderTimeout
from hermes.ports.provider import ModelName
from hermes.routing.plan import Candidate
from hermes.server.v1.dialect import Stamp
from hermes.server.v1.record import Record

ONE, TWO = Candidate("one", "m-1", "named"), Candidate("two", "m-2", "named")
SLOW = ProviderTimeout("slow")


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("events", "answering", "model"),
    [
        ([CallStart(ONE)], "one:m-1", "m-1"),
        ([CallStart(ONE), ModelName("m-1-0613")], "one:m-1", "m-1-0613"),
        ([CallStart(ONE), CallFailure(ONE, SLOW), CallStart(TWO)], "two:m-2", "m-2"),
        ([CallStart(ONE), CallStart(TWO), CallFailure(TWO, SLOW)], "one:m-1", "m-1"),
        ([CallStart(ONE), CallStart(TWO), CallFailure(ONE, SLOW)], "two:m-2", "m-2"),
    ],
    ids=["alone", "by another name", "the next one", "the hedged one", "the hedge"],
)
def test_a_stream_names_the_candidate_that_answers(events, answering, model):
    # Nothing is written: the record only follows the call.
    record = Record(Stamp("v1", 0.0), None, ledger=None, clock=None)  # type: ignore[arg-type]

    for event in events:
        record.hear(event)

    assert (record.answering, record.stamp_of_stream().model) == (answering, model)
