"""Signals reach every part that listens, in whatever order the parts are made."""

from hermes.message.outcome import BusyPolicy
from hermes.ports.signals import Signals


class Lanes:
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, ...]] = []

    def wake(self, lane: str) -> None:
        self.heard.append(("wake", lane))

    def arrived(self, lane: str, *, message_id: str, busy: BusyPolicy) -> None:
        self.heard.append(("arrived", lane, message_id, busy.value))

    def interrupt(self, lane: str, by: str, *, message_id: str | None) -> None:
        self.heard.append(("interrupt", lane, by, message_id or ""))


def test_a_signal_is_dropped_until_somebody_listens() -> None:
    signals, lanes = Signals(), Lanes()
    woken: list[str] = []

    signals.wake_lane("early")
    signals.wake_outbox("early")
    signals.add_lanes(lanes)
    signals.add_outbox(woken.append)
    signals.wake_lane("ann")
    signals.arrived("ann", message_id="m_1", busy=BusyPolicy.QUEUE)
    signals.interrupt("ann", "m_2", message_id="m_1")
    signals.wake_outbox("telegram")

    assert lanes.heard == [
        ("wake", "ann"),
        ("arrived", "ann", "m_1", "queue"),
        ("interrupt", "ann", "m_2", "m_1"),
    ]
    assert woken == ["telegram"]


def test_a_lane_is_woken_whose_message_is_to_end() -> None:
    signals, lanes = Signals(), Lanes()
    signals.add_lanes(lanes)

    signals.stopped("ann", by="bob", message_id="m_1")

    assert lanes.heard == [("interrupt", "ann", "bob", "m_1"), ("wake", "ann")]


def test_a_lane_runs_while_it_is_busy() -> None:
    signals = Signals()
    signals.busy_lanes.add("ann")

    assert (signals.is_running("ann"), signals.is_running("bob")) == (True, False)
