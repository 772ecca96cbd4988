"""W22: settings say whether the people of a group or thread have one session together or one each."""

import asyncio
from pathlib import Path

import pytest

from hermes.message.source import ChatType
from hermes.ports.tool import ToolContext
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, RunTool, open_rig

SHARED = {"SESSIONS__GROUPS": "shared"}
THREADS = {"SESSIONS__THREADS": "per_user"}
NEVER = {"SESSIONS__RESET__MODE": "none"}


async def ask(
    rig: Rig,
    text: str,
    *,
    user: str,
    chat: str = "room",
    chat_type: ChatType = "group",
    thread: str | None = None,
    platform: str = "push",
) -> str:
    """Let somebody speak to the bot and wait for the end; return the session's lane."""
    sent = await rig.say(
        text,
        platform=platform,
        chat=chat,
        chat_type=chat_type,
        thread=thread,
        user=user,
        user_name=user.capitalize(),
    )
    assert await rig.outcome(sent) == "answered"
    message = (await rig.timeline(sent)).message
    assert message is not None
    return message.lane


def said(rig: Rig) -> list[str]:
    """Return the people's words that the last model call was given."""
    messages = rig.model.calls[-1].request.messages
    return [one.text.partition("\n\n")[0] for one in messages if one.role == "user"]


def prompt(rig: Rig) -> str:
    """Return all that the last model call was given."""
    return str(rig.model.calls[-1].request)


@pytest.mark.req("W22", "J24")
@pytest.mark.parametrize(
    ("settings", "thread", "lanes", "given"),
    [
        ({}, None, ("group:room:ann", "group:room:bob"), ["[Bob] two"]),
        (SHARED, None, ("group:room", "group:room"), ["[Ann] one", "[Bob] two"]),
        ({}, "7", ("thread:room:7", "thread:room:7"), ["[Ann] one", "[Bob] two"]),
        (THREADS, "7", ("thread:room:7:ann", "thread:room:7:bob"), ["[Bob] two"]),
    ],
)
async def test_two_people_share_what_the_settings_say_also_after_a_restart(
    tmp_path: Path,
    settings: dict[str, str],
    thread: str | None,
    lanes: tuple[str, str],
    given: list[str],
) -> None:
    clock, rules = ManualClock(), {**NEVER, **settings}
    async with open_rig(tmp_path, clock=clock, settings=rules) as rig:
        found = [await ask(rig, "one", user="ann", thread=thread)]
    async with open_rig(tmp_path, clock=clock, settings=rules) as rig:
        found.append(await ask(rig, "two", user="bob", thread=thread))

        assert found == [f"agent:main:push:{lane}" for lane in lanes]
        assert said(rig) == given


@pytest.mark.req("W22")
@pytest.mark.parametrize(
    ("settings", "chat_type", "thread", "lane"),
    [
        ({"GROUP_PLATFORMS__PUSH": "shared"}, "group", None, "group:room"),
        ({"GROUP_PLATFORMS__OTHER": "shared"}, "group", None, "group:room:ann"),
        ({"GROUP_CHAT_TYPES__CHANNEL": "shared"}, "channel", None, "channel:room"),
        ({"GROUP_CHAT_TYPES__CHANNEL": "shared"}, "group", None, "group:room:ann"),
        ({"THREAD_PLATFORMS__PUSH": "per_user"}, "group", "7", "thread:room:7:ann"),
        ({"THREAD_CHAT_TYPES__CHANNEL": "per_user"}, "channel", "7", "thread:room:7:ann"),
        ({"GROUPS": "shared"}, "dm", None, "dm:room"),
    ],
)
async def test_platforms_and_chat_types_have_rules_of_their_own(
    tmp_path: Path,
    settings: dict[str, str],
    chat_type: ChatType,
    thread: str | None,
    lane: str,
) -> None:
    rules = {f"SESSIONS__{key}": value for key, value in settings.items()}
    async with open_rig(tmp_path, settings=rules) as rig:
        found = await ask(rig, "hi", user="ann", chat_type=chat_type, thread=thread)

        assert found == f"agent:main:push:{lane}"


@pytest.mark.req("W22")
async def test_a_chat_has_a_rule_of_its_own(tmp_path: Path) -> None:
    rules = {
        "PLATFORMS__PUSH__CHATS__ROOM__GROUPS": "shared",
        "PLATFORMS__PUSH__CHATS__ROOM__THREADS": "per_user",
    }
    async with open_rig(tmp_path, settings=rules) as rig:
        found = [
            await ask(rig, "hi", user="ann"),
            await ask(rig, "hi", user="ann", thread="7"),
            await ask(rig, "hi", user="ann", chat="hall"),
        ]

        lanes = ("group:room", "thread:room:7:ann", "group:hall:ann")
        assert found == [f"agent:main:push:{lane}" for lane in lanes]


