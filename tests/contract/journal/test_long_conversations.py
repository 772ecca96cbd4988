"""G5, P6, W21: a conversation of any length is answered, and nothing of it is lost."""

import os
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from hermes.calls.context_fit import request_tokens
from hermes.control.why import explain
from hermes.graph import MessageGraph
from hermes.graph.exports import Report, export_rows, verify_row
from hermes.graph.marks import SEEN, WRITTEN, expand
from hermes.graph.sketch import draw
from hermes.graph.text_drawing import rows as drawn
from hermes.message.chat import as_read, user_text
from hermes.message.continuations import GO_ON
from hermes.message.parts import ToolResultPart
from hermes.message.session_key import graph_name
from hermes.ports.compaction import COMPACTED
from hermes.ports.provider import ModelRequest
from hermes.ports.search import SearchAsk, Searcher
from hermes.ports.transcripts import Compaction
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider, chars_of_request
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.contract.journal.test_graph import seen_by

CONTEXT = 16_000
OFF = {"COMPACTION__ENABLED": "false"}
FOUR_KB = "All work and no play makes a long day. " * 105


def strict(*, believed: int = CONTEXT) -> ScriptedProvider:
    """Return a model that refuses what it cannot hold, and is believed to hold so much."""
    info = msgspec.structs.replace(SCRIPTED_INFO, context_tokens=believed)
    return ScriptedProvider(info=info, holds=CONTEXT)


def graph_of(rig: Rig, branch: str = "main") -> MessageGraph:
    return rig.store.graphs.open(graph_name(rig.lane(), 0), branch=branch)


def assert_whole(rig: Rig) -> None:
    for branch in ("main", COMPACTED):
        assert graph_of(rig, branch).verify().problems == ()
    assert list(rig.store.graphs.check(graph_name(rig.lane(), 0))) == []


def requests(model: ScriptedProvider) -> list[ModelRequest]:
    return [call.request for call in model.calls]


@pytest.mark.req("G5", "P6")
async def test_every_message_is_answered_when_the_context_is_full(tmp_path: Path) -> None:
    model = strict()
    async with open_rig(tmp_path, model=model, settings=OFF) as rig:
        outcomes = [
            await rig.outcome(await rig.say(f"{number}: {FOUR_KB}")) for number in range(40)
        ]
        assert_whole(rig)
        said = [message["parts"][0]["text"][:4] for message in graph_of(rig)]

    assert outcomes == ["answered"] * 40
    assert len(said) == 80
    assert len(model.calls) == 40
    assert max(map(chars_of_request, requests(model))) < 4 * CONTEXT


@pytest.mark.req("G5", "W21")
async def test_what_is_sent_begins_alike_until_messages_are_left_out(tmp_path: Path) -> None:
    model = strict()
    async with open_rig(tmp_path, model=model, settings=OFF) as rig:
        for number in range(24):
            await rig.answer(f"{number}: {FOUR_KB}")

    changes = [
        after.messages[: len(before.messages)] != before.messages
        for before, after in pairwise(requests(model))
    ]
    # Half of the room is left each time, which is for more than one message.
    assert 0 < sum(changes) <= 24 // 2


@pytest.mark.req("G5")
async def test_what_is_left_out_is_a_version_that_expands_to_the_messages(tmp_path: Path) -> None:
    model = strict()
    async with open_rig(tmp_path, model=model, settings=OFF) as rig:
        for number in range(12):
            await rig.answer(f"{number}: {FOUR_KB}")
        last = await rig.say("and now?")
        await rig.outcome(last)
        compacted = graph_of(rig, COMPACTED)
        note = compacted[-1]["parts"][0]["text"]
        whole = [message["parts"][0]["text"] for message in graph_of(rig)]
        (place, summary) = next(iter(compacted.summaries().items()))
        compacted.expand(place)
        expanded = [message["parts"][0]["text"] for message in compacted]

    assert note.startswith("[The ")
    assert note.endswith("left out: there is no room.]")
    assert expanded == whole[: summary.stop]
    assert requests(model)[-1].messages[0].text == note


