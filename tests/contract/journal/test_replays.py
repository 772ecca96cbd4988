"""A32, G7: an answer is made again from what was frozen, and nothing of it reaches anybody."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from hermes.control.graph_check import check_graphs
from hermes.control.graph_export import GraphExportPlan, export_graphs, write_rows
from hermes.control.replays import (
    ReplayAsk,
    ReplayOperations,
    ReplayOrder,
    ReplayReport,
    ReplaysAsk,
)
from hermes.errors import BadRequest, Conflict, NotFound
from hermes.graph import MessageGraph
from hermes.message.parts import ImagePart, Media
from hermes.message.session_key import graph_name
from hermes.ports.replays import NewReplay
from hermes.ports.spend import CostBy
from hermes.ports.tool import ToolContext, ToolTraits
from hermes.schedule.pruning import SessionPruner
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, ToolUse
from hermes.testing.scripted_adapter import ScriptedAdapter
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.contract.journal.test_adapters import make
from tests.stores.opening import tables

OTHER = msgspec.structs.replace(SCRIPTED_INFO, name="other", model="other-1")


def orders(rig: Rig) -> ReplayOperations:
    return ReplayOperations(rig.store, rig.core.replays.run)


async def replay(rig: Rig, message_id: str, **order: object) -> ReplayReport:
    wish = msgspec.convert({"message": message_id, **order}, ReplayOrder)
    return await orders(rig).run(wish)


def graph_of(rig: Rig) -> MessageGraph:
    return rig.store.graphs.open(graph_name(rig.lane(), 0))


def damage(rig: Rig) -> list[str]:
    """Return what `hermes graph verify` would find."""
    reader = rig.store.graphs
    report = check_graphs(reader, reader.graphs(), progress=lambda _done, _of: None, whole=True)
    return [one.text for one in report.damage]


def counts(home: Path) -> dict[str, int]:
    """Return how many rows there are of all that could reach somebody, or be paid by a person."""
    with tables(home) as db:
        names = ("outbox", "ledger", "holds", "inbox", "steps", "approvals", "jobs", "interactions")
        return {name: db.one(f"SELECT count(*) FROM {name}") for name in names}


def look_up(arguments: str = '{"city": "Oslo", "days": 2}', *, then: str = "done") -> Script:
    """Have the model call `look` once, and then answer."""

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.tool_results:
            return ScriptedTurn(text=f"{then}: {seen.tool_results[-1]}")
        return ScriptedTurn(tools=(ToolUse("look", arguments),))

    return script


async def said(rig: Rig, text: str) -> str:
    """Have a message answered and return its id."""
    message_id = await rig.say(text)
    await rig.outcome(message_id)
    return message_id


@pytest.mark.req("A32", "G7")
async def test_a_replay_sees_what_the_answer_saw_and_is_a_branch_of_its_own(tmp_path: Path) -> None:
    other = ScriptedProvider(info=OTHER)
    async with open_rig(tmp_path, beside={"other": other}) as rig:
        await rig.answer("first")
        second = await rig.say("second")
        await rig.outcome(second)
        await rig.answer("third")
        given = rig.model.calls[1].request

        done = await replay(rig, second, model="other:other-1")

        asked = other.calls[0].request
        assert (asked.system, asked.messages, asked.tools) == (
            given.system,
            given.messages,
            given.tools,
        )
        assert (done.replay.state, done.replay.change, done.diff) == ("answered", 0.0, ())
        assert done.before is not None
        assert done.after is not None
        assert (done.before.text, done.before.model) == ("#2 second", "scripted:scripted-1")
        assert (done.after.text, done.after.model) == ("#2 second", "other:other-1")
        graph = graph_of(rig)
        branch = graph.checkout(f"replay:{done.replay.id}")
        assert len(graph) == 6
        assert len(branch) == 4
        assert graph.branches() == ["main", f"replay:{done.replay.id}"]
        assert branch.calls()[-1].metadata["replay_of"] == f"{second}.1"
        assert damage(rig) == []


@pytest.mark.req("A32")
async def test_a_dry_replay_starts_no_tool_and_writes_nothing_for_anybody(tmp_path: Path) -> None:
    look = RunTool("look")
    other = ScriptedProvider(look_up('{"days":2,"city":"Oslo"}', then="other"), info=OTHER)
    async with open_rig(tmp_path, script=look_up(), tools=(look,), beside={"other": other}) as rig:
        message_id = await said(rig, "weather?")
        before = counts(tmp_path)

        done = await replay(rig, message_id, model="other:other-1")

        assert (done.replay.state, look.runs, counts(tmp_path)) == ("answered", 1, before)
        assert done.before is not None
        assert done.after is not None
        assert (done.before.text, done.after.text) == ("done: look ran", "other: look ran")
        assert done.diff[2:] == ("@@ -1 +1 @@", "-done: look ran", "+other: look ran")
        assert [one.name for one in done.after.tools] == ["look"]
        assert damage(rig) == []


@pytest.mark.req("A32")
@pytest.mark.parametrize("arguments", ['{"city": "Bergen", "days": 2}', "not json"])
async def test_a_tool_call_that_is_not_on_record_ends_a_dry_replay(
    tmp_path: Path, arguments: str
) -> None:
    look = RunTool("look")
    other = ScriptedProvider(look_up(arguments), info=OTHER)
    async with open_rig(tmp_path, script=look_up(), tools=(look,), beside={"other": other}) as rig:
        message_id = await said(rig, "weather?")

        done = await replay(rig, message_id, model="other:other-1")

        assert (done.replay.state, done.replay.reason) == ("ended", "not_on_record")
        assert (done.replay.change, look.runs, len(other.calls)) == (None, 1, 1)
        assert "called look with arguments that are not on record" in done.text
        assert damage(rig) == []


@pytest.mark.req("A32")
async def test_each_result_on_record_is_given_once_and_in_order(tmp_path: Path) -> None:
    numbers = iter(range(1, 10))
    look = RunTool("look", lambda _context: f"result {next(numbers)}")

    def twice(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if len(seen.tool_results) < 2:
            return ScriptedTurn(tools=(ToolUse("look"),))
        return ScriptedTurn(text=" and ".join(seen.tool_results))

    def thrice(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if len(seen.tool_results) < 3:
            return ScriptedTurn(tools=(ToolUse("look"),))
        return ScriptedTurn(text="never")

    other = ScriptedProvider(thrice, info=OTHER)
    async with open_rig(tmp_path, script=twice, tools=(look,), beside={"other": other}) as rig:
        message_id = await said(rig, "twice")

        same = await replay(rig, message_id)
        more = await replay(rig, message_id, model="other:other-1")

        assert same.after is not None
        assert same.after.text == "result 1 and result 2"
        assert (more.replay.state, more.replay.reason) == ("ended", "not_on_record")
        assert other.calls[-1].request.messages[-1].parts[0] == same_result("result 2", other)
        assert look.runs == 2


def same_result(text: str, model: ScriptedProvider) -> object:
    """Return the last result that a model was given, with another text."""
    return msgspec.structs.replace(model.calls[-1].request.messages[-1].parts[0], text=text)


@pytest.mark.req("A32")
async def test_live_tools_run_for_real_and_are_counted_before_they_start(tmp_path: Path) -> None:
    seen: list[tuple[int, str]] = []
    home = tmp_path

    def act(context: ToolContext) -> str:
        with tables(home) as db:
            seen.append((db.one("SELECT sum(tools_started) FROM replays"), context.turn_id[:3]))
        return "live"

    look = RunTool("look", act)
    async with open_rig(tmp_path, script=look_up(), tools=(look,)) as rig:
        message_id = await said(rig, "weather?")
        before = counts(tmp_path)

        done = await replay(rig, message_id, live_tools=True)

        assert (done.replay.state, done.replay.tools_started, look.runs) == ("answered", 1, 2)
        assert [one for one in seen if one[1] == "rp_"] == [(1, "rp_")]
        assert counts(tmp_path) == before


@pytest.mark.req("A32")
async def test_a_live_tool_that_somebody_has_to_allow_ends_the_replay(tmp_path: Path) -> None:
    look = RunTool("look")
    asking = {"AGENTS__MAIN__APPROVALS__TOOLS": '["look"]'}
    async with open_rig(tmp_path, script=look_up(), tools=(look,)) as rig:
        message_id = await said(rig, "weather?")
    async with open_rig(tmp_path, script=look_up(), tools=(look,), settings=asking) as rig:
        by_agent = await replay(rig, message_id, live_tools=True)
    needy = RunTool("look", traits=ToolTraits(needs_approval=True))
    async with open_rig(tmp_path, script=look_up(), tools=(needy,)) as rig:
        by_tool = await replay(rig, message_id, live_tools=True)
    async with open_rig(tmp_path, script=look_up()) as rig:
        without = await replay(rig, message_id, live_tools=True)

    assert (by_agent.replay.reason, by_tool.replay.reason) == ("needs_approval",) * 2
    assert (without.replay.reason, without.replay.tools_started) == ("no_such_tool", 0)
    assert (look.runs, needy.runs) == (1, 0)


PRICED = {
    f"PROVIDERS__SCRIPTED__{key}": value
    for key, value in {
        "BASE_URL": "http://127.0.0.1:9/v1",
        "PRICE_IN_PER_MILLION": "1000",
        "PRICE_OUT_PER_MILLION": "1000",
    }.items()
}


async def spent(rig: Rig, by: CostBy) -> dict[str, float]:
    rows = await rig.store.spend.report(by, first_day="2000-01-01", last_day="2999-12-31")
    return {row.name: row.cost_usd for row in rows}


@pytest.mark.req("A32", "A20")
async def test_a_replay_is_paid_by_the_gateway_and_by_no_person_and_no_agents_budget(
    tmp_path: Path,
) -> None:
    def priced(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text="hello", tokens_in=30, tokens_out=10)

    async with open_rig(tmp_path, script=priced, settings=PRICED) as rig:
        message_id = await said(rig, "hi")
        before = await spent(rig, "person")

        done = await replay(rig, message_id)

        assert await spent(rig, "person") == before | {"platform": pytest.approx(0.04)}
        assert (await spent(rig, "channel"))["replay"] == pytest.approx(0.04)
        assert (await spent(rig, "agent"))["main"] == pytest.approx(0.04)
        assert done.replay.calls == 1
        assert done.replay.cost_usd == pytest.approx(0.04)
        assert done.before is not None
        assert done.before.cost_usd == pytest.approx(0.04)


@pytest.mark.req("A32")
async def test_a_limit_of_costs_ends_a_replay_before_its_next_call(tmp_path: Path) -> None:
    look = RunTool("look")
    async with open_rig(tmp_path, script=look_up(), tools=(look,), settings=PRICED) as rig:
        message_id = await said(rig, "weather?")

        done = await replay(rig, message_id, max_usd=0.000001)

        assert (done.replay.state, done.replay.reason, done.replay.calls) == (
            "ended",
            "over_cost",
            1,
        )


@pytest.mark.req("A32")
async def test_another_prompt_takes_the_place_of_the_agents_own_and_of_nothing_else(
    tmp_path: Path,
) -> None:
    own = {"AGENTS__MAIN__SYSTEM_PROMPT": "Be kind."}
    async with open_rig(tmp_path, settings=own) as rig:
        message_id = await said(rig, "hi")
        given = rig.model.calls[-1].request.system

        done = await replay(rig, message_id, system="Be brief.")
        bare = await replay(rig, message_id, system="")

        asked = [one.request.system for one in rig.model.calls[-2:]]
        assert (given[0], done.replay.has_prompt) == ("Be kind.", True)
        assert asked == [("Be brief.", *given[1:]), given[1:]]
        assert bare.replay.state == "answered"
        assert damage(rig) == []


@pytest.mark.req("A32")
async def test_a_replay_of_a_model_that_fails_says_so_and_nobody_takes_its_place(
    tmp_path: Path,
) -> None:
    other = ScriptedProvider([ScriptedTurn(fault="status", status=400)], info=OTHER)
    async with open_rig(tmp_path, beside={"other": other}) as rig:
        message_id = await said(rig, "hi")

        done = await replay(rig, message_id, model="other:other-1")

        assert (done.replay.state, done.replay.reason) == ("failed", "provider_rejected")
        assert (len(rig.model.calls), graph_of(rig).branches()) == (1, ["main"])
        with pytest.raises(NotFound):
            await replay(rig, message_id, model="nobody:at-all")


@pytest.mark.req("A32", "W18")
async def test_the_conversation_goes_on_as_if_nothing_had_been_replayed(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await said(rig, "one")
        await replay(rig, message_id)

        answer = await rig.answer("two")
        states = await rig.store.transcripts.states(rig.lane(), epoch=0)

        texts = [one.text for one in rig.model.calls[-1].request.messages]
        assert (answer, texts) == ("#2 two", ["one", "#1 one", "two"])
        assert states == {}


@pytest.mark.req("A32", "J19")
async def test_what_a_dead_process_was_replaying_is_cut_off_and_never_goes_on(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await said(rig, "hi")
        message = (await rig.timeline(message_id)).message
        assert message is not None
        begun = NewReplay(
            id="rp_1",
            message_id=message_id,
            person_id=message.person_id,
            graph=graph_name(rig.lane(), 0),
            agent="main",
            model="scripted:scripted-1",
            at=rig.clock.now(),
        )
        await rig.store.replays.begin(begun)
        running = (await orders(rig).list(ReplaysAsk())).replays
    async with open_rig(tmp_path) as rig:
        after = (await orders(rig).list(ReplaysAsk(message=message_id))).replays

        assert [one.state for one in (*running, *after)] == ["running", "cut_off"]
        assert rig.model.calls == []


@pytest.mark.req("A32")
async def test_a_replay_whose_caller_leaves_is_stopped_and_keeps_what_it_took(
    tmp_path: Path,
) -> None:
    model = ScriptedProvider(hangs, info=OTHER)
    async with open_rig(tmp_path, beside={"other": model}) as rig:
        message_id = await said(rig, "hi")
        other = asyncio.ensure_future(replay(rig, message_id, model="other:other-1"))
        await rig.until(lambda: bool(model.calls))

        other.cancel()
        await asyncio.wait([other])

        (one,) = (await orders(rig).list(ReplaysAsk())).replays
        assert (one.state, one.reason) == ("stopped", "stopped")


def hangs(_seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text="never", fault="hang")


@pytest.mark.req("A32")
async def test_what_cannot_be_replayed_says_why(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        command = await said(rig, "/status")
        answered = await said(rig, "hi")
        waiting = await rig.say("[[hang]]")
        person = await rig.store.people.find("rest", "ann")
        assert person is not None
        with pytest.raises(NotFound, match="No message is known as 'm_none'"):
            await replay(rig, "m_none")
        with pytest.raises(Conflict, match="no model was called for it"):
            await replay(rig, command)
        with pytest.raises(Conflict, match="it has not ended yet"):
            await replay(rig, waiting)
        with pytest.raises(BadRequest, match="is no label"):
            await replay(rig, answered, label="two words")
        await replay(rig, answered)
        await rig.store.people.erase(person.id, at=rig.clock.now())
        with pytest.raises(Conflict, match="its person was erased"):
            await replay(rig, answered)

        (kept,) = (await orders(rig).list(ReplaysAsk())).replays
        assert (await orders(rig).show(ReplayAsk(id=kept.id))).after is None
        assert damage(rig) == []


@pytest.mark.req("A32", "G4")
async def test_an_export_leaves_replays_out_unless_it_is_asked_for_them(tmp_path: Path) -> None:
    other = ScriptedProvider([ScriptedTurn(text="else")], info=OTHER)
    async with open_rig(tmp_path, beside={"other": other}) as rig:
        message_id = await said(rig, "hi")
        await replay(rig, message_id, model="other:other-1")
        person = await rig.store.people.find("rest", "ann")
        assert person is not None
        await rig.store.people.set_consent(person.id, may_train=True, at=rig.clock.now())
        plan = GraphExportPlan(format="openai", file=tmp_path / "data.jsonl", write=write_rows)
        entries = rig.store.graphs.graphs()

        usual = export_graphs(rig.store.graphs, entries, plan=plan, progress=lambda *_: None)
        asked = msgspec.structs.replace(plan, with_replays=True)
        more = export_graphs(rig.store.graphs, entries, plan=asked, progress=lambda *_: None)

        assert (usual.rows, more.rows) == (1, 2)


@pytest.mark.req("A32", "W24")
async def test_a_conversation_that_is_deleted_takes_its_replays_along(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={"SESSIONS__RESET__MODE": "none"}) as rig:
        message_id = await said(rig, "hi")
        await rig.answer("/new")
        await rig.answer("again")
        rig.clock.advance(80 * 86_400)
        await replay(rig, message_id)
        rig.clock.advance(20 * 86_400)

        pruner = SessionPruner(rig.store.pruning, days=90, forget=None, clock=rig.clock)
        assert await pruner.round() == 1

        assert (await orders(rig).list(ReplaysAsk())).replays == ()
        assert damage(rig) == []


STEERING = {"BUSY__PLATFORMS__REST": "steer"}


@pytest.mark.req("A32", "J5")
async def test_what_joined_the_turn_after_a_result_joins_its_replay_there(tmp_path: Path) -> None:
    joined: list[str] = []

    def one_look(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(tools=(ToolUse("look"),)) if number % 2 else ScriptedTurn(text="wet")

    async def act(context: ToolContext) -> str:
        joined.append(await rig.say("and Bergen?"))
        return "wet"

    look = RunTool("look", act)
    async with open_rig(tmp_path, script=one_look, tools=(look,), settings=STEERING) as rig:
        message_id = await said(rig, "weather?")
        given = rig.model.calls[1].request.messages

        done = await replay(rig, message_id)

        again = rig.model.calls[3].request.messages
        told = [(one.role, one.text) for one in given]
        assert told == [("user", "weather?"), *told[1:3], ("user", "and Bergen?")]
        assert [(one.role, one.text) for one in again] == told
        assert (done.replay.change, look.runs) == (0.0, 1)
        with pytest.raises(Conflict, match=f"it was answered with {message_id}: replay that one"):
            await replay(rig, joined[0])


@pytest.mark.req("A32")
async def test_a_picture_that_is_gone_cannot_be_seen_again(tmp_path: Path) -> None:
    picture = tmp_path / "red.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    shown = ImagePart(Media("image/png", path=str(picture)))
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("what is it?", attached=(shown,))
        await rig.outcome(message_id)

        there = await replay(rig, message_id)
        picture.unlink()
        with pytest.raises(Conflict, match="a picture that its model saw is no longer"):
            await replay(rig, message_id)

        assert there.replay.state == "answered"
        assert rig.model.calls[1].request.messages == rig.model.calls[0].request.messages


@pytest.mark.req("A32", "A8")
async def test_an_erasure_during_a_replay_leaves_nothing_of_it_but_its_row(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def erased_meanwhile(_seconds: float) -> None:
        person = await rig.store.people.find("rest", "ann")
        assert person is not None
        await rig.store.people.erase(person.id, at=rig.clock.now())
        go_on.set()

    slow = ScriptedTurn(text="xylophone", delay_s=1)
    other = ScriptedProvider([slow], info=OTHER, sleep=erased_meanwhile)
    async with open_rig(tmp_path, beside={"other": other}) as rig:
        message_id = await said(rig, "hi")

        done = await replay(rig, message_id, model="other:other-1")

        assert go_on.is_set()
        assert (done.replay.state, done.replay.reason, done.after) == ("ended", "erased", None)
        assert [one.branches for one in rig.store.graphs.graphs()] == [("main",)]
        assert damage(rig) == []


@pytest.mark.req("A32")
async def test_a_conversation_that_others_began_is_replayed_without_keeping_their_words_again(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        bobs = await rig.say_in_thread("bob was here", user="bob")
        await rig.outcome(bobs)
        anns = await rig.say_in_thread("hello", user="ann")
        await rig.outcome(anns)
        with tables(tmp_path) as db:
            before = dict(
                db.rows("SELECT person_id, count(*) FROM blobs WHERE name IS NOT NULL GROUP BY 1")
            )

        await replay(rig, anns)

        with tables(tmp_path) as db:
            after = dict(
                db.rows("SELECT person_id, count(*) FROM blobs WHERE name IS NOT NULL GROUP BY 1")
            )
        bob = await rig.store.people.find("rest", "bob")
        assert bob is not None
        assert after == before
        await rig.store.people.erase(bob.id, at=rig.clock.now())
        with pytest.raises(Conflict, match="somebody whose words its model saw was erased"):
            await replay(rig, anns)


@pytest.mark.req("A32", "A25")
async def test_what_an_adapter_answered_is_not_replayed(tmp_path: Path) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}) as rig:
        await make(rig)
        message_id = await rig.say("hello", agent="helper")
        await rig.outcome(message_id)

        with pytest.raises(Conflict, match="an adapter answered it"):
            await replay(rig, message_id)
