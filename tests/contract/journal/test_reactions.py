"""G4, J9: a thumb on an answer is feedback that is kept with it; where it may, it answers an approval."""

from pathlib import Path

import msgspec
import pytest

from hermes.control.why import explain
from hermes.errors import Skipped
from hermes.graph import MessageGraph
from hermes.graph.exports import Report, export_rows
from hermes.message.session_key import graph_name
from hermes.ports.tool import ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import PUSH, Rig, RunTool, open_rig
from tests.stores.opening import tables

ASKING = ToolTraits(needs_approval=True)
UP, DOWN, DARK_DOWN = "👍", "👎", "👎🏿"
SHORT = msgspec.structs.replace(PUSH, max_chars=90)
KEYED = msgspec.structs.replace(PUSH, key_window_s=3600.0)
DECIDES = {"APPROVALS__REACTIONS": "true"}


def graph_of(rig: Rig) -> MessageGraph:
    return rig.store.graphs.open(graph_name(rig.lane(platform="push"), 0))


def thumbs(rig: Rig) -> list[tuple[str, str, str]]:
    return [(one.call, one.rating, one.actor) for one in graph_of(rig).feedback()]


async def answered(rig: Rig, text: str = "hello") -> tuple[str, list[str]]:
    """Have something answered; return its message and the ids of the posts with the answer."""
    before = set(rig.push.posts)
    said = await rig.say(text, platform="push")
    await rig.outcome(said)

    async def is_sent() -> bool:
        return {row.state for row in await rig.deliveries(said)} == {"sent"}

    await rig.as_time_passes(is_sent)
    return said, [one for one in rig.push.posts if one not in before]


async def react(rig: Rig, emoji: str, to: str, *, removed: bool = False) -> str:
    """React, and wait until it is dealt with."""
    message = await rig.react(emoji, to, removed=removed)
    assert await rig.outcome(message) == "answered"
    return message


