"""J9, J18: answers as buttons: a press is what the person could have written, once, and survives kill -9."""

import re
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec
import pytest

from hermes.errors import FailureClass, NotDelivered
from hermes.outbox.marks import REPEAT_PREFIX
from hermes.ports.channel import Buttons, Capabilities
from hermes.ports.tool import Question, ToolContext, ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel, Post
from tests.contract.journal.rig import PUSH, Claim, Rig, RunTool, open_rig

ROOT = Path(__file__).parents[3]
ASKING = ToolTraits(needs_approval=True)
ABLE = msgspec.structs.replace(
    PUSH, delete=True, buttons=Buttons(most=5, label_chars=20, value_bytes=64)
)


def platform(able: Capabilities = ABLE) -> MemoryChannel:
    return MemoryChannel(able, name="push")


async def last_question(rig: Rig, chat: str = "ann", *, after: Post | None = None) -> Post:
    """Wait for a message with buttons; return the newest."""

    def found() -> list[Post]:
        asked = [one for one in rig.push.posts.values() if one.chat == chat and one.choices]
        return [one for one in asked if after is None or one.id != after.id]

    await rig.until(lambda: bool(found()))
    return found()[-1]


async def park(rig: Rig, *, chat: str = "ann", group: bool = False) -> tuple[str, Post]:
    said = await rig.say(
        "[[tool:pay]] please",
        platform="push",
        chat=chat,
        user="ann",
        chat_type="group" if group else "dm",
    )
    assert await rig.outcome(said) == "parked"
    return said, await last_question(rig, chat)


async def reply_to(rig: Rig, message_id: str) -> tuple[str, str]:
    """Return how a message ended, and what was said."""
    outcome = await rig.outcome(message_id)
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return outcome, result.text


async def shown(rig: Rig, post: Post) -> str:
    """Wait until a question has lost its buttons; return its last lines."""
    await rig.as_time_passes(lambda: not rig.push.posts[post.id].choices)
    return rig.push.posts[post.id].text.partition("\n\n")[2]


@pytest.mark.req("J9")
async def test_an_approval_is_pressed_and_the_question_shows_it(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,), push=platform()) as rig:
        said, question = await park(rig)
        approve, deny = question.choices
        assert [(one.label, one.style) for one in question.choices] == [
            ("Approve", "good"),
            ("Deny", "bad"),
        ]
        assert "/approve" in question.text
        assert "approve" not in approve.value

        pressed = await rig.press(approve.value)

        assert await reply_to(rig, pressed) == ("answered", "Approved.")
        assert await rig.outcome(said) == "answered"
        assert tool.runs == 1
        assert await shown(rig, question) == "→ Approve"

        # Pressed again, both buttons, by the same person.
        for value in (approve.value, deny.value):
            late = await rig.press(value)
            assert await reply_to(rig, late) == ("refused", "That was answered already.")
        assert tool.runs == 1


@pytest.mark.req("J9", "A28")
async def test_a_question_that_may_be_a_repeat_says_so_also_once_it_is_answered(
    tmp_path: Path,
) -> None:
    channel = platform(msgspec.structs.replace(ABLE, history=False, key_window_s=0.0))
    async with open_rig(tmp_path, tools=(RunTool("pay", traits=ASKING),), push=channel) as rig:
        channel.lose_answers("send", 1)
        _, question = await park(rig)
        await rig.as_time_passes(lambda: len(channel.posts) == 2)
        repeated = await last_question(rig, after=question)

        await rig.press(repeated.choices[0].value)

        assert await shown(rig, repeated) == "→ Approve"
        assert rig.push.posts[repeated.id].text == f"{REPEAT_PREFIX}{question.text}\n\n→ Approve"


@pytest.mark.req("J9", "A28")
async def test_a_question_that_was_pressed_before_it_was_sent_again_is_no_repeat(
    tmp_path: Path,
) -> None:
    # given a question in doubt, whose second send certainly does not arrive
    channel = platform(msgspec.structs.replace(ABLE, history=False, key_window_s=0.0))
    async with open_rig(tmp_path, tools=(RunTool("pay", traits=ASKING),), push=channel) as rig:
        channel.lose_answers("send", 1)
        down = NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)
        channel.fail("send", None, *[down] * 50)
        said, question = await park(rig)

        async def is_to_be_repeated() -> bool:
            (row,) = await rig.deliveries(said)
            return [note.then for note in row.story][:3] == ["unknown", "repeated", "again"]

        await rig.as_time_passes(is_to_be_repeated)

        # when the first one is pressed
        await rig.press(question.choices[0].value, under=question.id)

        # then it is edited as what it is, the only one
        assert await shown(rig, question) == "→ Approve"
        assert rig.push.posts[question.id].text == f"{question.text}\n\n→ Approve"


