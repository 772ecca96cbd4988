"""Reports what an export did: rows, trained messages, and what was refused and why.

Every call and edit is accounted for here. The report stays with the exporter: it names calls, which
a row never does.
"""

from collections import Counter
from typing import Literal

import msgspec

Reason = Literal[
    "no_consent",  # nobody consented to training on this graph
    "no_answer",  # the call failed or was abandoned
    "not_sampled",  # the answer was not sampled, as with one from a cache
    "erased",  # the person was erased
    "missing",  # the storage lacks what the call refers to
    "differs",  # the stored data is not what the call recorded
    "open_tool_call",  # a tool call is followed by an answer, but has no result
    "unfit",  # the format cannot represent something in a message
    "weights",  # the format trains every answer, but one of these must not be trained
    "tokens",  # the tokens of an answer are not the sampled ones, or cannot be located
    "rated_down",  # people gave the answer a thumb down
    "secret",  # a message contains a secret that is stored in this gateway
    "prompt_changed",  # an answer was edited after the messages before it had changed
]


class UnfitRow(Exception):
    """A row that cannot be made; the exports count it and continue."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason: Reason = reason


class Refusal(msgspec.Struct, frozen=True):
    """Why one call, or one edit of its answer, gave no row."""

    reason: Reason
    call: str
    text: str


class Report(msgspec.Struct):
    """The counts of an export, filled while its rows are taken."""

    graphs: int = 0
    # Those of the graphs that gave a row.
    with_rows: int = 0
    rows: int = 0
    trained: int = 0
    refusals: list[Refusal] = msgspec.field(default_factory=list)

    @property
    def refused(self) -> dict[Reason, int]:
        """How many rows were refused, by reason."""
        return dict(Counter(refusal.reason for refusal in self.refusals))

    def refuse(self, call: str, problem: UnfitRow) -> None:
        """Count what gave no row."""
        self.refusals.append(Refusal(problem.reason, call, str(problem)))
