"""Decoded transcripts: what is kept is what a read would give, and never too much of it."""

import pytest

from hermes.message.chat import ChatMessage, user_text
from hermes.store.sqlite.recent import RecentTranscripts

LANE = "agent:main:rest:dm:ann"


def said(*texts: str) -> tuple[ChatMessage, ...]:
    return tuple(user_text(text) for text in texts)


@pytest.mark.req("A15")
def test_a_commit_extends_a_transcript_up_to_its_limit() -> None:
    recent = RecentTranscripts()
    recent.put(LANE, said("a", "b"), epoch=0, head=2, limit=3)

    recent.extend(LANE, said("c", "d"), epoch=0, head=4)

    assert recent.get(LANE, epoch=0, head=4, limit=3) == said("b", "c", "d")


@pytest.mark.req("A15")
@pytest.mark.parametrize(("epoch", "head", "limit"), [(1, 2, 3), (0, 4, 3), (0, 2, 9)])
def test_another_epoch_head_or_limit_is_not_known(epoch: int, head: int, limit: int) -> None:
    recent = RecentTranscripts()
    recent.put(LANE, said("a", "b"), epoch=0, head=2, limit=3)

    assert recent.get(LANE, epoch=epoch, head=head, limit=limit) is None


@pytest.mark.req("A15")
def test_a_commit_that_does_not_fit_drops_the_transcript() -> None:
    recent = RecentTranscripts()
    recent.put(LANE, said("a", "b"), epoch=0, head=2, limit=9)

    recent.extend(LANE, said("z"), epoch=0, head=7)

    assert recent.get(LANE, epoch=0, head=2, limit=9) is None
    assert recent.get(LANE, epoch=0, head=7, limit=9) is None


@pytest.mark.req("A15")
def test_the_least_recently_used_goes_when_all_weigh_too_much() -> None:
    recent = RecentTranscripts(max_weight=12_000)
    for name in ("one", "two", "three"):
        recent.put(name, said("x" * 4_000), epoch=0, head=1, limit=9)
        recent.get("one", epoch=0, head=1, limit=9)

    known = [
        name
        for name in ("one", "two", "three")
        if recent.get(name, epoch=0, head=1, limit=9) is not None
    ]

    assert known == ["one", "three"]


@pytest.mark.req("A15")
def test_what_is_too_heavy_alone_is_not_kept() -> None:
    recent = RecentTranscripts(max_weight=1_000)

    recent.put(LANE, said("x" * 2_000), epoch=0, head=1, limit=9)

    assert recent.get(LANE, epoch=0, head=1, limit=9) is None


@pytest.mark.req("J24")
def test_an_erasure_leaves_nothing() -> None:
    recent = RecentTranscripts()
    recent.put(LANE, said("a"), epoch=0, head=1, limit=9)

    recent.clear()

    assert recent.get(LANE, epoch=0, head=1, limit=9) is None
