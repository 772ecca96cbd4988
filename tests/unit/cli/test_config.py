"""`hermes config set|edit|check|schema`, typed by a person."""

import json
import sys

import pytest

from tests.unit.cli.conftest import environment
from tests.unit.cli.terminal import Terminal

FILE = "# ours\nserver:\n  port: 8080 # the door\n"


@pytest.fixture
def edit(home):
    """Start `hermes config edit` on a terminal, with a script as the editor."""
    opened: list[Terminal] = []

    def start(script: str) -> Terminal:
        editor = home.parent / "editor"
        editor.write_text(f"#!/bin/sh\n{script}\n")
        editor.chmod(0o700)
        command = [sys.executable, "-m", "hermes", "config", "edit"]
        opened.append(Terminal(command, environment(home, EDITOR=str(editor))))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def test_set_writes_one_value_and_says_when_it_counts(hermes, home):
    (home / "config.yaml").write_text(FILE)
    done = hermes("config", "set", "server.port", "8090")
    told = json.loads(hermes("config", "set", "logs.level", "debug", "--json").stdout)

    assert done.returncode == 0, done.stderr
    assert "server.port is 8090 (was 8080)" in done.stdout
    assert "It takes effect at the next `hermes up`." in done.stdout
    assert (told["value"], told["before"], told["next"]) == ("debug", None, "start")
    assert (home / "config.yaml").read_text() == (
        '# ours\nserver:\n  port: 8090 # the door\nlogs:\n  level: "debug"\n'
    )


def test_set_refuses_what_is_wrong_and_writes_nothing(hermes, home):
    (home / "config.yaml").write_text(FILE)
    done = hermes("config", "set", "server.port", "many")

    assert done.returncode == 1
    assert "Nothing was written, because the configuration would be invalid:" in done.stderr
    assert 'server.port is "many", expected a whole number' in done.stderr
    assert (home / "config.yaml").read_text() == FILE


def test_set_says_that_nothing_changes_and_what_cannot_be_read(hermes, home):
    (home / "config.yaml").write_text(FILE)
    same = hermes("config", "set", "server.port", "8080")
    broken = hermes("config", "set", "outbox.quick_delays_s", "[1, 5")

    assert "It already had this value; nothing was changed." in same.stdout
    assert "looks like JSON but cannot be read (" in broken.stderr
    assert "Quote it for the shell" in broken.stderr


def test_set_leaves_a_file_alone_that_is_no_yaml(hermes, home):
    (home / "config.yaml").write_text("server: [1\n")
    done = hermes("config", "set", "server.port", "1")

    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "`hermes config edit` opens the file" in done.stderr
    assert (home / "config.yaml").read_text() == "server: [1\n"


def test_set_names_what_hides_the_value(hermes, home):
    done = hermes("config", "set", "server.port", "8090", HERMES_SERVER__PORT="1")

    assert (
        "environment HERMES_SERVER__PORT also sets server.port and takes precedence; remove it there."
        in done.stderr
    )


def test_set_refuses_a_wrong_value_that_a_variable_hides(hermes, home):
    (home / "config.yaml").write_text(FILE)
    done = hermes("config", "set", "server.port", "many", HERMES_SERVER__PORT="1")

    assert done.returncode == 1
    assert 'config.yaml: server.port is "many", expected a whole number' in done.stderr
    assert (home / "config.yaml").read_text() == FILE


def test_unset_removes_it_and_names_the_default(hermes, home):
    (home / "config.yaml").write_text("server:\n  port: 1\n  host: 127.0.0.1\n")
    done = hermes("config", "set", "server.port", "--unset")
    both = hermes("config", "set", "server.port", "1", "--unset")

    assert "The default is 8080." in done.stdout
    assert (home / "config.yaml").read_text() == "server:\n  host: 127.0.0.1\n"
    assert both.returncode == 2


def test_set_never_prints_a_secret_as_json(hermes, home):
    (home / "config.yaml").write_text("providers:\n  house:\n    api_key: sk-othersecretvalue\n")
    removed = hermes("config", "set", "providers.house.api_key", "--unset", "--json")

    assert removed.returncode == 0, removed.stderr
    assert "othersecret" not in removed.stdout
    assert json.loads(removed.stdout)["before"] == "****"


def test_with_a_running_gateway_it_says_reload_or_restart(hermes, home, gateway):
    level = hermes("config", "set", "logs.level", "debug")
    port = hermes("config", "set", "server.port", "8090")

    assert "`hermes reload` applies it" in level.stdout
    assert "restart the gateway" in port.stdout


def test_check_names_key_value_line_and_fix(hermes, home):
    (home / "config.yaml").write_text("server:\n  port: many\nlogs:\n  levle: info\n")
    (home / ".env").write_text("HERMES_AGENTS__MAIN__TONE=loud\n")
    done = hermes("config", "check")
    told = json.loads(hermes("config", "check", "--json").stdout)
    lines = {one["key"]: (one["line"], one["value"]) for one in told["problems"]}

    assert done.returncode == 1
    assert 'error: line 2: config.yaml: server.port is "many"' in done.stdout
    assert "did you mean logs.level?" in done.stdout
    assert "3 problems." in done.stdout
    assert lines == {
        "server.port": (2, '"many"'),
        "logs.levle": (4, ""),
        "agents.main.tone": (None, '"loud"'),
    }


def test_check_finds_what_is_no_yaml_and_what_is_right(hermes, home):
    (home / "config.yaml").write_text("server:\n  port: [1\n")
    broken = hermes("config", "check")
    (home / "config.yaml").write_text(FILE)
    right = hermes("config", "check", "--json")

    assert broken.returncode == 1
    assert "error: line 3: config.yaml: is not YAML" in broken.stdout
    assert right.returncode == 0
    assert json.loads(right.stdout)["problems"] == []


