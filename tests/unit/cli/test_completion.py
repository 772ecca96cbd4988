"""Shell completion: what is printed is loaded by a real bash, and completes commands and options."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from hermes.ops.instance import GatewayAddress, acquire
from tests.unit.cli.conftest import environment

ASK = """
source "$1"
COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_hermes_completion hermes
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def folder(home: Path) -> Path:
    """A folder with a `hermes` in it, for PATH."""
    program = home / "hermes"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m hermes "$@"\n')
    program.chmod(0o700)
    return home


@pytest.fixture
def complete(hermes, folder: Path):
    """Ask a real bash what it would offer after some words."""
    script = folder / "hermes.bash"
    script.write_text(hermes("completion", "bash").stdout)

    def ask(*words: str) -> list[str]:
        done = subprocess.run(
            ["bash", "--norc", "-c", ASK, "bash", str(script), *words],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
            env=environment(folder, PATH=f"{folder}:/usr/bin:/bin"),
        )
        assert done.stderr == ""
        return done.stdout.split()

    return ask


@pytest.mark.req("W1")
def test_bash_completes_commands_and_the_commands_below_them(complete):
    assert {"doctor", "init", "completion", "up", "why"} <= set(complete("hermes", ""))
    assert complete("hermes", "doc") == ["doctor"]
    assert {"create", "list", "revoke", "rotate-store"} <= set(complete("hermes", "keys", ""))


