"""`hermes channels add` ends well for every platform that comes along, question by question."""

import json
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.adding import NAMES, near, text_of, written
from tests.unit.cli.conftest import environment
from tests.unit.cli.terminal import Terminal

# Each question, and the setting that answers it: a text in (), or nothing, which is Enter.
WALKS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "telegram": (
        ("bot_token:", "bot_token"),
        ("mode [poll/webhook] [poll]:", ""),
        ("Is this the right one?", ""),
    ),
    "discord": (
        ("bot_token:", "bot_token"),
        ("Is this the right one?", ""),
    ),
    "qq": (
        ("app_id:", "app_id"),
        ("app_secret:", "app_secret"),
        ("mode [gateway/webhook] [gateway]:", ""),
        ("links [hidden/kept] [hidden]:", ""),
        ("Is this the right one?", ""),
    ),
    "slack": (
        ("bot_token:", "bot_token"),
        ("mode [socket/http] [socket]:", ""),
        ("app_token:", "app_token"),
        ("Is this the right one?", ""),
    ),
    "matrix": (
        ("homeserver:", "homeserver"),
        ("access_token (Enter for none):", "access_token"),
        ("join [allowed/never/all] [allowed]:", "join"),
        ("Is this the right one?", ""),
    ),
    "email": (
        ("address:", "address"),
        ("password:", "password"),
        ("imap_host:", "imap_host"),
        ("imap_security [tls/starttls/plain] [tls]:", "(telex)"),
        ("imap_security [tls/starttls/plain] [tls]:", "imap_security"),
        ("smtp_host:", "smtp_host"),
        ("smtp_security [starttls/tls/plain] [starttls]:", "smtp_security"),
        ("trust [authentication-results/none] [authentication-results]:", ""),
        ("authserv_id [mx.hermes.test]:", ""),
    ),
    "webhook": (
        ("routes: name of the first row:", "(Not A Name)"),
        ("routes: name of the first row:", "(my-ci)"),
        ("routes.my-ci.scheme [standard/github/gitlab/hmac] [standard]:", ""),
        ("routes.my-ci.secret (Enter generates one):", ""),
        ("routes.my-ci.prompt (Enter for none):", "({text})"),
        ("routes.my-ci.reply_url (Enter for none):", "(http://127.0.0.1:9/)"),
        ("routes: name of the next row (Enter if there are no more):", "(two)"),
        ("routes.two.scheme", "(github)"),
        ("routes.two.secret", "(a secret of another machine)"),
        ("routes.two.prompt", ""),
        ("routes.two.reply_url", ""),
        ("routes.two.deliver [local]:", ""),
        ("routes: name of the next row (Enter if there are no more):", ""),
    ),
    "irc": (
        ("server:", "server"),
        ("nick [hermes]:", "(robin)"),
        ("sasl_user (Enter for none):", "sasl_user"),
        ("sasl_password:", "sasl_password"),
        ("channels (Enter for none):", "channels"),
        ("trust [account/nick] [account]:", ""),
    ),
}
# What only a stand-in needs to be told.
NEAR: Mapping[str, tuple[str, ...]] = {
    "telegram": ("api_url",),
    "discord": ("base_url",),
    "qq": ("base_url", "token_url"),
    "slack": ("base_url",),
    "matrix": (),
    "email": ("imap_port", "smtp_port"),
    "webhook": (),
    "irc": ("port",),
}
# What is asked once the settings are written: Enter agrees.
AFTER: Mapping[str, tuple[str, ...]] = {"discord": ("Do it now?",)}
# The address at which the bot is invited; it can be copied as a whole.
INVITES: Mapping[str, str] = {
    "discord": "https://discord.com/oauth2/authorize?client_id=100000000000000002"
    "&scope=bot%20applications.commands&permissions=274878008384"
}


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


@pytest.mark.req("W12", "W1")
@pytest.mark.parametrize("told", NAMES, indirect=True)
def test_a_person_is_walked_through_to_the_end(
    home: Path, told: dict[str, Any], terminals: Callable[..., Terminal]
) -> None:
    # given a platform, to whose bot somebody has already written
    name, settings = told["name"], told["settings"]
    body = json.dumps({"text": "hello", "chat": "chat-1"}).encode()
    if name == "email":
        urllib.request.urlopen(f"{told['control']}/write", data=body).close()
    given = [part for one in NEAR[name] for part in ("--set", f"{one}={settings[one]}")]
    command = [sys.executable, "-m", "hermes", "channels", "add", name, *given]

    # when
    terminal = terminals(command, environment(home, **near(home)))
    terminal.wait_for("1. ")
    for question, answer in WALKS[name]:
        terminal.wait_for(question)
        typed = answer[1:-1] if answer.startswith("(") else text_of(settings.get(answer, ""))
        terminal.type(f"{typed}\n")
    terminal.wait_for(f"{name} is connected, after")
    for question in AFTER.get(name, ()):
        terminal.wait_for(question)
        terminal.type("\n")

    # then
    assert terminal.end() == 0, terminal.plain()
    said = terminal.plain()
    assert ".env as" not in said
    assert INVITES.get(name, "") in said
    kept = written(home, name)
    if name == "webhook":
        mine = kept["routes"]["my-ci"]
        assert mine["secret"].startswith("whsec_")
        assert said.count(mine["secret"]) == 1
        assert kept["routes"]["two"] == {
            "scheme": "github",
            "secret": "a secret of another machine",
            "deliver": "local",
        }
        assert "of another machine" not in (home / "config.yaml").read_text() + said
        return
    for _, answer in WALKS[name]:
        if answer and not answer.startswith("("):
            assert text_of(kept[answer]) == text_of(settings[answer])
    assert kept.get("nick", "robin") == "robin"
    assert kept.get("authserv_id", "mx.hermes.test") == "mx.hermes.test"