def test_edit_replaces_the_file_once_it_is_right(edit, home):
    (home / "config.yaml").write_text(FILE)
    # given an editor whose first save is wrong, and whose second one is right
    terminal = edit(
        'if grep -q many "$1"; then sed -i s/many/8090/ "$1"; else sed -i s/8080/many/ "$1"; fi'
    )
    terminal.wait_for('line 3: config.yaml: server.port is "many"')
    assert (home / "config.yaml").read_text() == FILE
    terminal.wait_for("Edit again?")
    terminal.type("y\n")

    assert terminal.end() == 0
    assert (home / "config.yaml").read_text() == FILE.replace("8080", "8090")


def test_edit_keeps_what_was_written_if_the_person_gives_up(edit, home):
    (home / "config.yaml").write_text(FILE)
    terminal = edit('sed -i s/8080/many/ "$1"')
    terminal.wait_for("Edit again?")
    terminal.type("n\n")

    assert terminal.end() == 1
    assert (home / "config.yaml").read_text() == FILE
    assert (home / "config.yaml.draft").read_text() == FILE.replace("8080", "many")


def test_edit_without_a_change_or_with_a_failing_editor_changes_nothing(hermes, home):
    (home / "config.yaml").write_text(FILE)
    same = hermes("config", "edit", EDITOR="true")
    failed = hermes("config", "edit", EDITOR="false")
    missing = hermes("config", "edit", EDITOR="/no/such/editor")

    assert (same.returncode, same.stdout) == (0, "Nothing was changed.\n")
    assert (failed.returncode, "ended with 1" in failed.stderr) == (1, True)
    assert (missing.returncode, "set EDITOR" in missing.stderr) == (1, True)
    assert (home / "config.yaml").read_text() == FILE


def test_edit_does_not_replace_a_file_that_changed_meanwhile(hermes, home):
    (home / "config.yaml").write_text(FILE)
    editor = home.parent / "editor"
    editor.write_text(
        f'#!/bin/sh\nsed -i s/8080/1/ "$1"\necho "offline: true" > {home}/config.yaml\n'
    )
    editor.chmod(0o700)
    done = hermes("config", "edit", EDITOR=str(editor))

    assert done.returncode == 1
    assert "was changed meanwhile" in done.stderr
    assert (home / "config.yaml").read_text() == "offline: true\n"
    assert (home / "config.yaml.draft").read_text() == FILE.replace("8080", "1")


def test_schema_prints_json(hermes):
    assert json.loads(hermes("config", "schema").stdout)["title"] == "Hermes config.yaml"


def test_set_refuses_a_setting_that_the_platform_does_not_have(hermes, home):
    (home / "config.yaml").write_text(FILE)
    mistyped = hermes("config", "set", "telegram.quoet", "always")
    inside = hermes("config", "set", "platforms.telegram.extra", '{"moed": "poll"}')
    row = hermes("config", "set", "platforms.webhook.extra.routes.shop.promt", "hello")
    plugin = hermes("config", "set", "platforms.irc.extra.nik", "iris")

    assert [one.returncode for one in (mistyped, inside, row, plugin)] == [1, 1, 1, 1]
    assert "platforms.telegram.extra.quoet is not a setting of this platform." in mistyped.stderr
    assert "Did you mean platforms.telegram.extra.quote? It has: account, allowed_chats" in (
        mistyped.stderr
    )
    assert "Did you mean platforms.telegram.extra.mode?" in inside.stderr
    assert "Did you mean platforms.webhook.extra.routes.shop.prompt?" in row.stderr
    assert "Did you mean platforms.irc.extra.nick?" in plugin.stderr
    assert (home / "config.yaml").read_text() == FILE


def test_set_takes_what_a_platform_has_and_anything_of_one_that_is_not_here(hermes, home):
    done = [
        hermes("config", "set", "telegram.quote", "always"),
        hermes("config", "set", "telegram.account", "second"),
        hermes("config", "set", "platforms.webhook.extra.routes.shop.prompt", "hello"),
        hermes("config", "set", "platforms.pigeon.extra.loft", "north"),
    ]
    (home / "config.yaml").write_text("platforms:\n  telegram:\n    extra:\n      quoet: always\n")
    removed = hermes("config", "set", "telegram.quoet", "--unset")

    assert [one.returncode for one in (*done, removed)] == [0] * 5, [one.stderr for one in done]
    assert "quoet" not in (home / "config.yaml").read_text()


def test_a_name_with_dots_is_one_name_in_what_set_prints(hermes, home):
    (home / "config.yaml").write_text(
        'routing:\n  aliases:\n    gpt-4.1:\n      provider: local\n      credential: "any"\n'
    )
    done = hermes("config", "set", "routing.aliases.gpt-4.1.credential", "--unset")

    assert done.returncode == 0, done.stderr
    assert 'The default is "any".' in done.stdout


def test_check_gives_a_line_to_what_the_file_holds_and_none_to_what_comes_from_elsewhere(
    hermes, home
):
    (home / "config.yaml").write_text("server:\n  port: many\n  host: 127.0.0.1\n")
    (home / ".env").write_text("HERMES_LOGS__LEVEL=loud\n")
    done = hermes("config", "check", "--json", HERMES_SERVER__DRAIN_S="long")
    lines = {one["key"]: one["line"] for one in json.loads(done.stdout)["problems"]}

    assert lines == {"server.port": 2, "server.drain_s": None, "logs.level": None}
