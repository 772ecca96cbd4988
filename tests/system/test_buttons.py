"""Buttons and reactions on a live gateway, on Telegram, Slack and Discord: pressed by whom, how often, when."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.system.button_town import LAB, PAY, ButtonTown, button_town

everywhere = pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
PAID = f"{PAY} -> paid bob"
ANSWERED = "That was answered already."


async def ends(here: ButtonTown, end: str, *, chat: str = "ada") -> None:
    """Wait until the only question of a chat shows how it ended, without buttons."""
    (question,) = [post for post in here.posts(chat) if "May I run" in post.text]
    await here.until(lambda: here.now(question, chat).endswith(f"\n\n→ {end}"), chat)
    assert here.labels(question, chat) == []


@everywhere
@pytest.mark.req("J9")
async def test_in_a_group_the_admin_presses_and_everybody_else_is_told(
    tmp_path: Path, platform: str
) -> None:
    async with button_town(tmp_path, platform) as here, here.gateway():
        await here.say(PAY, chat=LAB)
        question = await here.question(chat=LAB)
        approve, deny = here.buttons(question, LAB)
        assert (approve.label, deny.label) == ("Approve", "Deny")

        # when the person who asked presses, and another member
        before = here.posts(LAB)
        await here.press(question, approve, user="ada", chat=LAB)
        await here.press(question, approve, user="bob", chat=LAB)
        refusal = "in groups only admins may approve; add yourself to approvals.admins"
        await here.told(refusal, refusal, chat=LAB, after=before)
        assert here.labels(question, LAB) == ["Approve", "Deny"]
        assert here.paid() == []

        # when an admin presses
        before = here.posts(LAB)
        await here.press(question, approve, user="root", chat=LAB)
        await here.told("Approved.", f"#1 [Ada] {PAID}", chat=LAB, after=before)
        await ends(here, "Approve", chat=LAB)

        # when somebody still presses what a screen shows
        before = here.posts(LAB)
        await here.press(question, deny, user="root", chat=LAB)
        await here.told(ANSWERED, chat=LAB, after=before)
        assert here.paid() == ["bob"]
        assert len({post.thread for post in here.posts(LAB)}) == 1
        assert here.desk.site.rejections == ()


@everywhere
@pytest.mark.req("J9", "W6")
async def test_the_press_of_a_stranger_does_nothing(tmp_path: Path, platform: str) -> None:
    async with button_town(tmp_path, platform) as here:
        known = ", ".join(f'"{here.user(name)}"' for name in ("ada", "root"))
        rules = f'{{"{platform}": {{"allow_from": [{known}]}}}}'
        async with here.gateway(HERMES_ACCESS__PLATFORMS=rules):
            await here.say(PAY, chat=LAB)
            question = await here.question(chat=LAB)
            approve, _ = here.buttons(question, LAB)

            before = here.posts(LAB)
            await here.press(question, approve, user="eve", chat=LAB)
            await here.until(lambda: len(here.posts(LAB)) > len(before), LAB)
            (told,) = here.texts(LAB)[1:]
            assert told == "I answer only people I know. Write to me in a direct chat first."
            assert here.paid() == []

            before = here.posts(LAB)
            await here.press(question, approve, user="root", chat=LAB)
            await here.told("Approved.", f"#1 [Ada] {PAID}", chat=LAB, after=before)
            assert here.paid() == ["bob"]


@everywhere
@pytest.mark.req("J9")
async def test_two_presses_at_once_run_the_tool_once(tmp_path: Path, platform: str) -> None:
    async with button_town(tmp_path, platform) as here, here.gateway():
        await here.say(PAY)
        question = await here.question()
        approve, _ = here.buttons(question)

        before = here.posts()
        await asyncio.gather(*[here.press(question, approve) for _ in range(3)])

        await here.told("Approved.", ANSWERED, ANSWERED, f"#1 {PAID}", after=before)
        await ends(here, "Approve")
        assert here.paid() == ["bob"]
        assert here.desk.site.rejections == ()


@everywhere
@pytest.mark.req("J9")
async def test_a_press_after_the_time_is_over_is_told_so(tmp_path: Path, platform: str) -> None:
    async with (
        button_town(tmp_path, platform) as here,
        here.gateway(HERMES_APPROVALS__EXPIRE_AFTER_S="1"),
    ):
        await here.say(PAY)
        question = await here.question()
        approve, _ = here.buttons(question)
        await ends(here, "Nobody answered in time.")

        before = here.posts()
        await here.press(question, approve)

        late = "That came too late: the time for an answer is over."
        await here.until(lambda: late in here.texts())
        assert here.paid() == []
        assert here.desk.site.rejections == ()
        assert len(here.posts()) <= len(before) + 2


# After the press is kept, before its decision, after it, and before the tool's answer.
KILLS = ["store.accept.after", "store.decide.before", "store.decide.after", "store.commit.before:2"]


@everywhere
@pytest.mark.parametrize("kill", KILLS)
@pytest.mark.req("J9", "J18")
async def test_killed_between_press_and_answer_there_is_one_result(
    tmp_path: Path, platform: str, kill: str
) -> None:
    async with button_town(tmp_path, platform) as here:
        # given a gateway that dies after its question, and one that dies at the press
        async with here.gateway() as live:
            await here.say(PAY)
            question = await here.question()
            await live.settled()
            await live.stop(signal.SIGKILL)
        async with here.gateway(HERMES_FAILPOINTS=kill) as live:
            (approve, _) = here.buttons(question)
            pressed = asyncio.create_task(here.press(question, approve))
            await asyncio.wait_for(live.process.wait(), 20)

        async with here.gateway() as live:
            await asyncio.wait_for(pressed, 20)
            await here.until(lambda: any(text.startswith(f"#1 {PAID}") for text in here.texts()))
            await ends(here, "Approve")
            await live.settled()
        assert here.paid() == ["bob"]
        asked, approved, answer = here.texts()
        assert (asked[:9], approved, answer.split("\n")[0]) == (
            "May I run",
            "Approved.",
            f"#1 {PAID}",
        )


@everywhere
@pytest.mark.req("J9", "J18")
async def test_killed_before_it_knows_that_its_question_is_there_a_press_counts(
    tmp_path: Path, platform: str
) -> None:
    async with button_town(tmp_path, platform) as here:
        async with here.gateway(HERMES_FAILPOINTS="store.delivery_chunk_sent.before") as live:
            await here.say(PAY)
            question = await here.question()
            await asyncio.wait_for(live.process.wait(), 20)
        approve, _ = here.buttons(question)
        pressed = asyncio.create_task(here.press(question, approve))

        async with here.gateway(HERMES_OUTBOX__SETTLE_AFTER_S="3") as live:
            await asyncio.wait_for(pressed, 20)
            await here.until(lambda: f"#1 {PAID}" in here.texts())
            await here.until(lambda: here.labels(question) == [])
            await live.settled()
        assert here.paid() == ["bob"]
        # Whether it says that it may be a repeat depends on who was first, the press or the next process.
        assert 'May I run pay with {"to":"bob"}?' in here.now(question)
        assert here.now(question).endswith("\n\n→ Approve")
        assert {f"#1 {PAID}", "Approved."} < {*here.texts()}
        assert len(here.posts()) == 3


@everywhere
@pytest.mark.req("J9", "W9")
async def test_a_button_of_a_further_account_is_pressed_there(
    tmp_path: Path, platform: str
) -> None:
    async with button_town(tmp_path, platform, account="sales") as here, here.gateway():
        await here.say(PAY, chat=LAB)
        question = await here.question(chat=LAB)
        approve, _ = here.buttons(question, LAB)

        before = here.posts(LAB)
        await here.press(question, approve, user="root", chat=LAB)

        await here.told("Approved.", f"#1 [Ada] {PAID}", chat=LAB, after=before)
        await ends(here, "Approve", chat=LAB)
        assert here.paid() == ["bob"]
        assert here.desk.site.rejections == ()


@everywhere
async def test_the_model_is_chosen_with_a_button(tmp_path: Path, platform: str) -> None:
    async with button_town(tmp_path, platform) as here, here.gateway():
        await here.say("/model")
        listed = await here.question("/model NAME chooses one")
        chosen = here.buttons(listed)[-1]

        before = here.posts()
        await here.press(listed, chosen)

        now = f"From now on {chosen.label} answers here, until /new or /model auto."
        await here.told(now, after=before)
        await here.until(lambda: here.now(listed).endswith(f"\n\n→ {chosen.label}"))
        assert here.labels(listed) == []
        before = here.posts()
        await here.say("/model")
        await here.until(lambda: len(here.posts()) > len(before))
        assert f"{chosen.label} answers here." in here.texts()[-1]
        assert here.desk.site.rejections == ()


@everywhere
@pytest.mark.req("J12")
async def test_a_thumb_on_an_answer_is_feedback_until_it_is_taken_away(
    tmp_path: Path, platform: str
) -> None:
    async with button_town(tmp_path, platform) as here, here.gateway() as live:
        said = await here.say("hello")
        await here.told("#1 hello")
        (answer,) = here.posts()
        await live.settled()

        async def ratings() -> list[str]:
            told = json.loads(await here.hermes("why", said, "--json"))
            return [one["data"]["rating"] for one in told["lines"] if one["what"] == "feedback"]

        async def rated(*expected: str) -> None:
            async with asyncio.timeout(20):
                while await ratings() != list(expected):  # noqa: ASYNC110 - nobody is told
                    await asyncio.sleep(0.05)

        await here.react(answer, "👍")
        await rated("up")
        await here.react(answer, "👍", is_removed=True)
        await rated("up", "none")
        assert here.texts() == ["#1 hello"]
        assert here.desk.site.rejections == ()


@everywhere
async def test_reactions_show_how_far_a_message_is_and_a_notice_vanishes(
    tmp_path: Path, platform: str
) -> None:
    settings = {
        "HERMES_DISPLAY__REACTIONS": "true",
        "HERMES_DISPLAY__VANISH_S": "1",
        "HERMES_BUSY__DEFAULT": "queue",
        "HERMES_BUSY__NOTICE": "true",
        "HERMES_BUSY__MERGE_FOLLOW_UPS": "false",
    }
    async with button_town(tmp_path, platform) as here, here.gateway(**settings):
        first = await here.say("[[slow:3]] one")
        await here.until(lambda: here.marks(first) == ["working"])
        second = await here.say("two")
        await here.until(lambda: here.marks(second) == ["seen"])
        await here.until(lambda: len(here.posts()) == 1)
        (notice,) = here.posts()
        await here.until(lambda: "#2 two" in here.texts())
        await here.until(lambda: (here.marks(first), here.marks(second)) == (["done"], ["done"]))
        await here.until(lambda: notice.id not in {post.id for post in here.posts()})
        assert here.texts() == ["#1 [[slow:3]] one", "#2 two"]
        assert here.desk.site.rejections == ()


@everywhere
@pytest.mark.req("J18")
async def test_after_a_kill_a_message_shows_only_that_it_is_done(
    tmp_path: Path, platform: str
) -> None:
    settings = {"HERMES_DISPLAY__REACTIONS": "true"}
    async with button_town(tmp_path, platform) as here:
        async with here.gateway(**settings) as live:
            said = await here.say("[[slow:2]] one")
            await here.until(lambda: here.marks(said) == ["working"])
            await live.stop(signal.SIGKILL)
        async with here.gateway(**settings):
            await here.told("#1 [[slow:2]] one")
            await here.until(lambda: here.marks(said) == ["done"])
            assert here.desk.site.rejections == ()


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_a_slash_command_is_no_message_to_react_to(tmp_path: Path, platform: str) -> None:
    async with (
        button_town(tmp_path, platform) as here,
        here.gateway(HERMES_DISPLAY__REACTIONS="true"),
    ):
        await here.command("/queue by command")
        await here.told("#1 by command")
        said = await here.say("barrier")
        await here.until(lambda: here.marks(said) == ["done"])
        refused = [call for call in here.desk.site.log if "add" in call[0] and call[1] != "ok"]
        assert (refused, here.desk.site.rejections) == ([], ())
