"""What operators see of a real conversation: its timeline, its graph, and what a call was sent."""

from pathlib import Path

import pytest

from hermes.control.conversations import (
    CallAsk,
    ConversationOperations,
    SessionGraphAsk,
    TranscriptAsk,
    UndoOrder,
)
from hermes.control.sessions import SessionOperations, session_id
from hermes.control.why import explain
from hermes.control.why_lines import WhyCallText, WhyStepText
from hermes.errors import BadRequest, Conflict, NotFound
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.contract.journal.test_observing import with_a_tool

LANE = "agent:main:rest:dm:ann"
LOOK = "Please look up the weather in Paris for me, thank you"


def conversations(rig: Rig) -> ConversationOperations:
    sessions = SessionOperations(rig.store, clock=rig.clock, ended=lambda _lane, _why: None)
    return ConversationOperations(rig.store, sessions, clock=rig.clock)


@pytest.mark.req("A32")
async def test_the_timeline_says_what_each_step_was_given_and_said(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=with_a_tool, tools=(RunTool("look"),)) as rig:
        message_id = await rig.say(LOOK)
        await rig.outcome(message_id)
        closed = await explain(rig.store, message_id, now=rig.clock.now())
        opened = await explain(rig.store, message_id, now=rig.clock.now(), include_text=True)

    steps = [line for line in closed.lines if "step" in line.data]
    assert closed.text is None
    assert [(line.what, line.kind, line.lasted_s, line.call) for line in steps] == [
        ("prepared", "context", 0.0, None),
        ("model scripted:scripted-1", "model", 0.0, f"{message_id}.1"),
        ("tool look", "tool", 0.0, None),
        ("model scripted:scripted-1", "model", 0.0, f"{message_id}.3"),
    ]
    assert [line.usage.tokens_in for line in steps] == [0, 20, 0, 30]
    assert opened.text is not None
    arguments = '{"where": "x"}'
    assert opened.text.steps == (
        WhyStepText(step=1, calls=(WhyCallText(tool="look", arguments=arguments),)),
        WhyStepText(step=2, text="look ran", arguments=arguments),
        WhyStepText(step=3, text="It was looked up."),
    )


@pytest.mark.req("A32", "G7")
async def test_an_operator_sees_the_exact_prompt_of_a_call(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=with_a_tool, tools=(RunTool("look"),)) as rig:
        message_id = await rig.say(LOOK)
        await rig.outcome(message_id)
        sent = rig.model.calls[-1].request
        shown = conversations(rig)
        prompt = await shown.prompt(CallAsk(call=f"{message_id}.3"))
        last = await shown.prompt(CallAsk(call=f"{message_id}.3", limit=1))
        with pytest.raises(NotFound, match=r"No call is known as 'm_x\.1'"):
            await shown.prompt(CallAsk(call="m_x.1"))

    assert [one["role"] for one in prompt.messages[1:]] == [one.role for one in sent.messages]
    assert prompt.messages[1]["parts"][0]["text"] == LOOK
    assert prompt.messages[3]["parts"][0]["text"] == "look ran"
    assert prompt.answer == {
        "role": "assistant",
        "parts": [{"type": "text", "text": "It was looked up."}],
    }
    assert [tool["function"]["name"] for tool in prompt.tools] == ["look"]
    assert (prompt.graph, prompt.model, prompt.lead) == (f"{LANE}#0", "scripted:scripted-1", 1)
    assert (last.left_out, last.messages) == (3, prompt.messages[-1:])


@pytest.mark.req("A32")
async def test_a_session_is_shown_as_a_transcript_in_pages_and_as_a_graph(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        for text in ("<i>one</i>", "two", "three"):
            await rig.outcome(await rig.say(text))
        await rig.outcome(await rig.say("/undo"))
        shown = conversations(rig)
        name = session_id(rig.store, LANE)
        page = await shown.transcript(TranscriptAsk(session=name, limit=2))
        whole = await shown.transcript(TranscriptAsk(session=LANE))
        graph = await shown.graph(SessionGraphAsk(session=name))
        short = await shown.graph(SessionGraphAsk(session=LANE, epoch=0, limit=1))
        with pytest.raises(NotFound):
            await shown.graph(SessionGraphAsk(session=LANE, epoch=9))
        with pytest.raises(NotFound, match="No session that has not ended"):
            await shown.transcript(TranscriptAsk(session="s_nothing"))
        with pytest.raises(BadRequest, match="201 messages"):
            await shown.graph(SessionGraphAsk(session=LANE, limit=201))

    assert page.earlier is not None
    assert [(one.text, one.taken_out) for one in whole.messages] == [
        ("<i>one</i>", ""),
        ("two", ""),
        ("three", "all"),
        ("/undo", ""),
    ]
    assert page.messages == whole.messages[-2:]
    (branch,) = graph.drawing.branches
    assert [(line.role, line.text) for line in branch.lines] == [
        ("user", "<i>one</i>"),
        ("assistant", "#1 <i>one</i>"),
        ("user", "two"),
        ("assistant", "#2 two"),
    ]
    assert [one.text for one in branch.gone] == ["three", "#3 three"]
    assert short.drawing.branches[0].left_out == 3


@pytest.mark.req("A32")
async def test_an_operator_takes_back_the_end_of_a_session_and_models_no_longer_see_it(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        for text in ("one", "two", "three"):
            await rig.outcome(await rig.say(text))
        shown = conversations(rig)
        done = await shown.undo(UndoOrder(session=LANE, count=2, by="ann"))
        await rig.outcome(await rig.say("four"))
        sent = rig.model.calls[-1].request.messages
        transcript = await shown.transcript(TranscriptAsk(session=LANE))
        graph = await shown.graph(SessionGraphAsk(session=LANE))
        with pytest.raises(BadRequest, match="0 exchanges: expected 1 to 100"):
            await shown.undo(UndoOrder(session=LANE, count=0))

    assert (done.exchanges, done.messages) == (2, 4)
    assert [one.text for one in sent] == ["one", "#1 one", "four"]
    assert [(one.text, one.taken_out) for one in transcript.messages] == [
        ("one", ""),
        ("two", "all"),
        ("three", "all"),
        ("four", ""),
    ]
    (branch,) = graph.drawing.branches
    gone = [one for line in branch.lines for one in line.gone]
    assert [(one.text, one.actor) for one in gone] == [
        (text, "operator:ann") for text in ("two", "#2 two", "three", "#3 three")
    ]


@pytest.mark.req("A32")
async def test_nothing_is_taken_back_while_something_is_under_way(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.outcome(await rig.say("one"))
        shown = conversations(rig)
        await rig.say("[[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 2)

        with pytest.raises(Conflict, match="something is under way"):
            await shown.undo(UndoOrder(session=LANE))
