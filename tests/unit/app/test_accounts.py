"""Two bots of one platform in one gateway: made apart, refused with one credential, told apart by their events."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from hermes.agents.roster import Roster
from hermes.app.connect import Connections
from hermes.app.credential_locks import make_rights
from hermes.app.platforms import find_platform, make_push_channels
from hermes.app.unusable import UnusableChannel
from hermes.config import Settings, load
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.net.client import HttpClient, HttpSettings
from hermes.outbox.traffic import Traffic
from hermes.plugins.manifest import Auth, Manifest, ManifestSetting, Quality
from hermes.plugins.registry import Platform, Registry
from hermes.ports.channel import Acceptance, Capabilities, Channel
from hermes.ports.channel_setup import ChannelSetup
from hermes.skills.bindings import SkillBindings
from hermes.testing.channel_state import MemoryChannelState
from hermes.testing.manual_time import ManualClock, ManualTime, settle
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.outbox_store import MemoryOutboxStore
from hermes.testing.setup_channel import MemoryFiles

TWO = """\
agents: {seller: {}, desk: {}}
platforms:
  line:
    enabled: true
    extra: {host: a, password: one, address: "1"}
    accounts:
      sales: {agent: seller, extra: {host: a, password: two}}
agent_rules:
  all: {platform: line, agent: desk}
  chat: {platform: line, chat: "66", agent: main}
"""


class Tail(MemoryChannel):
    """A channel whose adapter knows only the name of its platform."""

    async def hear(self) -> None:
        source = Source(platform="line", chat_id="c1", user_id="u1")
        event = MessageEvent(
            account="default",
            route="r",
            external_id="e1",
            source=source,
            parts=(TextPart("hi"),),
            at=1.0,
        )
        assert self._accept is not None
        await self._accept(event)


def registry_of(lock: str = "host password", *, name: str = "", ids_of: str = "") -> Registry:
    settings = {
        "host": ManifestSetting(help=""),
        "address": ManifestSetting(help=""),
        "password": ManifestSetting(help="", type="secret"),
    }
    manifest = Manifest(
        name="line",
        label="Line",
        capabilities=Capabilities(delivery="push"),
        settings=settings,
        auth=Auth(scheme="none", lock=lock, ids_of=ids_of),
        quality=Quality(verified=()),
    )

    def make(setup: ChannelSetup) -> Channel:
        assert setup.account == (setup.name.partition("/")[2] or "default")
        return Tail(setup.capabilities, name=name or setup.name)

    registry = Registry()
    registry.platforms["line"] = Platform(manifest, make, "line")
    return registry


def settings_of(home: Path, yaml: str) -> Settings:
    (home / "config.yaml").write_text(yaml)
    return load({}, home).settings


async def made(home: Path, yaml: str, registry: Registry) -> Mapping[str, Channel]:
    clock = ManualClock()
    return await make_push_channels(
        settings_of(home, yaml),
        registry,
        client=HttpClient(HttpSettings()),
        home=home,
        clock=clock,
        media_cache=MemoryFiles(),
        outbox=MemoryOutboxStore(clock),
        states=MemoryChannelState(),
    )


def problems(channels: Mapping[str, Channel]) -> dict[str, str]:
    return {name: one.problem for name, one in channels.items() if isinstance(one, UnusableChannel)}


@pytest.mark.req("W33")
async def test_one_credential_makes_one_bot_and_the_other_says_whose_it_is(tmp_path: Path) -> None:
    channels = await made(tmp_path, TWO.replace("two", "one"), registry_of())

    assert problems(channels) == {
        "line/sales": "platforms.line.accounts.sales.password: it is the same credential as that of "
        "line (platforms.line.password), and each bot needs its own. Set another one, or set "
        "platforms.line.accounts.sales.enabled to false"
    }


@pytest.mark.req("W33")
async def test_one_password_on_two_servers_is_two_credentials_with_a_lock_each(
    tmp_path: Path,
) -> None:
    yaml = TWO.replace("{host: a, password: two}", "{host: b, password: one}")

    channels = await made(tmp_path, yaml, registry_of())
    locks = make_rights(
        settings_of(tmp_path, f"process: {{lock_dir: {tmp_path}/l}}\n{yaml}"),
        registry_of(),
        home=tmp_path,
        clock=ManualClock(),
    )
    for one in locks.values():
        one.take()

    assert (problems(channels), sorted(locks)) == ({}, ["line", "line/sales"])
    assert len(list((tmp_path / "l").iterdir())) == 2
    for one in locks.values():
        one.release()


@pytest.mark.req("A3")
async def test_names_of_another_server_are_other_people_so_that_account_does_not_start(
    tmp_path: Path,
) -> None:
    yaml = TWO.replace("{host: a, password: two}", "{host: b, password: two}")

    channels = await made(tmp_path, yaml, registry_of(ids_of="host"))
    same = await made(tmp_path, TWO, registry_of(ids_of="host"))

    assert problems(same) == {}
    assert problems(channels) == {
        "line/sales": "platforms.line.accounts.sales.host: expected that of line, since somebody's name "
        "on another one may be somebody else's. Run this bot in a gateway of its own, or set "
        "platforms.line.accounts.sales.enabled to false"
    }


async def test_a_wrong_setting_is_named_where_it_is(tmp_path: Path) -> None:
    channels = await made(tmp_path, TWO.replace("password: two", "word: two"), registry_of(lock=""))

    assert problems(channels) == {
        "line/sales": "platforms.line.accounts.sales.word: there is no such setting; known: address, "
        "host, password"
    }


async def test_a_channel_that_takes_no_name_cannot_be_two(tmp_path: Path) -> None:
    channels = await made(tmp_path, TWO, registry_of(name="line"))

    assert list(problems(channels)) == ["line/sales"]
    assert (
        "the channel's name is 'line', not the name of its setup"
        in problems(channels)["line/sales"]
    )


async def test_a_webhook_account_hides_no_route_of_the_same_name(tmp_path: Path) -> None:
    route = "{secret: 0123456789abcdef0123456789abcdef}"
    yaml = f"""\