@pytest.mark.req("G5")
async def test_a_restart_in_a_long_conversation_changes_nothing(tmp_path: Path) -> None:
    first, second = strict(), strict()
    async with open_rig(tmp_path, model=first, settings=OFF) as rig:
        for number in range(9):
            await rig.answer(f"{number}: {FOUR_KB}")
    async with open_rig(tmp_path, model=second, settings=OFF) as rig:
        await rig.answer("hi")

    before, after = requests(first)[-1], requests(second)[0]
    assert before.messages[0].text.endswith("left out: there is no room.]")
    assert after.messages[: len(before.messages)] == before.messages


@pytest.mark.req("G5")
async def test_a_service_that_finds_the_prompt_too_long_is_asked_once_more_with_less(
    tmp_path: Path,
) -> None:
    model = strict(believed=128_000)
    async with open_rig(tmp_path, model=model, settings=OFF) as rig:
        outcomes = [
            await rig.outcome(await rig.say(f"{number}: {FOUR_KB}")) for number in range(30)
        ]

    assert outcomes == ["answered"] * 30
    assert len(model.calls) == 31


@pytest.mark.req("G5", "P6")
async def test_what_a_refusal_teaches_comes_from_what_was_sent(tmp_path: Path) -> None:
    model = strict(believed=128_000)
    async with open_rig(tmp_path, model=model, settings=OFF) as rig:
        with capture_logs() as logs:
            await talk(rig, 12, jobs=False)

    (learnt,) = [one for one in logs if one["event"] == "context_learnt"]
    sent = next(
        request_tokens(one) for one in requests(model) if chars_of_request(one) > 4 * CONTEXT
    )
    assert (learnt["refused"], learnt["now"]) == (sent, int(sent * 0.6))


@pytest.mark.req("G5", "A6")
async def test_a_message_that_no_model_holds_is_refused_in_words_and_does_not_come_back(
    tmp_path: Path,
) -> None:
    model = strict()
    async with open_rig(tmp_path, model=model, settings=OFF) as rig:
        refused = await rig.answer("x" * 90_000)
        answered = await rig.answer("hi")

    assert refused.startswith("That is too long for my model: it takes about ")
    assert answered == "#1 hi"
    assert len(model.calls) == 1


@pytest.mark.req("G5")
async def test_failed_turns_do_not_make_the_next_prompt_longer(tmp_path: Path) -> None:
    model = strict()
    async with open_rig(tmp_path, model=model, settings=OFF) as rig:
        await rig.answer("hello")
        for _ in range(4):
            await rig.answer(f"[[fail:500]] {FOUR_KB}")
        await rig.answer("[[fail:500]] short")
        await rig.answer("again")
        shown = told(model)
        assert_no_problem(rig)
        page = await rig.store.transcripts.conversation(rig.lane(), limit=20)

    assert shown == [
        "hello",
        "#1 hello",
        "[[fail:500]] short\n\n[This message got no answer.]",
        "again",
    ]
    assert len(page.messages) == 7


def assert_no_problem(rig: Rig) -> None:
    assert graph_of(rig).verify().problems == ()


def summing(seen: SeenConversation, number: int) -> ScriptedTurn:
    """Answer what a person said with its beginning, and messages to sum up with a summary."""
    if seen.last_text.startswith("Summary so far:"):
        return ScriptedTurn(text=f"They spoke of work and play ({number}).")
    return ScriptedTurn(text=seen.last_text[:20])


def talker(*, context: int = CONTEXT) -> ScriptedProvider:
    info = msgspec.structs.replace(SCRIPTED_INFO, context_tokens=context)
    return ScriptedProvider(summing, info=info, holds=context)


