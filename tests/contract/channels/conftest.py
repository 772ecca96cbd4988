"""Waits that no operator can set are short in this suite; what follows them is not changed."""

from functools import partial

import pytest

from hermes.app import connection, core_parts
from hermes.channels.email import channel as email
from hermes.outbox.intervals import OutboxTiming

_SOON_S = 0.1
# A stand-in on loopback answers at once, or never.
_ANSWER_S = 1.5


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    soon = partial(OutboxTiming, settle_after_s=_SOON_S, look_after_s=_SOON_S)
    monkeypatch.setattr(core_parts, "OutboxTiming", soon)
    monkeypatch.setattr(connection, "_FIRST_WAIT_S", _SOON_S)
    monkeypatch.setattr(email, "_TIMEOUT_S", _ANSWER_S)
