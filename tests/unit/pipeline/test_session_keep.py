"""W39: which sessions have something ready, and when it is let go."""

import pytest

from hermes.config import SessionCacheSettings
from hermes.pipeline.session_keep import SessionKeep
from hermes.testing.manual_time import ManualClock


class Kept:
    """A keep with its clock, the lanes that run, and what was let go."""

    def __init__(self, most: int = 128) -> None:
        self.clock = ManualClock()
        self.running: set[str] = set()
        self.gone: list[str] = []
        self.keep = SessionKeep(
            SessionCacheSettings(max=most),
            clock=self.clock,
            release=self.gone.append,
            is_running=self.running.__contains__,
        )

    def use(self, *lanes: str, setup: str = "") -> None:
        for lane in lanes:
            self.keep.use(lane, (setup,))


@pytest.mark.req("W39")
def test_w39_of_128_sessions_the_last_ones_used_are_kept() -> None:
    kept = Kept()
    kept.use(*map(str, range(128)))
    kept.use("0")
    assert kept.gone == []
    kept.use("new")
    assert (kept.gone, len(kept.keep)) == (["1"], 128)


@pytest.mark.req("W39")
def test_w39_after_an_hour_of_silence_it_is_let_go() -> None:
    kept = Kept()
    kept.use("quiet", "lively")
    kept.clock.advance(3_000)
    kept.use("lively")
    kept.clock.advance(599)
    kept.keep.sweep()
    assert kept.gone == []
    kept.clock.advance(2)
    kept.keep.sweep()
    assert kept.gone == ["quiet"]


@pytest.mark.req("W39")
def test_w39_what_runs_is_never_let_go_however_many_or_old() -> None:
    kept = Kept(most=2)
    kept.running.update(("a", "b", "c", "d", "e", "f"))
    kept.use("a", "b", "c", "d", "e", "f")
    kept.clock.advance(9_999)
    kept.keep.sweep()
    assert (kept.gone, len(kept.keep)) == ([], 6)
    kept.running.difference_update(("a", "b"))
    kept.clock.advance(9_999)
    kept.keep.sweep()
    assert sorted(kept.gone) == ["a", "b"]
    kept.running.clear()
    kept.use("c", "d", "e", "f")
    kept.keep.sweep()
    assert (kept.gone[2:], len(kept.keep)) == (["c", "d"], 2)


@pytest.mark.req("W39")
def test_w39_who_is_passed_over_because_it_runs_counts_as_used() -> None:
    kept = Kept(most=2)
    kept.running.add("a")
    kept.use("a", "b", "c")
    kept.running.clear()
    kept.use("d")
    assert kept.gone == ["b", "c"]


@pytest.mark.req("W39")
def test_w39_another_setup_lets_go_of_what_was_made_for_the_last_one() -> None:
    kept = Kept()
    kept.use("a", "b", setup="one model")
    kept.use("a", setup="one model")
    assert kept.gone == []
    kept.use("a", setup="another")
    assert (kept.gone, len(kept.keep)) == (["a"], 2)
    kept.use("a", setup="another")
    assert kept.gone == ["a"]


@pytest.mark.req("W39", "W24")
def test_w39_a_session_that_ended_has_nothing_ready() -> None:
    kept = Kept()
    kept.use("a")
    kept.keep.drop("a")
    assert (kept.gone, len(kept.keep)) == (["a"], 0)
