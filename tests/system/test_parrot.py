"""A thousand people with a secret each, and a model that repeats all that it is given.

Whatever is put into a context comes out of it again, so a single crossing between people shows in a
reply. Beside the replies everything is read that the gateway shows to anybody or leaves behind.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from tests.system.live import (
    live_gateway,
    run_command,
)
from tests.system.parrot import Parrot, a_parrot
from tests.system.town import SECRET, Town, everybody

PEOPLE = 1_000
TOKEN, SIGNING = "pigeon-token-of-the-town", "pigeon-signing-of-the-town"
ASKED = "What do you know about me, and about my hiding place?"
# A quarter of the people have a secret that only recall finds, and a message is answered without what
# recall does not find in time. Here each secret has to be shown to its owner, however busy the machine is.
PATIENCE_S = 120
LINKED, ROOMS, GROUPS, KEYS, ERASED = 50, 100, 20, 50, 20


def settings_for(parrot: Parrot, pigeon: SamplePlatform) -> dict[str, object]:
    return {
        "providers": {
            "openai": {"base_url": f"{parrot.url}/v1", "api_key": "test", "model": "gpt-4o-mini"},
            "vllm": {"base_url": f"{parrot.url}/v1", "model": "near"},
        },
        "models": {"default": "openai:gpt-4o-mini"},
        "agents": {"main": {}, "again": {"cache": True}},
        "credits": {"policy": "wallet", "start_grant": 50},
        "memory": {
            "embedder": "vllm",
            "extract": True,
            "extract_pause_s": 0.3,
            "extract_after_s": 1.0,
            "recall_timeout_s": PATIENCE_S,
        },
        "turns": {"call_wait_s": PATIENCE_S},
        "logs": {"level": "debug"},
        "store": {"synchronous": "NORMAL"},
        "plugins": ["hermes.testing.push.plugin"],
        "platforms": {
            "pigeon": {
                "enabled": True,
                "extra": {
                    "base_url": pigeon.base_url, "token": TOKEN, "signing_secret": SIGNING
                },
            }
        },
        "access": {"platforms": {"pigeon": {"unknown": "allow"}}},
    }  # fmt: skip


@asynccontextmanager
async def a_town(folder: Path) -> AsyncIterator[Town]:
    settings = SampleSettings(token=TOKEN, signing_secret=SIGNING, chats=())
    pigeon = SamplePlatform(settings)
    await pigeon.start()
    home = folder / "home"
    home.mkdir(mode=0o700)
    try:
        async with a_parrot() as parrot:
            (home / "config.yaml").write_text(yaml.safe_dump(settings_for(parrot, pigeon)))
            (home / "config.yaml").chmod(0o600)
            async with (
                live_gateway(home) as live,
                aiohttp.ClientSession(live.url, headers=live.bearer) as http,
            ):
                pigeon.webhooks.url = f"{live.url}/webhooks/pigeon"
                town = Town(live, http, pigeon, people=PEOPLE)
                yield town
                assert parrot.seen["chat"] > 3 * PEOPLE
                assert parrot.seen["lessons"] > 0
                assert parrot.seen["embeddings"] > 0
    finally:
        await pigeon.stop()


async def tell_secrets(town: Town) -> None:
    """Half of them tell it and it is learnt; the other half's are set, plainly or by meaning."""
    await everybody(
        town.say(
            one,
            f"Hello, my hiding place is {one.secret}, remember it."
            if one.tells
            else "Hi, I am new.",
            what="told",
        )
        for one in town.people
    )
    await everybody(
        town.order(
            "memory",
            user=one.user,
            key="home_city" if one.number % 4 == 1 else "hiding_place",
            value=one.secret,
        )
        for one in town.people
        if not one.tells
    )