@pytest.mark.req("W22")
async def test_another_setting_begins_anew_and_loses_nothing(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, settings=NEVER) as rig:
        await ask(rig, "apart", user="ann")
    async with open_rig(tmp_path, clock=clock, settings={**NEVER, **SHARED}) as rig:
        await ask(rig, "together", user="ann")
        assert said(rig) == ["[Ann] together"]
        listed = await rig.store.open_sessions.page(platform="", limit=10)
        assert {one.key for one in listed} == {
            "agent:main:push:group:room:ann",
            "agent:main:push:group:room",
        }
    async with open_rig(tmp_path, clock=clock, settings=NEVER) as rig:
        await ask(rig, "apart again", user="ann")
        assert said(rig) == ["[Ann] apart", "[Ann] apart again"]


@pytest.mark.req("W22", "A10")
@pytest.mark.parametrize(("settings", "thread"), [(SHARED, None), (THREADS, "7")])
async def test_nobody_sees_what_is_known_of_a_person(
    tmp_path: Path, settings: dict[str, str], thread: str | None
) -> None:
    async with open_rig(tmp_path, settings=settings) as rig:
        await rig.answer("hello", platform="push", chat="ann")
        ann = await rig.store.people.find("push", "ann")
        assert ann is not None
        await rig.core.memory.facts.set(ann.id, "diet", value="Ann eats stones", source="operator")
        await rig.answer("hi", platform="push", chat="own", user="ann")
        assert "Ann eats stones" in prompt(rig)
        for user in ("ann", "bob", "ann"):
            await ask(rig, "hi", user=user, thread=thread)
            assert "Ann eats stones" not in prompt(rig)


@pytest.mark.req("W22")
async def test_tools_act_for_whoever_wrote(tmp_path: Path) -> None:
    release, done_for = asyncio.Event(), []

    async def look(context: ToolContext) -> None:
        done_for.append(context.person_id)
        await release.wait()

    rules = {**SHARED, "BUSY__PLATFORMS__PUSH": "steer"}
    tool = RunTool("look", look)
    async with open_rig(tmp_path, tools=(tool,), settings=rules) as rig:

        async def say(user: str) -> str:
            return await rig.say(
                "[[tool:look]]", platform="push", chat="room", chat_type="group", user=user
            )

        anns = await say("ann")
        await rig.until(lambda: tool.runs == 1)
        bobs = await say("bob")
        release.set()

        assert [await rig.outcome(one) for one in (anns, bobs)] == ["answered", "answered"]
        people = [await rig.store.people.find("push", user) for user in ("ann", "bob")]
        assert done_for == [person.id for person in people if person is not None]


@pytest.mark.req("W22", "W26")
@pytest.mark.parametrize(
    ("settings", "thread", "told"),
    [
        ({}, None, "- with: Ann (id ann)"),
        (SHARED, None, "- with: everybody who writes in it"),
        ({}, "7", "- with: everybody who writes in it"),
        (THREADS, "7", "- with: Ann (id ann)"),
    ],
)
async def test_the_model_is_told_with_whom_it_speaks(
    tmp_path: Path, settings: dict[str, str], thread: str | None, told: str
) -> None:
    async with open_rig(tmp_path, settings=settings) as rig:
        await ask(rig, "hi", user="ann", thread=thread)

        assert [line for line in prompt(rig).split("\\n") if line.startswith("- with:")] == [told]


@pytest.mark.req("W22", "W27")
async def test_whoever_wrote_in_a_shared_group_may_ask_to_send_there(tmp_path: Path) -> None:
    rules = {**SHARED, "APPROVALS__ADMINS": '["push:root"]'}
    async with open_rig(tmp_path, settings=rules, courier=True) as rig:
        for user in ("ann", "bob"):
            await ask(rig, "hi", user=user)
        await ask(rig, "hi", user="cid", chat="hall")

        reaches = []
        for user in ("ann", "bob", "cid"):
            person = await rig.store.people.find("push", user)
            assert person is not None
            place = await rig.core.courier.find("push:room", message_id="", person_id=person.id)
            reaches.append((place.reach, place.sessions))

        lanes = ("agent:main:push:group:room",)
        assert reaches == [("asks", lanes), ("asks", lanes), ("admins", lanes)]
