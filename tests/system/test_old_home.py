"""A home that an earlier version made: the code as it is now migrates it, and nothing in it is lost."""

import copy
import json
import tarfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from tests.homes.make import FOLDER, Story, books
from tests.stores.old_seals import KEY_BYTES, OldSeals
from tests.stores.opening import tables
from tests.system.live import live_gateway, model_server, with_model
from tests.system.moved_clock import LIBRARY
from tests.system.pigeon_chat import pigeon_settings
from tests.system.test_clock import until
from tests.system.test_operator_commands import hermes

NAMES = sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))
ON_RECORD = ("users", "credits", "letters", "memory", "keys", "cron", "found", "audit")

pytestmark = pytest.mark.skipif(
    LIBRARY is None, reason="faketime is not installed here; tools/install_test_parts.sh brings it"
)


class OldHome(Story):
    """A gateway of today on a home of then, an hour after it was made."""

    held: dict[str, Any]
    pigeon: SamplePlatform


@pytest.fixture(params=NAMES)
async def old(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OldHome]:
    held = json.loads((FOLDER / f"{request.param}.json").read_text())
    home = tmp_path / "home"
    with tarfile.open(FOLDER / f"{request.param}.tar.xz") as archive:
        archive.extractall(home, filter="data")
    # Much of what it holds is kept for days only.
    start = datetime.fromtimestamp(held["made_at"] + 3600, UTC).strftime("@%Y-%m-%d %H:%M:%S")
    faked = {"LD_PRELOAD": str(LIBRARY), "FAKETIME": start, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    zones = {"TZ": "UTC", "HERMES_TIME_ZONE": "UTC", "HERMES_CREDITS__POLICY": "wallet"}
    async with AsyncExitStack() as stack:
        pigeon = SamplePlatform(SampleSettings(token="t", signing_secret="s", chats=("p1", "gone")))
        await pigeon.start()
        stack.push_async_callback(pigeon.stop)
        url = await stack.enter_async_context(model_server())
        variables = {**with_model(url), **pigeon_settings(pigeon), **faked, **zones}
        live = await stack.enter_async_context(live_gateway(home, variables))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        story = OldHome(live, http)
        story.held, story.pigeon = held, pigeon
        yield story


def holds(found: Any, kept: Any) -> bool:
    """Tell whether all that was kept is found; there may be more fields by now."""
    if isinstance(kept, dict):
        return all(name in found and holds(found[name], value) for name, value in kept.items())
    if isinstance(kept, list):
        return len(found) == len(kept) and all(map(holds, found, kept))
    return bool(found == kept)


# Any: what an operator saw, as JSON.
def joined(held: dict[str, Any]) -> dict[str, Any]:
    """Return what is to be seen once the two people of the owner are one."""
    after = copy.deepcopy(held)
    (web,) = [one for one in after["users"] if names_of(one) == ["web:owner"]]
    (cli,) = [one for one in after["users"] if names_of(one) == ["rest:cli"]]
    (channel,) = cli.pop("channels")
    moved = {**channel, "person_id": web["id"], "was_person": cli["id"], "activated_how": "linked"}
    web["channels"] = [moved, *web["channels"]]
    web["state"] = "owner"
    for wallet in after["credits"]:
        if wallet["person_id"] == cli["id"]:
            wallet["users"] = []
        if wallet["person_id"] == web["id"]:
            wallet["users"] = ["rest:cli", "web:owner"]
    return after


def names_of(user: dict[str, Any]) -> list[str]:
    return [f"{one['platform']}:{one['user_id']}" for one in user.get("channels", ())]


async def test_what_an_operator_sees_is_what_it_was_and_the_owner_is_one_person(
    old: OldHome,
) -> None:
    found, held = await books(old), joined(old.held)

    lost = {part: found[part] for part in ON_RECORD if not holds(found[part], held[part])}
    assert lost == {}
    assert len(found["sessions"]) == len(old.held["sessions"])
    assert {token["id"] for token in old.held["tokens"]} <= {one["id"] for one in found["tokens"]}


async def test_the_words_on_the_page_are_all_there(old: OldHome) -> None:
    found = (await books(old))["web"]

    assert set(found) == set(old.held["web"])
    assert [name for name, kept in old.held["web"].items() if said(kept) - said(found[name])] == []


def said(conversation: dict[str, Any]) -> set[tuple[str, str]]:
    """Return what was written in a conversation and what Hermes replied."""
    return {(message["text"], message["turn"]["reply"]) for message in conversation["messages"]}


async def test_conversations_go_on_where_they_were_left(old: OldHome) -> None:
    answers = [
        await old.say("ann", "More."),
        await old.say("ann", "More.", conversation="kitchen"),
        await old.say("bob", "More."),
        await old.say("cli", "More.", conversation="cli"),
    ]

    # The model counts the messages of the person that it sees.
    counts = [str(answer["reply"]).split()[0] for answer in answers]
    # The terminal became the owner's, and begins a conversation with it.
    assert counts == ["#3", "#2", "#2", "#1"]


async def test_a_dead_letter_is_sent_whole_once_it_can_be(old: OldHome) -> None:
    (letter,) = old.held["letters"]

    await old.order("deadletters/replay", id=letter["id"])

    await until(lambda: [post.text for post in old.pigeon.state.posted] == ["#1 Lost."])


async def test_the_graph_is_whole_and_the_books_balance(old: OldHome) -> None:
    await old.say("ann", "More.")
    audit = await old.get("/control/credits/audit")
    await old.live.stop()

    verified = json.loads(await hermes(old.live.home, "graph", "verify", "--json"))

    assert (audit["wrong"], audit["differences"]) == (0, [])
    # A conversation of somebody who was erased has no name of theirs any more.
    kept = [one["where"] for one in verified["erased"]]
    assert (verified["damage"], kept) == (
        [],
        [one["where"] for one in old.held["verified"]["erased"]],
    )
    assert verified["calls"] == old.held["verified"]["calls"] + 1


async def test_a_rotation_of_the_key_binds_what_the_older_version_sealed(old: OldHome) -> None:
    before = await books(old)
    await old.order("keys/rotate-store")

    after = await books(old)
    await old.live.stop()
    verified = json.loads(await hermes(old.live.home, "graph", "verify", "--json"))

    changing = {"audit", "tokens", "made_at"}
    lost = [
        part for part in before if part not in changing and not holds(after[part], before[part])
    ]
    assert lost == []
    assert (verified["damage"], verified["calls"]) == ([], old.held["verified"]["calls"])
    with tables(old.live.home) as db:
        seals = OldSeals(db, (old.live.home / "keys" / "store.keys").read_bytes())
        people = [row[0] for row in db.rows("SELECT person_id FROM person_keys")]
        assert {len(seals.key_of(one)) for one in people} == {KEY_BYTES + 1}
