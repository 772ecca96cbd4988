"""Every reader of what strangers send takes any bytes: something comes of them, or a refusal."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.seeds import SEEDS
from tests.fuzz.targets import TARGETS, try_one


def test_every_reader_has_something_to_begin_with() -> None:
    assert SEEDS.keys() == TARGETS.keys()


@pytest.mark.req("A2")
@pytest.mark.parametrize("name", TARGETS)
def test_what_is_good_is_read(name: str) -> None:
    for seed in SEEDS[name]:
        TARGETS[name](seed)


@pytest.mark.req("A2")
@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_what_was_good_and_is_spoilt_is_read_or_refused(name: str, data: st.DataObject) -> None:
    seed = bytearray(data.draw(st.sampled_from(SEEDS[name])))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, max(0, len(seed) - 1)))
        seed[at : at + data.draw(st.integers(0, 6))] = data.draw(st.binary(max_size=6))
    try_one(name, bytes(seed))