async def talk(rig: Rig, count: int, *, jobs: bool = True) -> list[str]:
    """Say long things, and let what is due be done after each, or not at all."""
    await rig.core.memory.worker.stop()
    outcomes = []
    for number in range(count):
        outcomes.append(await rig.outcome(await rig.say(f"{number}: {FOUR_KB}")))
        if jobs:
            await rig.core.memory.worker.round()
    return outcomes


def told(model: ScriptedProvider) -> list[str]:
    return [message.text for message in requests(model)[-1].messages]


def asked_to_sum_up(model: ScriptedProvider) -> int:
    return sum("You sum up" in one.system[0] for one in requests(model))


@pytest.mark.req("G5", "J23")
async def test_before_the_context_is_full_older_messages_are_summed_up_beside_the_conversation(
    tmp_path: Path,
) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        outcomes = await talk(rig, 40)
        await rig.answer("and now?")
        assert_whole(rig)
        said = len(graph_of(rig))
        branches = await rig.store.transcripts.states(rig.lane(), epoch=0)
        summaries = [
            one for one in graph_of(rig, COMPACTED).versions() if one.edit.kind == "squish"
        ]
        seen = [graph_of(rig).at(call).to_list() for call in graph_of(rig).calls()]

    assert outcomes == ["answered"] * 40
    # What each call is said to have seen is what was sent, summary and all.
    sent = [one for one in requests(model) if "You sum up" not in one.system[0]]
    assert seen == [seen_by(one) for one in sent]
    assert said == 82
    assert branches == {}
    assert len(summaries) > 3
    assert told(model)[0].startswith("[Summary of the ")
    assert "They spoke of work and play" in told(model)[0]
    assert not any("left out" in text for text in told(model))


@pytest.mark.req("G5", "P6")
async def test_why_says_that_a_message_was_answered_on_a_summary(tmp_path: Path) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        first = await rig.say("hello")
        await talk(rig, 12)
        last = await rig.say("and now?")
        await rig.outcome(last)
        before = await explain(rig.store, first, now=rig.clock.now())
        after = await explain(rig.store, last, now=rig.clock.now())

    assert before.summary is None
    assert after.summary is not None
    assert after.summary.is_summary
    assert after.summary.messages > 2
    assert told(model)[0].startswith(f"[Summary of the {after.summary.messages} messages")


@pytest.mark.req("G5", "P6")
async def test_why_says_that_older_messages_were_left_out_of_this_and_later_turns(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, model=strict(), settings=OFF) as rig:
        ids = []
        for number in range(14):
            ids.append(await rig.say(f"{number}: {FOUR_KB}"))
            await rig.outcome(ids[-1])
        found = [(await explain(rig.store, one, now=rig.clock.now())).summary for one in ids]

    cut = next(number for number, one in enumerate(found) if one is not None)
    assert [one is not None and not one.is_summary for one in found[cut:]] == [True] * len(
        found[cut:]
    )


@pytest.mark.req("G5", "W21")
async def test_what_is_sent_begins_alike_between_summaries(tmp_path: Path) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        await talk(rig, 30)

    sent = [one for one in requests(model) if "You sum up" not in one.system[0]]
    changes = [
        after.messages[: len(before.messages)] != before.messages
        for before, after in pairwise(sent)
    ]
    made = len(requests(model)) - len(sent)
    assert 0 < sum(changes) <= made


@pytest.mark.req("G5", "W21")
async def test_a_long_system_prompt_does_not_make_every_message_a_reason_for_a_summary(
    tmp_path: Path,
) -> None:
    # The prompt takes most of the room: with the newest messages it is always nearly full.
    settings = {"AGENTS__MAIN__SYSTEM_PROMPT": "Be kind to all who ask. " * 1_200}
    model = talker(context=CONTEXT)
    async with open_rig(tmp_path, model=model, settings=settings) as rig:
        await rig.core.memory.worker.stop()
        for number in range(60):
            assert await rig.outcome(await rig.say(f"{number}: {'a day of play. ' * 40}"))
            await rig.core.memory.worker.round()
        assert_whole(rig)

    assert 1 < asked_to_sum_up(model) <= 10
    assert not any("left out" in text for text in told(model))


