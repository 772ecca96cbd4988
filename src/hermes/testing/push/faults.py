"""Faults of the stand-in platform on request, each for a number of calls."""

from collections.abc import Collection
from typing import Literal

import msgspec

Op = Literal["send", "edit", "history"]
FaultKind = Literal[
    "rate_limited",
    "server_error",
    "reset_before",
    "reset_after",
    "hang_before",
    "hang_after",
    "garbage_after",
]


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do to the next `times` calls of `op`, in one chat or in all.

    `before` faults prevent the call's effect, `after` faults lose the answer of a call that took
    effect. `reset_before` cuts the connection before the request is read, so in any chat.
    """

    op: Op
    kind: FaultKind
    times: int = 1
    chat: str | None = None
    retry_after: float | None = None


class Faults:
    """The planned faults, oldest first."""

    def __init__(self) -> None:
        self._planned: list[Fault] = []

    def plan(self, fault: Fault) -> None:
        """Apply this fault to the next matching calls."""
        self._planned.append(fault)

    def clear(self) -> None:
        """Remove all faults."""
        self._planned.clear()

    def take(
        self, op: str, kinds: Collection[FaultKind], *, chat: str | None = None
    ) -> Fault | None:
        """Return the fault for this call, using it up."""
        for index, fault in enumerate(self._planned):
            fits_chat = fault.chat is None or fault.chat == chat
            if fault.op == op and fault.kind in kinds and fits_chat:
                left = fault.times - 1
                rest = [msgspec.structs.replace(fault, times=left)] if left > 0 else []
                self._planned[index : index + 1] = rest
                return fault
        return None
