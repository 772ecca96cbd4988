"""A channel that cannot be made: its platform is told as failed, and the others are there."""

import importlib
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hermes.app.connect import Connections
from hermes.app.platforms import make_push_channels
from hermes.app.unusable import UnusableChannel
from hermes.config import load
from hermes.errors import ConfigurationError
from hermes.message.event import MessageEvent
from hermes.net.client import HttpClient, HttpSettings
from hermes.ops.alert_rules import told_by
from hermes.outbox.traffic import Traffic
from hermes.plugins.faults import fault_text
from hermes.plugins.manifest import Auth, Manifest, Quality
from hermes.plugins.registry import Platform, Registry
from hermes.ports.channel import Acceptance, Capabilities, Channel, PushChannel, WebhookChannel
from hermes.ports.channel_setup import ChannelSetup
from hermes.testing.channel_state import MemoryChannelState
from hermes.testing.manual_time import ManualClock, ManualTime, settle
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.outbox_store import MemoryOutboxStore
from hermes.testing.setup_channel import MemoryFiles

CAN = Capabilities(delivery="push", max_chars=123)
TANGLED = "from hermes.ports.channel import nothing_of_that_name\n"
ROUTE = "HERMES_PLATFORMS__WEBHOOK__EXTRA__ROUTES__CI__SECRET"


def fails(_setup: ChannelSetup) -> Channel:
    raise KeyError("nothing")


# Any: what a plugin written without types may return.
def forgets(_setup: ChannelSetup):
    return None


def platform(name: str, make) -> Platform:
    manifest = Manifest(
        name=name,
        label=name,
        capabilities=CAN,
        auth=Auth(scheme="none"),
        quality=Quality(verified=()),
    )
    return Platform(manifest, make, name)


async def accept(event: MessageEvent) -> Acceptance:
    raise AssertionError(f"nothing is heard here: {event}")


async def made(home: Path, **environ: str) -> dict[str, Channel]:
    registry = Registry()
    for name, make in (
        ("good", lambda setup: MemoryChannel(setup.capabilities, name="good")),
        ("faulty", fails),
        ("empty", forgets),
    ):
        registry.platforms[name] = platform(name, make)
    on = {
        f"HERMES_PLATFORMS__{name.upper()}__ENABLED": "true"
        for name in ("good", "faulty", "empty", "telegram", "slack", "webhook", "nowhere")
    }
    clock = ManualClock()
    return dict(
        await make_push_channels(
            load({**on, **environ}, home).settings,
            registry,
            client=HttpClient(HttpSettings()),
            home=home,
            clock=clock,
            media_cache=MemoryFiles(),
            outbox=MemoryOutboxStore(clock),
            states=MemoryChannelState(),
        )
    )


@pytest.mark.req("W2", "W12")
async def test_what_cannot_be_made_says_why_and_holds_up_no_other(tmp_path: Path) -> None:
    channels = await made(tmp_path, **{ROUTE: "short"})

    said = {name: one.problem for name, one in channels.items() if isinstance(one, UnusableChannel)}
    assert sorted(said) == ["empty", "faulty", "nowhere", "slack", "telegram", "webhook"]
    assert isinstance(channels["good"], MemoryChannel)
    assert "platforms.telegram.bot_token: expected a value, found none" in said["telegram"]
    assert "platforms.slack." in said["slack"]
    assert "platforms.webhook.routes.ci.secret: expected at least 16" in said["webhook"]
    assert "no channel of that name is installed" in said["nowhere"]
    assert f"KeyError: 'nothing' ({__file__}, line " in said["faulty"]
    assert "make() returned NoneType" in said["empty"]


@pytest.mark.req("W2")
async def test_nothing_is_accepted_or_sent_by_what_cannot_be_used(tmp_path: Path) -> None:
    """Telegram's webhook without its secret, the worst of them: anybody could speak for people."""
    mode = {"HERMES_PLATFORMS__TELEGRAM__EXTRA__MODE": "webhook"}
    channels = await made(tmp_path, TELEGRAM_BOT_TOKEN="123456:ABC-DEF1234ghIkl", **mode)

    for name in ("telegram", "webhook", "faulty"):
        channel = channels[name]
        assert isinstance(channel, UnusableChannel)
        assert not isinstance(channel, WebhookChannel | PushChannel)
        with pytest.raises(ConfigurationError, match=f"platforms.{name}"):
            await channel.connect(accept)
        await channel.disconnect()
    assert "webhook_secret" in getattr(channels["telegram"], "problem", "")
    assert channels["faulty"].capabilities.max_chars == 123
    assert channels["nowhere"].capabilities.delivery == "push"


@pytest.mark.req("W12")
def test_a_fault_of_an_import_is_placed_where_the_import_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tangled_plugin.py").write_text(f"\n{TANGLED}")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ImportError) as fault:
        importlib.import_module("tangled_plugin")

    said = fault_text(fault.value)
    assert said.startswith("ImportError: cannot import name 'nothing_of_that_name'")
    assert said.endswith(f"({tmp_path}/tangled_plugin.py, line 2)")


class Taken:
    """A credential's right that counts how often it was taken."""

    count = 0

    def take(self) -> None:
        self.count += 1

    def release(self) -> None:
        pass


@pytest.mark.req("W2", "W33")
async def test_it_is_fatal_and_takes_no_credential_from_another_process() -> None:
    time, right, told = ManualTime(), Taken(), list[str]()
    channel = UnusableChannel("line", "platforms.line.token: found none", capabilities=CAN)
    connections = Connections(
        {"line": channel},
        accept=accept,
        on_connected=lambda one: told.append(one.name),
        on_lost=told.append,
        on_change=lambda _states: None,
        traffic=Traffic(time),
        clock=time,
        sleep=time.sleep,
        rights={"line": right},
    )
    with capture_logs() as logged:
        connections.start()
        await settle()
    (state,) = connections.states()
    await connections.stop()

    assert (state.state, state.retryable, state.note) == ("fatal", False, channel.problem)
    assert (right.count, told) == (0, [])
    (line,) = [one for one in logged if one["event"] == "channel_failed"]
    alert = told_by(line)
    assert (line["log_level"], line["problem"]) == ("error", channel.problem)
    assert alert is not None
    assert channel.problem in alert.text