@pytest.mark.req("G4", "W10")
async def test_a_thumb_is_feedback_on_the_answer_and_why_shows_it(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        said, (post,) = await answered(rig)
        (call,) = graph_of(rig).calls()
        ann = (await rig.timeline(said)).message
        assert ann is not None

        reaction = await react(rig, DARK_DOWN, post)

        assert thumbs(rig) == [(call.id, "down", f"person:{ann.person_id}")]
        assert graph_of(rig).verify().problems == ()
        report = await explain(rig.store, said, now=rig.clock.now())
        assert [line.data for line in report.lines if line.what == "feedback"] == [
            {"rating": "down", "by": ann.person_id}
        ]
        told = (await rig.timeline(reaction)).events
        assert [one.data for one in told if one.kind == "feedback"] == [
            {"rating": "down", "call": call.id}
        ]
        exported = Report()
        rows = export_rows(
            [graph_of(rig)], "trl-prompt-completion", may_train=lambda _: True,
            salt=bytes(16), report=exported,
        )  # fmt: skip
        assert (len(list(rows)), exported.refused) == (0, {"rated_down": 1})
        # Nobody is told.
        assert len(rig.push.posts) == 1


@pytest.mark.req("G4")
async def test_a_thumb_is_taken_back_but_not_by_the_end_of_an_older_one(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        _, (post,) = await answered(rig)
        await react(rig, UP, post)
        await react(rig, UP, post)
        await react(rig, DOWN, post)
        # The platform tells of the thumb that was replaced after the new one.
        await react(rig, UP, post, removed=True)
        assert [one[1] for one in thumbs(rig)] == ["up", "down"]

        await react(rig, DOWN, post, removed=True)
        assert [one[1] for one in thumbs(rig)] == ["up", "down", "none"]


@pytest.mark.req("G4")
async def test_every_message_of_a_long_answer_can_be_rated(tmp_path: Path) -> None:
    async with open_rig(tmp_path, push=MemoryChannel(SHORT, name="push")) as rig:
        _, posts = await answered(rig, "tell me more, " * 20)
        (call,) = graph_of(rig).calls()
        assert len(posts) > 2

        await react(rig, UP, posts[-1])

        assert [one[:2] for one in thumbs(rig)] == [(call.id, "up")]


@pytest.mark.req("G4")
async def test_other_reactions_leave_no_trace(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        said, (post,) = await answered(rig)
        for emoji, to in (("🎉", post), (UP, "x99"), ("", post), (UP * 9, post), (UP, "")):
            with pytest.raises(Skipped):
                await rig.react(emoji, to)
        with pytest.raises(Skipped):
            await rig.react(UP, post, chat="another")

        assert thumbs(rig) == []
        assert "feedback" not in await rig.kinds(said)


@pytest.mark.req("G4")
async def test_what_no_model_wrote_is_not_rated(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        said, (post,) = await answered(rig, "/help")
        await react(rig, UP, post)
        assert "feedback" not in await rig.kinds(said)


async def asked(rig: Rig, *, group: bool = False) -> tuple[str, str]:
    """Have a tool wait for approval; return the message and the post that asks."""
    said = await rig.say(
        "[[tool:pay]] please", platform="push", chat_type="group" if group else "dm"
    )
    assert await rig.outcome(said) == "parked"
    await rig.until(lambda: bool(rig.push.posts))

    async def is_sent() -> bool:
        return {row.state for row in await rig.deliveries(said)} == {"sent"}

    await rig.until(is_sent)
    return said, next(iter(rig.push.posts))


@pytest.mark.req("J9")
@pytest.mark.parametrize(("thumb", "runs"), [(UP, 1), (DOWN, 0)])
async def test_a_thumb_decides_where_the_setting_says_so(
    tmp_path: Path, thumb: str, runs: int
) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,), settings=DECIDES) as rig:
        said, post = await asked(rig)
        await react(rig, thumb, post)
        assert await rig.outcome(said) == "answered"
        assert tool.runs == runs
        with pytest.raises(Skipped):
            await rig.react(thumb, post)


@pytest.mark.req("J9")
async def test_a_thumb_decides_nothing_by_default(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(RunTool("pay", traits=ASKING),)) as rig:
        _, post = await asked(rig)
        with pytest.raises(Skipped):
            await rig.react(UP, post)


@pytest.mark.req("J9")
async def test_in_a_group_only_an_admins_thumb_decides(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    settings = {**DECIDES, "APPROVALS__ADMINS": '["push:root"]'}
    async with open_rig(tmp_path, tools=(tool,), settings=settings) as rig:
        said, post = await asked(rig, group=True)
        for user in ("bob", "eve"):
            with pytest.raises(Skipped, match="only admins"):
                await rig.react(UP, post, user=user, chat="ann")
        assert tool.runs == 0
        await rig.outcome(await rig.react(UP, post, user="root", chat="ann"))
        assert await rig.outcome(said) == "answered"
        assert tool.runs == 1


async def in_doubt(rig: Rig) -> str:
    """Have something answered whose arrival is not known; return the id that the platform gave it."""
    rig.push.lose_answers("send", 1)
    said = await rig.say("hello", platform="push")
    await rig.outcome(said)

    async def is_unknown() -> bool:
        return [row.state for row in await rig.deliveries(said)] == ["unknown"]

    await rig.until(is_unknown)
    (post,) = rig.push.posts
    return post


def kept(home: Path) -> int:
    with tables(home) as db:
        return int(db.one("SELECT count(*) FROM early_reactions"))


@pytest.mark.req("G4", "J9")
async def test_a_thumb_that_comes_before_its_answer_is_known_counts_also_after_a_restart(
    tmp_path: Path,
) -> None:
    clock, push = ManualClock(), MemoryChannel(KEYED, name="push")
    async with open_rig(tmp_path, clock=clock, push=push) as rig:
        post = await in_doubt(rig)
        with pytest.raises(Skipped, match="is kept until its message is known"):
            await rig.react(UP, post)
        await rig.core.maintenance.early_reactions.round()
        assert (thumbs(rig), kept(tmp_path)) == ([], 1)

    async with open_rig(tmp_path, clock=clock, push=push) as rig:
        hands_on = rig.core.maintenance.early_reactions.round

        async def is_rated() -> bool:
            await hands_on()
            return bool(thumbs(rig))

        await rig.as_time_passes(is_rated)
        assert [one[1] for one in thumbs(rig)] == ["up"]
        assert (kept(tmp_path), list(push.posts)) == (0, [post])


@pytest.mark.req("G4", "J24")
async def test_a_thumb_that_waits_is_forgotten_with_its_person_and_after_a_day(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, push=MemoryChannel(KEYED, name="push")) as rig:
        post = await in_doubt(rig)
        for user in ("ann", "bob"):
            with pytest.raises(Skipped):
                await rig.react(UP, f"{post}?", user=user, chat="ann")
        ann = await rig.store.people.find("push", "ann")
        assert (ann is not None, kept(tmp_path)) == (True, 2)
        assert ann is not None

        await rig.store.people.erase(ann.id, at=rig.clock.now())
        assert kept(tmp_path) == 1
        rig.clock.advance(86_401.0)
        await rig.core.maintenance.early_reactions.round()
        assert kept(tmp_path) == 0