@pytest.mark.req("J9")
async def test_in_a_group_only_an_admin_presses_and_others_are_told(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    settings = {"APPROVALS__ADMINS": '["push:root"]'}
    async with open_rig(tmp_path, tools=(tool,), push=platform(), settings=settings) as rig:
        said, question = await park(rig, chat="lab", group=True)
        press = partial(rig.press, question.choices[0].value, chat="lab", chat_type="group")

        for user in ("ann", "bob"):
            told = await reply_to(rig, await press(user=user))
            assert told[0] == "refused"
            assert "only admins may approve" in told[1]
        assert tool.runs == 0
        assert rig.push.posts[question.id].choices == question.choices

        assert await reply_to(rig, await press(user="root")) == ("answered", "Approved.")
        assert await rig.outcome(said) == "answered"
        assert tool.runs == 1


@pytest.mark.req("J9")
async def test_a_press_from_another_chat_or_of_an_unknown_value_does_nothing(
    tmp_path: Path,
) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,), push=platform()) as rig:
        _, question = await park(rig)
        value = question.choices[0].value

        elsewhere = await rig.press(value, chat="other")
        tricks = [value.replace(".0", tail) for tail in (".9", ".-1", ".00000", ".x", "", ".٠")]
        pressed = [
            elsewhere,
            *[await rig.press(one) for one in (*tricks, "/approve", "", "." * 999)],
        ]

        for one in pressed:
            assert await reply_to(rig, one) == (
                "refused",
                "These buttons no longer work. Please write instead.",
            )
        assert tool.runs == 0


@pytest.mark.req("J9")
async def test_a_late_press_is_told_so_and_the_question_shows_its_end(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,), push=platform()) as rig:
        _, question = await park(rig)

        rig.clock.advance(3_700.0)
        told = await reply_to(rig, await rig.press(question.choices[0].value))

        assert told == ("refused", "That came too late: the time for an answer is over.")
        assert tool.runs == 0
        assert await shown(rig, question) == "→ Nobody answered in time."


@pytest.mark.req("J9")
async def test_what_was_decided_in_words_takes_the_buttons_away(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(RunTool("pay", traits=ASKING),), push=platform()) as rig:
        said, question = await park(rig)
        assert await rig.answer("no", platform="push") == "Denied."
        await rig.outcome(said)
        assert await shown(rig, question) == "→ Denied."


@pytest.mark.req("J9", "J18")
async def test_a_press_before_a_restart_counts_after_it_once(tmp_path: Path) -> None:
    clock, tool, push = ManualClock(), RunTool("pay", traits=ASKING), platform()
    opening = partial(open_rig, tmp_path, clock=clock, tools=(tool,), push=push)
    async with opening() as rig:
        said, question = await park(rig)

    async with opening(start=False, sending=False) as rig:
        # given a gateway that writes the press and does nothing else
        pressed = await rig.press(question.choices[0].value, name="one")
        again = await rig.press(question.choices[0].value, name="one")
        assert pressed == again

    async with opening() as rig:
        assert await reply_to(rig, pressed) == ("answered", "Approved.")
        assert await rig.outcome(said) == "answered"
        assert tool.runs == 1
        assert await shown(rig, question) == "→ Approve"


async def test_a_platform_without_buttons_gets_the_same_words(tmp_path: Path) -> None:
    tools = (RunTool("pay", traits=ASKING),)
    async with open_rig(tmp_path, tools=tools, push=platform(PUSH)) as rig:
        said = await rig.say("[[tool:pay]] please", platform="push")
        assert await rig.outcome(said) == "parked"
        await rig.until(lambda: bool(rig.push.posts))
        (post,) = rig.push.posts.values()
        assert (post.choices, "Answer /approve a_" in post.text) == ((), True)


async def test_models_are_chosen_with_a_press_by_the_person_who_asked(tmp_path: Path) -> None:
    async with open_rig(tmp_path, push=platform()) as rig:
        listed = await rig.answer("/model", platform="push")
        question = await last_question(rig)
        name = question.choices[0].label
        assert listed == question.text
        assert f"/model NAME chooses one:\n  {name}" in listed

        others = await rig.press(question.choices[0].value, user="bob", chat="ann")
        assert await reply_to(rig, others) == (
            "refused",
            "Only the person who was asked may press this.",
        )

        told = await reply_to(rig, await rig.press(question.choices[0].value))
        assert told == ("answered", f"From now on {name} answers here, until /new or /model auto.")
        assert await shown(rig, question) == f"→ {name}"
        assert f"{name} answers here." in await rig.answer("/model", platform="push")


def asking(schema: Mapping[str, object]) -> RunTool:
    """Return a tool that asks the person and returns what they said."""

    async def act(context: ToolContext) -> str:
        assert context.ask is not None
        question = Question(text="Which one?", schema=schema, within_s=60.0)
        return f"got {await context.ask(question)}"

    return RunTool("quiz", act)


