"""`hermes channels add`: what is asked, that it really connects, what is written and never shown."""

import json
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from hermes.app.platforms import unknown_platform
from hermes.config import load
from hermes.plugins.registry import Registry
from tests.unit.cli.conftest import Hermes, environment
from tests.unit.cli.terminal import Terminal
from tests.warm.python import stand_in

NEAR = {"HERMES_NET__EXEMPT": '["127.0.0.0/8"]'}
CONFIG = "# My own words.\nserver:\n  port: 0 # any\n"


@pytest.fixture
def telegram() -> Iterator[dict[str, Any]]:
    """The settings by which a channel reaches a stand-in for Telegram."""
    with stand_in("-m", "hermes.testing.telegram") as line:
        yield json.loads(line)["settings"]


@pytest.fixture
def terminals() -> Iterator[Callable[..., Terminal]]:
    """Start commands on terminals of their own."""
    opened: list[Terminal] = []

    def start(command: list[str], environ: dict[str, str]) -> Terminal:
        opened.append(Terminal(command, environ))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def extra(home: Path) -> dict[str, object]:
    """Return what a gateway would read of Telegram's settings."""
    platform = load({}, home).settings.platforms["telegram"]
    assert platform.enabled
    return {
        name: held.get_secret_value() if isinstance(held, SecretStr) else held
        for name, held in platform.extra.items()
    }


@pytest.mark.req("W12", "W1")
def test_it_explains_asks_connects_and_writes(
    home: Path, telegram: dict[str, Any], terminals: Callable[..., Terminal]
) -> None:
    (home / "config.yaml").write_text(CONFIG)
    locks = {"HERMES_PROCESS__LOCK_DIR": str(home / "locks")}
    add = [sys.executable, "-m", "hermes", "channels", "add", "telegram"]
    add += ["--set", f"api_url={telegram['api_url']}"]
    terminal = terminals(add, environment(home, **NEAR, **locks))
    terminal.wait_for("@BotFather")
    terminal.wait_for("Such as")
    terminal.wait_for("bot_token: ")
    terminal.type(f"{telegram['bot_token']}\n")
    terminal.wait_for("mode [poll/webhook]")
    terminal.type("pigeon\n")
    terminal.wait_for("Please enter one of poll, webhook")
    terminal.type("\n")
    terminal.wait_for("The token is that of @")
    terminal.wait_for("Is this the right one?")
    terminal.type("\n")
    terminal.wait_for("telegram is connected, after")
    assert terminal.end() == 0
    assert telegram["bot_token"] not in terminal.plain()

    assert (home / "config.yaml").read_text().startswith(CONFIG)
    assert telegram["bot_token"] not in (home / "config.yaml").read_text()
    assert stat.S_IMODE((home / ".env").stat().st_mode) == 0o600
    assert extra(home) == {
        "bot_token": telegram["bot_token"],
        "api_url": telegram["api_url"],
        "mode": "poll",
    }


@pytest.mark.req("W12")
def test_a_credential_that_is_refused_is_asked_for_again(
    home: Path, telegram: dict[str, Any], terminals: Callable[..., Terminal]
) -> None:
    locks = {"HERMES_PROCESS__LOCK_DIR": str(home / "locks")}
    add = [sys.executable, "-m", "hermes", "channels", "add", "telegram"]
    add += ["--set", f"api_url={telegram['api_url']}"]
    terminal = terminals(add, environment(home, **NEAR, **locks))
    wrong = "999999:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

    terminal.wait_for("bot_token: ")
    terminal.type(f"{wrong}\n")
    terminal.wait_for("mode [poll/webhook] [poll]")
    terminal.type("\n")
    terminal.wait_for("getMe was refused")
    terminal.wait_for("Enter it again? [Y/n]")
    terminal.type("\n")
    terminal.wait_for("bot_token: ")
    terminal.type(f"{telegram['bot_token']}\n")
    terminal.wait_for("mode [poll/webhook] [poll]")
    terminal.type("\n")
    terminal.wait_for("Is this the right one?")
    terminal.type("\n")
    terminal.wait_for("telegram is connected, after")

    assert terminal.end() == 0
    assert extra(home)["bot_token"] == telegram["bot_token"]
    assert wrong not in terminal.plain() + (home / ".env").read_text()