platforms:
  webhook:
    enabled: true
    extra: {{routes: {{ci: {route}}}}}
    accounts: {{ci: {{extra: {{routes: {{build: {route}}}}}}}, other: {{extra: {{routes: {{ci: {route}}}}}}}}}
"""
    channels = await made(tmp_path, yaml, Registry())

    assert list(problems(channels)) == ["webhook/ci"]
    assert (
        "platforms.webhook.routes has an entry of the same name" in problems(channels)["webhook/ci"]
    )


@pytest.mark.req("W22")
async def test_what_a_bot_hears_carries_its_name_whatever_the_adapter_wrote(tmp_path: Path) -> None:
    channels = await made(tmp_path, TWO, registry_of())
    time, heard = ManualTime(), list[tuple[str, str, tuple[str, str]]]()

    async def accept(event: MessageEvent) -> Acceptance:
        heard.append((event.source.platform, event.account, event.source.sender))
        return Acceptance(message_id=event.external_id)

    connections = Connections(
        channels,
        accept=accept,
        on_connected=lambda _channel: None,
        on_lost=lambda _name: None,
        on_change=lambda _states: None,
        traffic=Traffic(time),
        clock=time,
        sleep=time.sleep,
    )
    connections.start()
    await settle()
    for one in channels.values():
        assert isinstance(one, Tail)
        await one.hear()
    await connections.stop()

    assert heard == [
        ("line", "default", ("line", "u1")),
        ("line/sales", "sales", ("line", "u1")),
    ]


@pytest.mark.req("A3")
def test_a_bots_own_agent_comes_before_a_rule_of_the_platform_and_after_one_of_a_chat(
    tmp_path: Path,
) -> None:
    settings = settings_of(tmp_path, TWO)
    roster = Roster(
        settings.agents,
        default=settings.default_agent,
        rules=settings.agent_rules,
        channels=settings.channels,
    )
    own = Source(platform="line", chat_id="1", user_id="2")
    sales = msgspec.structs.replace(own, platform="line/sales")

    found = [
        roster.for_source(one).key
        for one in (own, sales, msgspec.structs.replace(sales, chat_id="66"))
    ]
    rule = roster.rule_for(sales)

    assert found == ["desk", "seller", "main"]
    assert rule is not None
    assert rule.place == "platforms.line.accounts.sales"


def test_the_platform_of_an_account_is_found_by_its_name() -> None:
    assert find_platform("webhook/ci", Registry()) is not None
    assert find_platform("nothing/ci", Registry()) is None


@pytest.mark.req("W11", "A3")
def test_a_chat_has_an_agent_and_skills_of_its_own_with_the_bot_that_they_are_set_for(
    tmp_path: Path,
) -> None:
    settings = settings_of(
        tmp_path,
        """\
agents: {guide: {}, desk: {}}
platforms:
  line:
    enabled: true
    agent: desk
    chats: {-100: {agent: guide, skills: [tides]}}
    accounts: {sales: {}}
""",
    )
    roster = Roster(settings.agents, default="main", channels=settings.channels)
    skills = SkillBindings(settings.skills.bindings, settings.channels)
    own = Source(platform="line", chat_id="-100", user_id="2", chat_type="group")
    places = (
        own,
        msgspec.structs.replace(own, chat_id="t", parent_chat_id="-100", thread_id="t"),
        msgspec.structs.replace(own, chat_id="7"),
        msgspec.structs.replace(own, platform="line/sales"),
    )

    found = [
        (
            roster.for_source(one).key,
            *skills.named((), one, person_id="p_1", is_private=False)[0],
        )
        for one in places
    ]

    assert found == [("guide", "tides"), ("guide", "tides"), ("desk",), ("main",)]