@pytest.mark.req("J9")
async def test_each_step_of_a_question_has_buttons_and_old_ones_count_no_more(
    tmp_path: Path,
) -> None:
    schema = {
        "properties": {
            "size": {"type": "string", "enum": ["small", "large"]},
            "milk": {"type": "boolean"},
        },
        "required": ["size", "milk"],
    }
    async with open_rig(tmp_path, tools=(asking(schema),), push=platform()) as rig:
        said = await rig.say("[[tool:quiz]] go", platform="push")
        first = await last_question(rig)
        assert [one.label for one in first.choices] == ["small", "large", "No thanks"]

        others = await rig.press(first.choices[1].value, user="bob", chat="ann")
        assert (await reply_to(rig, others))[0] == "refused"
        answered = await rig.say("large", platform="push")
        await rig.outcome(answered)
        second = await last_question(rig, after=first)
        assert [one.label for one in second.choices] == ["Yes", "No", "No thanks"]

        # An answer to the first step is none to the second.
        stale = await rig.press(first.choices[0].value)
        assert await reply_to(rig, stale) == ("refused", "That was answered already.")
        await rig.press(second.choices[0].value)

        assert await rig.outcome(said) == "answered"
        assert await shown(rig, first) == "→ Answered."
        assert await shown(rig, second) == "→ Yes"
        assert "got {'size': 'large', 'milk': True}" in str(rig.model.calls[-1].request.messages)


@pytest.mark.req("J9")
@pytest.mark.parametrize("value", ["/model auto", " /model auto"])
async def test_no_button_of_a_question_is_a_command(tmp_path: Path, value: str) -> None:
    # given a server that shows one thing and would have the person say another
    field = {"type": "string", "oneOf": [{"const": value, "title": "Rome"}, {"const": "Oslo"}]}
    schema = {"properties": {"to": field}, "required": ["to"]}
    async with open_rig(tmp_path, tools=(asking(schema),), push=platform()) as rig:
        said = await rig.say("[[tool:quiz]] go", platform="push")
        await rig.until(lambda: any("Which one?" in one.text for one in rig.push.posts.values()))

        assert [one.choices for one in rig.push.posts.values()] == [()]
        # In words it can be answered as before.
        assert await rig.answer("Rome", platform="push") == "Thank you, I passed that on."
        assert await rig.outcome(said) == "answered"


@pytest.mark.req("J9", "J18")
def test_a_kill_at_any_point_of_a_press_leaves_one_decision(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "tests.contract.journal.press_kills", str(tmp_path)]
    done = subprocess.run(
        program, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110
    )

    assert done.returncode == 0, done.stderr[-4_000:]
    told = re.search(r"(\d+) kills", done.stdout)
    assert told is not None
    assert int(told[1]) >= 20


async def test_a_notice_of_the_moment_vanishes_also_after_a_restart(tmp_path: Path) -> None:
    clock, push, tool = ManualClock(), platform(), RunTool("pay", traits=ASKING)
    opening = partial(
        open_rig,
        tmp_path,
        clock=clock,
        push=push,
        tools=(tool,),
        settings={"DISPLAY__VANISH_S": "30"},
    )
    async with opening() as rig:
        _, question = await park(rig)
        told = await rig.press(question.choices[0].value, user="bob", chat="ann")
        await rig.until(lambda: len(push.posts) == 2)
        notice = list(push.posts.values())[1]
        assert (await rig.deliveries(told))[0].vanish_s == 30.0
        clock.advance(20.0)

    async with opening() as rig:
        assert notice.id in push.posts
        await rig.as_time_passes(lambda: notice.id not in push.posts)
        # What asks stays.
        assert question.id in push.posts
        assert ("delete", "ann") in push.calls
        (row,) = await rig.deliveries(told)
        await rig.as_time_passes(is_over(rig, told))
        assert row.state == "sent"


def is_over(rig: Rig, message_id: str) -> Claim:
    async def claim() -> bool:
        return (await rig.deliveries(message_id))[0].vanish_s == 0.0

    return claim


async def test_a_notice_stays_where_a_platform_cannot_delete(tmp_path: Path) -> None:
    able = msgspec.structs.replace(ABLE, delete=False)
    settings = {"DISPLAY__VANISH_PLATFORMS__PUSH": "1"}
    tools = (RunTool("pay", traits=ASKING),)
    async with open_rig(tmp_path, tools=tools, push=platform(able), settings=settings) as rig:
        _, question = await park(rig)
        told = await rig.press(question.choices[0].value, user="bob", chat="ann")
        await rig.until(lambda: len(rig.push.posts) == 2)
        await rig.as_time_passes(is_over(rig, told))

        assert len(rig.push.texts("ann")) == 2
        assert not {"delete", "edit"} & {verb for verb, _ in rig.push.calls}