@pytest.mark.req("G5", "P3")
async def test_a_model_that_may_not_sum_up_is_not_asked_to(tmp_path: Path) -> None:
    model = talker()
    settings = {"COMPACTION__OWN_MODEL": "false"}
    async with open_rig(tmp_path, model=model, settings=settings) as rig:
        outcomes = await talk(rig, 20)

    assert outcomes == ["answered"] * 20
    assert not any("You sum up" in one.system[0] for one in requests(model))
    assert "left out" in told(model)[0]


@pytest.mark.req("G5")
async def test_a_summary_that_fails_is_tried_again_and_the_conversation_goes_on(
    tmp_path: Path,
) -> None:
    def failing(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.last_text.startswith("Summary so far:"):
            return ScriptedTurn(fault="status", status=500)
        return summing(seen, number)

    info = msgspec.structs.replace(SCRIPTED_INFO, context_tokens=CONTEXT)
    model = ScriptedProvider(failing, info=info, holds=CONTEXT)
    async with open_rig(tmp_path, model=model) as rig:
        outcomes = await talk(rig, 20)
        before, shown = asked_to_sum_up(model), told(model)
        rig.clock.advance(61)
        await rig.core.memory.worker.round()

    assert outcomes == ["answered"] * 20
    assert "left out" in shown[0]
    # Not with every message: once, and once more when it was time.
    assert (before, asked_to_sum_up(model)) == (1, 2)


@pytest.mark.req("G5", "J5")
async def test_a_conversation_that_went_back_meanwhile_gets_no_summary_of_what_is_gone(
    tmp_path: Path,
) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        await talk(rig, 9, jobs=False)
        job, *_ = await rig.store.jobs.due(rig.clock.now(), limit=9, kinds=("compact",))
        part = await rig.store.compactions.older(job, lambda found: 4, limit=10**9)
        assert part is not None
        await rig.answer("/undo 8")
        await rig.answer("something else")
        await rig.answer("and more")
        message = user_text("of what is gone")
        made = Compaction(start=part.start, stop=part.stop, message=message, by="scripted")

        is_kept = await rig.store.compactions.finish(
            job, made, source=part.source, at=rig.clock.now(), spent=()
        )
        await rig.answer("hi")

    assert not is_kept
    assert "of what is gone" not in told(model)
    assert told(model)[-1] == "hi"


async def sum_up(rig: Rig, *, start: int) -> bytes:
    """Sum up the older messages from one on; return what the version says that calls did with them."""
    job, *_ = await rig.store.jobs.due(rig.clock.now(), limit=9, kinds=("compact",))
    part = await rig.store.compactions.older(job, lambda _found: 4, limit=10**9)
    assert part is not None
    made = Compaction(start=start, stop=part.stop, message=user_text("so far"), by="scripted")
    finish = rig.store.compactions.finish
    assert await finish(job, made, source=part.source, at=rig.clock.now(), spent=())
    return expand(graph_of(rig, COMPACTED).versions()[-1].edit.was)


@pytest.mark.req("G5", "G1")
async def test_a_summary_knows_which_of_its_messages_calls_saw_and_which_they_wrote(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, model=strict()) as rig:
        # The first message is seen by the call of the second one only.
        await rig.answer("[[fail:500]] short")
        await talk(rig, 5, jobs=False)
        first = await sum_up(rig, start=0)
        await talk(rig, 4, jobs=False)
        second = await sum_up(rig, start=1)
        assert_whole(rig)

    assert first == bytes((SEEN, SEEN, WRITTEN, SEEN))
    assert len(second) > len(first)
    assert second == bytes((SEEN, WRITTEN)) * (len(second) // 2)


@pytest.mark.req("G5", "A15")
async def test_a_conversation_of_many_short_messages_is_read_whole(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        for number in range(70):
            await rig.answer(f"message {number}")
    async with open_rig(tmp_path) as rig:
        # Nothing is cached: the session is read from the disk, in pieces.
        await rig.answer("hi")

        sent = [one.text for one in requests(rig.model)[-1].messages if one.role == "user"]
        assert sent == [*(f"message {number}" for number in range(70)), "hi"]


@pytest.mark.req("G5", "W18")
async def test_undo_past_a_summary_brings_the_messages_back(tmp_path: Path) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        await talk(rig, 12)
        await rig.answer("/undo 11")
        await rig.answer("and then?")
        assert_whole(rig)

    assert told(model) == [f"0: {FOUR_KB}", f"0: {FOUR_KB}"[:20], "and then?"]


@pytest.mark.req("G5", "W18")
async def test_a_summary_of_what_was_taken_back_does_not_come_back_with_other_messages(
    tmp_path: Path,
) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        await talk(rig, 9)
        before = told(model)
        await rig.answer("/undo 9")
        for number in range(12):
            await rig.answer(f"other {number}")
    async with open_rig(tmp_path, model=model) as rig:
        # Nothing is cached: the session is read from the disk.
        await rig.answer("hi")
        assert_whole(rig)

    assert before[0].startswith("[Summary of")
    assert told(model)[0] == "other 0"
    assert len(told(model)) == 25


@pytest.mark.req("G5", "J24")
async def test_an_erased_persons_words_are_gone_from_the_summary(tmp_path: Path) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        await rig.core.memory.worker.stop()
        for number in range(8):
            user = "bob" if number else "ann"
            await rig.outcome(await rig.say_in_thread(f"{number}: {FOUR_KB}", user=user))
            await rig.core.memory.worker.round()
        lane = "agent:main:rest:thread:room:7"
        before = await rig.store.transcripts.history(lane, epoch=0, head=99)
        first, *_ = (await rig.store.transcripts.conversation(lane, limit=20)).messages
        await rig.store.people.erase(first.record.person_id, at=rig.clock.now())
        after = await rig.store.transcripts.history(lane, epoch=0, head=99)
        outcome = await rig.outcome(await rig.say_in_thread("still here?", user="bob"))
        graph = rig.store.graphs.open(graph_name(lane, 0), branch=COMPACTED)
        problems = {problem.trouble for problem in graph.verify().problems}

    assert before.compaction is not None
    assert after.compaction is None
    assert outcome == "answered"
    assert problems == {"erased"}


@pytest.mark.req("G5", "W3")
async def test_compact_sums_up_all_but_the_last_exchange_now(tmp_path: Path) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        await rig.core.memory.worker.stop()
        early = await rig.answer("/compact")
        for text in ("one", "two", "three", "four"):
            await rig.answer(text)
        promise = await rig.answer("/compact")
        await rig.core.memory.worker.round()
        await rig.answer("five")

    assert early == "There is nothing to sum up yet."
    assert promise.startswith("I sum up what we said")
    assert told(model)[1:] == ["four", "four", "five"]
    assert told(model)[0].startswith("[Summary of the 6 messages before this.")


@pytest.mark.req("G5", "J7", "J8")
async def test_a_turn_that_is_resumed_sees_what_it_saw_before_a_summary_came(
    tmp_path: Path,
) -> None:
    clock, hung = ManualClock(), list[int]()

    def hanging(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.last_text == "now" and not hung:
            hung.append(number)
            return ScriptedTurn(fault="hang")
        return summing(seen, number)

    info = msgspec.structs.replace(SCRIPTED_INFO, context_tokens=CONTEXT)
    model = ScriptedProvider(hanging, info=info, holds=CONTEXT)
    async with open_rig(tmp_path, model=model, clock=clock) as rig:
        await talk(rig, 9, jobs=False)
        message = await rig.say("now")
        await rig.until(lambda: bool(hung))
        await rig.core.memory.worker.round()
        await rig.crash()
    seen = [one for one in requests(model) if one.messages[-1].text == "now"]
    async with open_rig(tmp_path, model=model, clock=clock) as rig:
        assert await rig.outcome(message) == "answered"
        assert_whole(rig)

    again = [one for one in requests(model) if one.messages[-1].text == "now"]
    assert again[-1].messages == seen[0].messages


@pytest.mark.req("G5")
async def test_the_summary_comes_as_soon_as_it_is_due(tmp_path: Path) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        for number in range(9):
            await rig.answer(f"{number}: {FOUR_KB}")
        await rig.until(lambda: any("You sum up" in one.system[0] for one in requests(model)))


@pytest.mark.req("G5")
async def test_a_summary_is_due_by_our_own_estimate_if_the_service_reports_too_little(
    tmp_path: Path,
) -> None:
    def silent(seen: SeenConversation, number: int) -> ScriptedTurn:
        return msgspec.structs.replace(summing(seen, number), tokens_in=0, tokens_out=1)

    info = msgspec.structs.replace(SCRIPTED_INFO, context_tokens=CONTEXT)
    model = ScriptedProvider(silent, info=info, holds=CONTEXT)
    async with open_rig(tmp_path, model=model) as rig:
        await talk(rig, 12)

    assert asked_to_sum_up(model) > 0
    assert not any("left out" in text for text in told(model))


def forget_index(home: Path) -> None:
    for file in home.glob("search.db*"):
        file.unlink()


async def hits(rig: Rig, word: str, asker: Searcher) -> int:
    assert rig.core.search is not None
    return len((await rig.core.search.find(SearchAsk(text=word, asker=asker, limit=20))).found)


@pytest.mark.req("G5", "G7", "G6")
async def test_everything_that_was_said_stays_where_people_and_programs_look_for_it(
    tmp_path: Path,
) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model, search=True) as rig:
        await rig.answer("apples are red")
        await talk(rig, 12)
        page = await rig.store.transcripts.conversation(rig.lane(), limit=50)
        person_id = page.messages[0].record.person_id
        asker = Searcher(person_id, rig.lane(), is_private=True)
        found = [await hits(rig, word, asker) for word in ("apples", "spoke")]
        branches = [graph_of(rig, name) for name in ("main", COMPACTED)]
        rows = list(
            export_rows(
                branches,
                "trl-messages",
                may_train=lambda _: True,
                salt=os.urandom(16),
                report=Report(),
            )
        )
        drawing = str([str(row) for row in drawn(draw(branches))])
        past = await rig.store.transcripts.exchanges(rig.lane(), epoch=0, limit=50)
    forget_index(tmp_path)
    async with open_rig(tmp_path, model=model, search=True) as rig:
        # An index that is made anew reads the graphs, and finds the same.
        found += [await hits(rig, word, asker) for word in ("apples", "spoke")]

    assert len(page.messages) == 13
    # What the person said and what was answered; no summary.
    assert found == [2, 0, 2, 0]
    assert rows
    assert [verify_row(row) for row in rows] == [None] * len(rows)
    assert "apples are red" in drawing
    assert len(past) == 13


@pytest.mark.req("G5", "W18")
async def test_a_state_that_was_kept_before_a_summary_is_gone_back_to(tmp_path: Path) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        await rig.answer("one")
        await rig.answer("/branch early")
        await talk(rig, 12)
        assert any(text.startswith("[Summary of") for text in told(model))
        await rig.answer("/branch to early")
        await rig.answer("two")
        early = told(model)
        await rig.answer("/branch to state-1")
        await rig.answer("three")
        assert_whole(rig)

    assert early == ["one", "one", "two"]
    assert told(model)[0].startswith("[Summary of")
    assert told(model)[-1] == "three"


@pytest.mark.req("G5", "P6")
async def test_an_agent_has_settings_of_its_own(tmp_path: Path) -> None:
    model = talker()
    settings = {
        "COMPACTION__ENABLED": "false",
        "AGENTS__MAIN__COMPACTION__ENABLED": "true",
        "AGENTS__MAIN__COMPACTION__AT": "0.4",
    }
    async with open_rig(tmp_path, model=model, settings=settings) as rig:
        await talk(rig, 5)
        await rig.answer("hi")

    assert told(model)[0].startswith("[Summary of")


@pytest.mark.req("G5")
async def test_large_tool_results_are_shortened_before_messages_are_left_out(
    tmp_path: Path,
) -> None:
    def looking(seen: SeenConversation, number: int) -> ScriptedTurn:
        is_asked = seen.last_text == "look" and not seen.tool_results
        return ScriptedTurn(tools=(ToolUse("look"),)) if is_asked else ScriptedTurn(text="fine")

    info = msgspec.structs.replace(SCRIPTED_INFO, context_tokens=CONTEXT)
    model = ScriptedProvider(looking, info=info, holds=CONTEXT)
    look = RunTool("look", lambda _context: "x" * 15_000)
    async with open_rig(tmp_path, model=model, tools=(look,), settings=OFF) as rig:
        await rig.answer("remember the blue bag")
        for _ in range(4):
            await rig.answer("look")
        await rig.answer("and?")

    last = requests(model)[-1]
    assert last.messages[0].text == "remember the blue bag"
    parts = [part for message in last.messages for part in message.parts]
    results = [part.text for part in parts if isinstance(part, ToolResultPart)]
    assert len(results) == 4
    assert all("characters of this result are left out here" in text for text in results)


@pytest.mark.req("G5")
async def test_a_small_model_sums_up_in_pieces_each_with_the_summary_so_far(tmp_path: Path) -> None:
    model = talker(context=32_000)
    info = msgspec.structs.replace(
        SCRIPTED_INFO, name="small", model="small-1", context_tokens=8_000, local=True
    )
    small = ScriptedProvider(summing, info=info, holds=8_000)
    settings = {"ROUTING__LOCAL_FIRST": "false"}
    async with open_rig(tmp_path, model=model, beside={"small": small}, settings=settings) as rig:
        await talk(rig, 16)
        await rig.answer("and?")

    assert len(small.calls) > 2
    assert "Summary so far:\n> They spoke of work and play" in requests(small)[1].messages[0].text
    assert asked_to_sum_up(model) == 0
    assert told(model)[0].startswith("[Summary of")


@pytest.mark.req("G5", "J24")
async def test_a_conversation_with_an_erased_person_is_summed_up_all_the_same(
    tmp_path: Path,
) -> None:
    model = talker()
    async with open_rig(tmp_path, model=model) as rig:
        await rig.core.memory.worker.stop()
        first = await rig.say_in_thread("anns secret", user="ann")
        await rig.outcome(first)
        record = await rig.store.inbox.get(first)
        assert record is not None
        await rig.store.people.erase(record.person_id, at=rig.clock.now())
        for number in range(9):
            await rig.outcome(await rig.say_in_thread(f"{number}: {FOUR_KB}", user="bob"))
            await rig.core.memory.worker.round()
        await rig.outcome(await rig.say_in_thread("and?", user="bob"))

    assert told(model)[0].startswith("[Summary of")
    assert not any(
        "secret" in message.text for one in requests(model)[1:] for message in one.messages
    )


@pytest.mark.req("G5", "A20")
async def test_an_answer_in_two_parts_is_not_cut_between_them(tmp_path: Path) -> None:
    def long_winded(seen: SeenConversation, number: int) -> ScriptedTurn:
        is_cut = seen.last_text == "tell me all"
        return ScriptedTurn(text="one, two,", stops="length") if is_cut else summing(seen, number)

    info = msgspec.structs.replace(SCRIPTED_INFO, context_tokens=CONTEXT)
    model = ScriptedProvider(long_winded, info=info, holds=CONTEXT)
    async with open_rig(tmp_path, model=model) as rig:
        await talk(rig, 4, jobs=False)
        await rig.answer("tell me all")
        await rig.answer("/compact")
        await rig.core.memory.worker.round()
        await rig.answer("and?")

    assert told(model)[0].startswith("[Summary of the 8 ")
    assert told(model)[1:4] == ["tell me all", "one, two,", as_read(GO_ON).text]


@pytest.mark.req("G5", "A20")
async def test_an_answer_ends_where_its_rest_has_no_room_beside_it(tmp_path: Path) -> None:
    def long_winded(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text=FOUR_KB, stops="length")

    info = msgspec.structs.replace(SCRIPTED_INFO, context_tokens=1_600)
    model = ScriptedProvider(long_winded, info=info)
    async with open_rig(tmp_path, model=model, settings=OFF) as rig:
        answer = await rig.answer("tell me all")

    assert answer.startswith(FOUR_KB.strip())
    assert answer.endswith('Say "continue" and I go on.)')
    assert len(model.calls) == 1


def adding(*, believed: int, holds: int) -> ScriptedProvider:
    """Return a model whose service counts the prompt and the output limit together."""
    info = msgspec.structs.replace(SCRIPTED_INFO, context_tokens=believed)
    return ScriptedProvider(summing, info=info, holds=holds, counts_output=True)


def limited(tokens: int) -> dict[str, str]:
    return {
        **OFF,
        "PROVIDERS__SCRIPTED__BASE_URL": "http://127.0.0.1:9/v1",
        "PROVIDERS__SCRIPTED__MAX_OUTPUT_TOKENS": str(tokens),
    }


@pytest.mark.req("G5", "A20")
async def test_a_large_output_limit_is_lowered_before_anything_is_left_out(tmp_path: Path) -> None:
    model = adding(believed=CONTEXT, holds=CONTEXT)
    async with open_rig(tmp_path, model=model, settings=limited(12_000)) as rig:
        outcomes = await talk(rig, 7, jobs=False)
        call = graph_of(rig).calls()[-1]

    assert outcomes == ["answered"] * 7
    assert len(model.calls) == 7
    assert told(model)[0].startswith("0: ")
    last = requests(model)[-1].max_output_tokens
    assert last is not None
    assert 4_000 <= last < 12_000
    # The graph has what the call was really made with.
    assert call.sampling["max_output_tokens"] == last


@pytest.mark.req("G5", "P6")
async def test_a_refusal_of_prompt_and_output_together_teaches_their_sum(tmp_path: Path) -> None:
    model = adding(believed=32_000, holds=8_000)
    async with open_rig(tmp_path, model=model, settings=limited(8_000)) as rig:
        with capture_logs() as logs:
            outcomes = await talk(rig, 3, jobs=False)

    (learnt,) = [one for one in logs if one["event"] == "context_learnt"]
    assert learnt["refused"] > 8_000
    assert outcomes == ["answered"] * 3
    assert len(model.calls) == 4
    assert told(model)[0].startswith("0: ")


@pytest.mark.req("G5", "W21")
async def test_an_agents_output_limit_changes_nothing_of_the_room(tmp_path: Path) -> None:
    model = talker()
    settings = {**limited(300), "AGENTS__MAIN__MAX_OUTPUT_TOKENS": "4000"}
    async with open_rig(tmp_path, model=model, settings=settings) as rig:
        await talk(rig, 30, jobs=False)

    firsts = {one.messages[0].text for one in requests(model)}
    assert all(one.startswith("0: ") or one.endswith("there is no room.]") for one in firsts)
