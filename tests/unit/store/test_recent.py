"""Decoded transcripts: what is kept is what a read would give, and never too much of it."""

import msgspec
import pytest

from hermes.graph.blob import Blob
from hermes.graph.growth import Tip
from hermes.graph.hasher import PLAIN
from hermes.graph.reader import ObjectReader
from hermes.graph.sequence import Sequence
from hermes.message.chat import ChatMessage, user_text
from hermes.ports.transcripts import Compaction, VisibleHistory
from hermes.store.sql.recent_sessions import RecentSession, RecentTranscripts

pytestmark = pytest.mark.sqlite_only

LANE = "agent:main:rest:dm:ann"


def said(*texts: str) -> tuple[ChatMessage, ...]:
    return tuple(user_text(text) for text in texts)


def tip(length: int) -> Tip:
    blobs = (Blob(PLAIN.blob(str(number).encode()), None, True) for number in range(length))
    return Tip("g", "main", Sequence.of(blobs, ObjectReader(None, PLAIN)), 0)


def session(
    *messages: ChatMessage, head: int, limit: int = 9_000, start: int | None = 0
) -> RecentSession:
    length = (start or 0) + len(messages)
    return RecentSession(
        epoch=0,
        head=head,
        limit=limit,
        said=VisibleHistory(start, messages),
        tip=tip(length),
        graph=1,
    )


def extend(recent: RecentTranscripts, *entries: ChatMessage, head: int, length: int) -> None:
    recent.extend(LANE, entries, tip=tip(length), written=(1, 0, head))


@pytest.mark.req("A15", "G7")
def test_a_commit_extends_a_transcript() -> None:
    recent = RecentTranscripts()
    recent.put(LANE, session(*said("a", "b"), head=2))

    extend(recent, *said("c", "d"), head=4, length=4)

    known = recent.get(LANE, epoch=0, head=4)
    assert known is not None
    assert known.said == VisibleHistory(0, said("a", "b", "c", "d"))
    assert len(known.tip) == 4


@pytest.mark.req("A15", "G5")
def test_what_stays_in_the_place_of_older_messages_stays_when_the_session_goes_on() -> None:
    recent = RecentTranscripts()
    held = Compaction(start=0, stop=7, message=user_text("so far"), version=1)
    known = session(*said("a"), head=8, start=7)
    visible = VisibleHistory(7, said("a"), held)
    recent.put(LANE, msgspec.structs.replace(known, said=visible))

    extend(recent, *said("b"), head=9, length=9)

    grown = recent.get(LANE, epoch=0, head=9)
    assert grown is not None
    assert grown.said == VisibleHistory(7, said("a", "b"), held)


@pytest.mark.req("A15", "G5")
def test_a_transcript_that_is_much_longer_than_a_turn_can_use_is_read_again() -> None:
    recent = RecentTranscripts()
    recent.put(LANE, session(*said("x" * 4_000), head=1, limit=4_000))

    extend(recent, *said("y" * 4_000), head=2, length=2)

    assert recent.get(LANE, epoch=0, head=2) is None


@pytest.mark.req("A15")
@pytest.mark.parametrize(("epoch", "head"), [(1, 2), (0, 4)])
def test_another_epoch_or_head_is_not_known(epoch: int, head: int) -> None:
    recent = RecentTranscripts()
    recent.put(LANE, session(*said("a", "b"), head=2))

    assert recent.get(LANE, epoch=epoch, head=head) is None


@pytest.mark.req("A15")
@pytest.mark.parametrize(("start", "head"), [(0, 7), (None, 3)])
def test_a_commit_that_does_not_fit_drops_the_transcript(start: int | None, head: int) -> None:
    recent = RecentTranscripts()
    recent.put(LANE, session(*said("a", "b"), head=2, start=start))

    extend(recent, *said("z"), head=head, length=3)

    assert recent.get(LANE, epoch=0, head=2) is None
    assert recent.get(LANE, epoch=0, head=head) is None


@pytest.mark.req("A15")
def test_the_least_recently_used_goes_when_all_weigh_too_much() -> None:
    recent = RecentTranscripts(max_weight=14_500)
    for name in ("one", "two", "three"):
        recent.put(name, session(*said("x" * 4_000), head=1))
        recent.get("one", epoch=0, head=1)

    names = ("one", "two", "three")
    known = [name for name in names if recent.get(name, epoch=0, head=1) is not None]

    assert known == ["one", "three"]


@pytest.mark.req("A15")
def test_what_is_too_heavy_alone_is_not_kept() -> None:
    recent = RecentTranscripts(max_weight=1_000)

    recent.put(LANE, session(*said("x" * 2_000), head=1))

    assert recent.get(LANE, epoch=0, head=1) is None


@pytest.mark.req("J24")
def test_an_erasure_leaves_nothing() -> None:
    recent = RecentTranscripts()
    recent.put(LANE, session(*said("a"), head=1))

    recent.clear()

    assert recent.get(LANE, epoch=0, head=1) is None