async def ask_everywhere(town: Town) -> None:
    """In the same session, in a new one, and of an agent whose answers are kept."""
    people = town.people
    await everybody(town.say(one, ASKED, what="same session") for one in people)
    await everybody(
        town.say(one, ASKED, what="new session", conversation=f"new-{one.number}") for one in people
    )
    for again in ("kept", "kept again"):
        await everybody(
            town.say(one, ASKED, what=again, agent="again", conversation=f"{again}-{one.number}")
            for one in people[: PEOPLE // 4]
        )


async def share_rooms(town: Town) -> None:
    """One talks alone in a room, with all that is known of them; then somebody else comes in."""
    pairs = [town.people[2 * n : 2 * n + 2] for n in range(ROOMS)]
    for person, what in ((1, "alone"), (0, "second"), (1, "shared"), (0, "shared")):
        await everybody(
            town.say(pair[person], ASKED, what=what, conversation=f"room-{number}", shared=True)
            for number, pair in enumerate(pairs)
        )


async def use_other_channels(town: Town) -> None:
    """Some link a channel; others have a namesake there, who is somebody else."""
    linked, strangers = town.people[:LINKED], town.people[LINKED : 2 * LINKED]
    await everybody(town.write(one, "Hi from here.", chat=one.name) for one in linked)
    await town.settled()
    await everybody(
        town.order("users/link", user=one.user, channel=f"pigeon:{one.name}") for one in linked
    )
    await everybody(town.write(one, ASKED, chat=one.name) for one in (*linked, *strangers))
    members = [town.people[n::GROUPS][:4] for n in range(GROUPS)]
    for turn in range(4):
        await everybody(
            town.write(group[turn], ASKED, chat=f"group-{number}", kind="group")
            for number, group in enumerate(members)
        )
        await town.settled()
    town.judge_posts({one.name: one for one in linked}, what="pigeon")


async def call_with_keys(town: Town) -> None:
    for one in town.people[:KEYS]:
        made = await town.order("keys", user=one.name)
        for model in ("auto", "agent:main", "agent:again"):
            for _ in range(2):
                await town.call(one, made["secret"], text=ASKED, model=model, what=model)


async def fail(town: Town) -> None:
    """The service throws the whole context back in its error, or what it was to learn from."""
    await everybody(
        town.say(one, f"[[{status}]] {ASKED}", what="failed", conversation=f"bad-{one.number}")
        for one in town.people[100:130]
        for status in (400, 503)
    )
    await everybody(
        town.say(
            one,
            f"[[spill]] My hiding place is {one.secret}.",
            what="spilt",
            conversation=f"spilt-{one.number}",
        )
        for one in town.people[130:140]
    )


async def erase(town: Town) -> None:
    """Whoever comes back after an erasure is somebody else, of whom nothing is known."""
    gone = town.people[-ERASED:]
    await everybody(town.order("users/erase", user=one.user) for one in gone)
    for one in gone:
        told = await town.say(one, ASKED, what="erased")
        assert not SECRET.search(str(told)), one.name


async def look_at_everything(town: Town) -> None:
    """All that an operator is shown; only what is one person's may hold that person's secret."""
    for name in ("status", "models", "costs", "credits?limit=10000", "credits/audit", "keys",
                 "users?limit=10000", "pair", "kill-switch", "mcp"):  # fmt: skip
        await town.read(f"/control/{name}", what=name)
    await town.read("/readyz", what="ready")
    some = list(town.said.items())[::17]
    await everybody(town.read(f"/control/why/{name}", what="why") for name, _ in some)
    await everybody(
        town.read(f"/control/why/{name}?text=true", what="why with words", owner=one)
        for name, one in some
    )
    await everybody(
        town.read(f"/control/memory?user={one.user}", what="memory", owner=one)
        for one in town.people[:-ERASED]
    )
    await everybody(
        town.read(f"/control/credits/wallet?user={one.user}", what="wallet")
        for one in town.people[::10]
    )


async def run_commands(town: Town) -> None:
    one = town.people[3]
    commands = {
        "export": ("memory", "export", one.user),
        "status": ("status",),
        "config": ("config", "show"),
        "graphs": ("graph", "list"),
    }

    async def run(what: str, arguments: tuple[str, ...]) -> None:
        done = await run_command(town.live.home, *arguments, is_merged=True)
        assert done.returncode == 0, done.stdout
        town.judge(done.stdout, owner=one if what == "export" else None, what=what)

    await asyncio.gather(*(run(*item) for item in commands.items()))


def read_what_is_left(town: Town) -> None:
    """Logs and files of the home: nobody's secret is there to be read."""
    town.judge(town.live.said(), owner=None, what="log")
    for path in town.live.home.rglob("*"):
        if path.is_file():
            town.judge(path.read_bytes().decode("latin-1"), owner=None, what=path.name)


@pytest.mark.req("A9", "A10", "A12", "A13", "A14", "A30", "W30", "J24")
@pytest.mark.timeout(900)
async def test_nobody_is_ever_shown_the_secret_of_another(tmp_path: Path) -> None:
    async with a_town(tmp_path) as town:
        await tell_secrets(town)
        await ask_everywhere(town)
        await share_rooms(town)
        await use_other_channels(town)
        await call_with_keys(town)
        await fail(town)
        await erase(town)
        await town.settled()
        await town.learnt(one for one in town.people[:-ERASED] if one.tells)
        await look_at_everything(town)
        await run_commands(town)
        read_what_is_left(town)

        assert town.crossed == []
        # The parrot did repeat what was each one's own, or nothing was shown by this.
        shown = town.shown
        assert shown["same session"] == shown["new session"] == PEOPLE, (shown, town.outcomes)
        assert shown["export"] == 1, shown
        assert shown["memory"] == PEOPLE - ERASED, shown