@pytest.mark.req("W1")
def test_bash_completes_options_and_the_words_of_an_argument(complete):
    assert complete("hermes", "doctor", "--f") == ["--fix"]
    assert complete("hermes", "completion", "z") == ["zsh"]


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("zsh", {"_HERMES_COMPLETE": "complete_zsh"}),
        ("fish", {"_HERMES_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_the_other_shells_get_a_script_and_are_answered_as_it_asks(hermes, shell, asked):
    script = hermes("completion", shell)

    told = hermes(**asked, _TYPER_COMPLETE_ARGS="hermes doc")

    assert script.returncode == 0
    assert all(f"{name}={value}" in script.stdout for name, value in asked.items())
    assert "doctor" in told.stdout
    assert "status" not in told.stdout


@pytest.mark.req("W1")
def test_an_unknown_shell_is_a_wrong_use_that_names_the_known(hermes):
    done = hermes("completion", "tcsh")

    assert done.returncode == 2
    assert all(name in done.stderr for name in ("bash", "zsh", "fish"))


@pytest.mark.req("W1")
@pytest.mark.parametrize("at", ["4", "x", "-9"])
def test_nothing_is_offered_for_a_home_of_nobody_or_a_cursor_that_is_nowhere(hermes, at):
    words = "hermes why --home ~nosuchuser m_"

    done = hermes(_HERMES_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=at)

    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


HOSTILE = (
    "$(touch hacked)",
    "`touch hacked`",
    "x; touch hacked",
    "x|touch hacked",
    "x && touch hacked",
    "x > hacked",
    "two words",
    'quo"te',
    "quo'te",
    "back\\slash",
    "line\nbreak",
    "tab\tstop",
    "esc\x1b[2J",
    "*",
    "~root",
    "{a,b}",
    "ünïcode",
    "",
)


class NamingGateway:
    """Answers what a shell asks with the names of each kind, as a gateway of a home does."""

    def __init__(self, names: dict[str, tuple[str, ...]]) -> None:
        self.names = names
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = parse_qs(urlsplit(self.path).query)
                found = [
                    one
                    for kind in asked["kinds"][0].split(",")
                    for one in gateway.names.get(kind, ())
                ]
                body = json.dumps({"ids": found}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_request(self, code: object = "-", size: object = "-") -> None:
                del code, size

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def names(home: Path) -> Iterator[dict[str, tuple[str, ...]]]:
    """The names, by kind, that a gateway of the home knows; the test fills them in."""
    found: dict[str, tuple[str, ...]] = {}
    server = NamingGateway(found).server
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    instance = acquire(home)
    port = server.server_address[1]
    instance.publish(
        GatewayAddress(host="127.0.0.1", port=port, token="t", version="0", started_at=1.0)
    )
    yield found
    instance.release()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.req("W1")
def test_names_that_others_chose_never_reach_the_shell(hermes, complete, names, folder):
    names["model"] = (*HOSTILE, "house:gpt-4.1-mini")
    names["message"] = (*HOSTILE, "m_06abcd")

    assert complete("hermes", "models", "swap", "") == ["house:gpt-4.1-mini"]
    assert complete("hermes", "why", "") == ["m_06abcd"]
    told = {
        shell: hermes(
            _HERMES_COMPLETE=f"complete_{shell}",
            _TYPER_COMPLETE_FISH_ACTION="get-args",
            _TYPER_COMPLETE_ARGS="hermes models swap ",
        ).stdout
        for shell in ("zsh", "fish")
    }

    assert told["fish"].split() == ["house:gpt-4.1-mini"]
    assert told["zsh"] == '_arguments \'*: :(("house\\\\:gpt-4.1-mini":""))\'\n'
    assert not (folder / "hacked").exists()


@pytest.mark.req("W1")
def test_agents_models_approvals_and_answers_are_completed(complete, names):
    names["agent"] = ("main", "work")
    names["model"] = ("house:small", "house:large")
    names["approval"] = ("a_06abcd",)
    names["answer"] = ("m_06abcd.1",)

    assert complete("hermes", "chat", "--agent", "") == ["main", "work"]
    assert complete("hermes", "chat", "--model", "") == ["house:small", "house:large"]
    assert complete("hermes", "models", "swap", "") == ["house:small", "house:large"]
    assert complete("hermes", "cron", "add", "--agent", "") == ["main", "work"]
    assert complete("hermes", "approvals", "approve", "") == ["a_06abcd"]
    assert complete("hermes", "graph", "rate", "") == ["m_06abcd.1"]


@pytest.mark.req("W1")
def test_bash_which_splits_words_at_colons_gets_what_is_missing_after_the_last_one(complete, names):
    names["model"] = ("house:small",)
    names["person"] = ("p_06abcd",)
    names["channel"] = ("telegram:4711",)

    assert complete("hermes", "chat", "--model", "house", ":", "sm") == ["small"]
    assert complete("hermes", "chat", "--model", "house", ":") == ["small"]
    assert complete("hermes", "users", "show", "telegram", ":", "47") == ["4711"]
    assert complete("hermes", "chat", "--model", "house", ":", "small", "--ag") == ["--agent"]


@pytest.mark.req("W1")
def test_settings_are_completed_with_the_names_of_the_homes_entries(complete, folder):
    (folder / "config.yaml").write_text(
        "agents:\n  main: {}\n  work.late: {}\n  $(touch hacked): {}\nproviders:\n  house: {}\n"
    )

    assert complete("hermes", "config", "set", "server.p") == ["server.port", "server.public_url"]
    assert complete("hermes", "config", "set", "agents.main.ton") == ["agents.main.tone"]
    assert complete("hermes", "config", "set", "agents.work.late.ton") == ["agents.work.late.tone"]
    assert complete("hermes", "config", "set", "agents.other.ton") == ["agents.other.tone"]
    assert complete("hermes", "config", "set", "providers.house.base_") == [
        "providers.house.base_url"
    ]
    assert complete("hermes", "config", "set", "platforms.telegram.extra.mo") == [
        "platforms.telegram.extra.mode"
    ]
    assert "platforms.telegram.extra.bot_token" not in complete(
        "hermes", "config", "set", "platforms.telegram.extra."
    )
    assert {"time_zone", "agents.main.tone", "platforms.irc.enabled"} <= set(
        complete("hermes", "config", "set", "")
    )
    assert not (folder / "hacked").exists()


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    ("setting", "part", "values"),
    [
        ("logs.level", "", ["debug", "info", "warning", "error"]),
        ("logs.level", "de", ["debug"]),
        ("offline", "", ["true", "false"]),
        ("agents.any.tone", "pro", ["professional"]),
        ("platforms.telegram.streaming", "e", ["edit"]),
        ("platforms.telegram.extra.mode", "", ["poll", "webhook"]),
        ("platforms.telegram.extra.link_previews", "t", ["true"]),
    ],
)
def test_the_words_that_a_setting_takes_are_completed(complete, setting, part, values):
    assert complete("hermes", "config", "set", setting, part) == values


@pytest.mark.req("W1")
@pytest.mark.parametrize("text", ["agents: [", "- 1", "agents:\n- main\n", "\x00", "a: &a [*a]"])
def test_a_home_whose_config_cannot_be_read_still_completes(complete, folder, text):
    (folder / "config.yaml").write_text(text)

    assert complete("hermes", "config", "set", "agents.main.ton") == ["agents.main.tone"]
    assert complete("hermes", "config", "set", "server.port", "8") == []