@pytest.mark.req("W12")
def test_it_asks_three_times_again_and_writes_nothing_then(
    home: Path, telegram: dict[str, Any], terminals: Callable[..., Terminal]
) -> None:
    add = [sys.executable, "-m", "hermes", "channels", "add", "telegram", "--set", "mode=poll"]
    add += ["--set", f"api_url={telegram['api_url']}"]
    terminal = terminals(add, environment(home, **NEAR))

    for _ in range(4):
        terminal.wait_for("bot_token: ")
        terminal.type("999999:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n")
        terminal.wait_for("getMe was refused")
        # After the fourth: whether to keep it anyway.
        terminal.wait_for("? [")
        terminal.type("\n")
    terminal.wait_for("Nothing was written")

    assert terminal.end() == 1
    assert not (home / ".env").exists()


@pytest.mark.req("W12", "W7")
def test_a_script_says_all_and_a_wrong_token_writes_nothing(
    hermes: Hermes, home: Path, telegram: dict[str, Any]
) -> None:
    more = {**NEAR, "HERMES_PROCESS__LOCK_DIR": str(home / "locks")}
    address = ("--set", f"api_url={telegram['api_url']}")
    wrong = "999999:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    failed = hermes(
        "channels", "add", "telegram", *address, "--json", TELEGRAM_BOT_TOKEN=wrong, **more
    )
    assert failed.returncode != 0
    assert "getMe was refused (401" in failed.stderr
    assert "copy the token from @BotFather whole" in " ".join(failed.stderr.split())
    assert "Nothing was written" in failed.stderr
    assert wrong not in failed.stdout + failed.stderr
    assert not (home / ".env").exists()

    right = {"TELEGRAM_BOT_TOKEN": telegram["bot_token"]}
    done = hermes("channels", "add", "telegram", *address, "--json", **right, **more)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["set"] == ["api_url", "bot_token"]
    assert report["proven"]["shows"].startswith("The token is that of @")
    assert report["tested"]["problem"] is None
    assert report["registered"] == []
    assert telegram["bot_token"] not in done.stdout + done.stderr
    assert extra(home)["bot_token"] == telegram["bot_token"]


@pytest.mark.req("W12", "W7")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("telegram",), "bot_token is missing"),
        (("telegram", "--set", "bot_tokn=1"), "has no such setting"),
        (("telegram", "--set", "nonsense"), "expected SETTING=VALUE"),
        (("telegram", "--set", "bot_token=1:xyz", "--set", "mode=carrier"), "expected poll or"),
        (("telex",), "no channel of that name is installed; known"),
        (("telegrm",), "is installed (did you mean telegram?); known"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    hermes: Hermes, home: Path, arguments: tuple[str, ...], told: str
) -> None:
    failed = hermes("channels", "add", *arguments, "--no-test", COLUMNS="200")
    assert failed.returncode != 0
    assert told in " ".join(failed.stderr.replace("│", " ").split())
    assert list(home.glob("config.yaml")) == []


@pytest.mark.req("W12")
def test_without_a_test_nothing_is_connected(hermes: Hermes, home: Path) -> None:
    done = hermes("channels", "add", "telegram", "--set", "bot_token=1:secret", "--no-test")
    assert done.returncode == 0, done.stderr
    assert "1:secret" not in done.stdout + done.stderr
    assert extra(home) == {"bot_token": "1:secret"}


@pytest.fixture
def irc() -> Iterator[dict[str, Any]]:
    """The settings by which a channel reaches a stand-in for an IRC network."""
    with stand_in("-m", "hermes.testing.irc") as line:
        yield json.loads(line)["settings"]


@pytest.mark.req("W12", "W1")
def test_a_platform_that_comes_as_a_plugin_is_listed_with_it(
    hermes: Hermes, home: Path, irc: dict[str, Any]
) -> None:
    """A fresh home knows nothing of the plugin."""
    (home / "config.yaml").write_text("plugins: # ours\n  - hermes.testing.push.plugin\n")
    given = [f"--set={name}={value}" for name, value in irc.items() if isinstance(value, str | int)]

    done = hermes("channels", "add", "irc", "--json", *given)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tested"]["problem"] is None
    settings = load({}, home).settings
    assert list(settings.plugins) == ["hermes.testing.push.plugin", "hermes.contrib.irc"]
    assert settings.platforms["irc"].enabled


@pytest.mark.req("W12")
def test_a_plugin_that_is_not_listed_is_named_where_it_is_missed() -> None:
    said = str(unknown_platform("irc", Registry()))
    assert "add hermes.contrib.irc to the list `plugins` in config.yaml" in said
    assert "no channel of that name" in str(unknown_platform("../contrib/irc", Registry()))
