"""Two people in one conversation: whatever one of them sends, tools act for the person of their own turn.

Every way in which a message can reach a lane that works for somebody else, and every tool that goes
by person. A tool that is added and looks at its `ToolContext` has to be added here.
"""

import asyncio
import inspect
import json
import pkgutil
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from hermes.message.outcome import BusyPolicy
from hermes.tools import builtin
from tests.contract.journal.rig import Claim, Rig, RunTool, open_rig
from tests.contract.journal.test_photo_bursts import photo

PEOPLE = ("ann", "bob")
LANE = "agent:main:push:thread:room:7"


async def say(rig: Rig, text: str, *, user: str, platform: str = "push", **more) -> str:
    return await rig.say(
        text, platform=platform, chat="room", user=user, chat_type="group", thread="7", **more
    )


async def person(rig: Rig, user: str, platform: str = "push") -> str:
    found = await rig.store.people.find(platform, user)
    assert found is not None
    return found.id


async def steps(rig: Rig, message_id: str, kind: str) -> list[str]:
    return [step.name for step in (await rig.timeline(message_id)).steps if step.kind == kind]


def asked(rig: Rig) -> list[str]:
    """Return what the last message of each model call was."""
    return [call.request.messages[-1].text for call in rig.model.calls]


# Tools: what the model calls each with, and for whom it then has done something.


class Case(msgspec.Struct, frozen=True):
    arguments: dict[str, str]
    done_for: Callable[[Rig], Awaitable[set[str]]]
    # Where the tool has another name than its module.
    tool: str = ""


async def remembered(rig: Rig) -> set[str]:
    return {user for user in PEOPLE if await rig.store.facts.of(await person(rig, user))}


async def scheduled(rig: Rig) -> set[str]:
    return {
        user for user in PEOPLE if await rig.core.cron.schedules.of_person(await person(rig, user))
    }


async def sent_to(rig: Rig) -> set[str]:
    return {user for user in PEOPLE if "psst" in rig.push.texts(user)}


def worked_for(tool: str) -> Callable[[Rig], Awaitable[set[str]]]:
    """Return whose turns used a tool, for one that leaves nothing else behind."""

    async def users(rig: Rig) -> set[str]:
        turns = await rig.store.interactions.page(before=None, limit=100)
        owners = {turn.person_id for turn in turns if tool in turn.tools}
        return {user for user in PEOPLE if await person(rig, user) in owners}

    return users


CASES = {
    "memory": Case({"action": "remember", "key": "diet", "value": "stones"}, remembered),
    "schedule": Case({"action": "add", "when": "every day at 9 UTC", "text": "hi"}, scheduled),
    "send_message": Case({"target": "push", "text": "psst"}, sent_to),
    "session_search": Case({"words": "hello"}, worked_for("session_search")),
    "delegate": Case({"task": "count to three"}, worked_for("delegate")),
    "team": Case({"task_id": "m_nobodys"}, worked_for("task_status"), tool="task_status"),
    # What a plugin's tool is given, like any other.
    "plugged": Case({}, worked_for("plugged")),
}


def test_every_tool_that_goes_by_person_is_tried_here() -> None:
    names = [f"{builtin.__name__}.{one.name}" for one in pkgutil.iter_modules(builtin.__path__)]
    modules = [import_module(name) for name in names]
    looking = {one.__name__ for one in modules if "context." in inspect.getsource(one)}

    assert {name.rpartition(".")[2] for name in looking} == set(CASES) - {"plugged"}


# Ways: what bob does while a turn of ann runs a tool; returns his messages.

Way = Callable[[Rig, str], Awaitable[list[str]]]


async def plainly(rig: Rig, text: str) -> list[str]:
    return [await say(rig, text, user="bob")]


async def in_two_messages(rig: Rig, text: str) -> list[str]:
    return [await say(rig, part, user="bob") for part in ("please", text)]


async def by_steer(rig: Rig, text: str) -> list[str]:
    return [await say(rig, f"/steer {text}", user="bob")]


async def by_queue(rig: Rig, text: str) -> list[str]:
    return [await say(rig, f"/queue {text}", user="bob")]


async def in_an_album(rig: Rig, text: str) -> list[str]:
    sent = [("a", text), ("b", "")]
    return [
        await say(rig, words, user="bob", attached=(photo(name),), album="bobs")
        for name, words in sent
    ]


async def in_the_background(rig: Rig, text: str) -> list[str]:
    return [await say(rig, f"/background {text}", user="bob")]


WAYS: dict[str, Way] = {
    "a message": plainly,
    "follow-ups": in_two_messages,
    "/steer": by_steer,
    "/queue": by_queue,
    "photos": in_an_album,
    "/background": in_the_background,
}


WANTED = " ".join(
    f"[[tool:{case.tool or name} {json.dumps(case.arguments)}]]" for name, case in CASES.items()
)


async def done_for(rig: Rig) -> dict[str, set[str]]:
    return {name: await case.done_for(rig) for name, case in CASES.items()}


def is_done_for_somebody(rig: Rig) -> Claim:
    """Claim that every tool has worked for at least one person."""

    async def claim() -> bool:
        return all((await done_for(rig)).values())

    return claim


@pytest.mark.req("W16", "J13", "A14")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", [one.value for one in BusyPolicy])
async def test_every_tool_acts_for_the_person_of_its_own_turn(
    tmp_path: Path, policy: str, way: str
) -> None:
    release = asyncio.Event()
    look = RunTool("look", lambda _: release.wait())
    settings = {
        "BUSY__PLATFORMS__PUSH": policy,
        "BUSY__PHOTO_BURST_S": "0.01",
        "AGENTS__MAIN__DELEGATES": '["helper"]',
        "AGENTS__HELPER__NAME": "Helper",
    }
    tools = (look, RunTool("plugged"))
    async with open_rig(
        tmp_path, tools=tools, own_tools=True, search=True, settings=settings
    ) as rig:
        for user in PEOPLE:
            await rig.answer("hello", chat=user, platform="push")
        host = await say(rig, "please [[tool:look]]", user="ann")
        await rig.until(lambda: look.runs == 1)

        sent = await WAYS[way](rig, f"please {WANTED}")
        release.set()
        outcomes = [await rig.outcome(one) for one in (host, *sent)]
        await rig.until(lambda: rig.store.inbox.waiting() == 0)

        await rig.until(is_done_for_somebody(rig))
        assert await done_for(rig) == {name: {"bob"} for name in CASES}
        assert await steps(rig, host, "tool") == ["look"]
        assert set(outcomes[1:]) <= {"answered", "merged"}
