"""`hermes doctor`: each thing that can be wrong is found, explained, and set right where it is safe."""

import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import environment
from tests.warm.python import stand_in

SAY = ("chat", "--message", "hello")


@pytest.fixture
def doctor(hermes):
    """Run it and give its exit code and what it found, by name."""

    def run(*options: str, **environ: str):
        done = hermes("doctor", "--json", *options, **environ)
        assert done.stderr == ""
        told = json.loads(done.stdout)
        assert told["ok"] == (done.returncode == 0)
        return done.returncode, told["checks"]

    return run


@pytest.fixture
def used(hermes, model) -> dict[str, str]:
    """A home in which something was said; the value is the environment of its model."""
    assert hermes(*SAY, **model).returncode == 0
    return model


def found(checks, name: str, status: str):
    return [one for one in checks if (one["name"], one["status"]) == (name, status)]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.req("W7")
def test_a_used_home_is_well_and_everything_was_looked_at(doctor, used):
    code, checks = doctor(HERMES_SERVER__PORT="0", HERMES_STORE__BACKUP_WARN_DAYS="0", **used)

    names = [one["name"] for one in checks]
    assert code == 0
    assert {one["status"] for one in checks} == {"ok"}
    assert set(names) == {
        "configuration", "home", "database", "key file", "backup", "search index", "disk", "port", "clock",
        "open files", "recall", "channels", "trusted addresses", "models", "terminal",
    }  # fmt: skip
    assert [one["what"] for one in checks if one["name"] == "database"][1] == (
        "it is intact (quick check)"
    )


@pytest.mark.req("W34")
def test_addresses_of_the_configuration_that_the_guard_lets_pass_are_listed(doctor, home):
    (home / "config.yaml").write_text(
        "providers: {lan: {base_url: 'http://10.0.0.5:8000/v1', model: m, api_key: k}}\n"
        "mcp: {servers: {wiki: {enabled: false, url: 'http://10.0.0.6/mcp'}}}\n"
        "net: {exempt: [10.1.0.0/16], ports: [81]}\n"
        "proxy: http://user:secret@10.0.0.9:3128\n"
        "alerts: {webhooks: ['https://hooks.example.com/services/very-secret']}\n"
        "telegram: {enabled: true, bot_token: '1:a', base_url: 'http://10.0.0.7:8081'}\n"
        "offline: true\n"
    )
    (home / "config.yaml").chmod(0o600)

    _, checks = doctor(HERMES_SERVER__PORT="0")

    (trusted,) = found(checks, "trusted addresses", "ok")
    assert trusted["details"] == [
        "10.1.0.0/16 (net.exempt: strangers' addresses in it are fetched, too)",
        "http://****@10.0.0.9:3128 (proxy)",
        "http://10.0.0.5:8000/v1 (providers.lan.base_url)",
        "http://10.0.0.7:8081 (platforms.telegram.extra.base_url)",
        "https://api.openai.com/v1 (providers.openai.base_url)",
        "https://hooks.example.com/... (alerts.webhooks)",
        "port 81 (net.ports: strangers' addresses with it are fetched, too)",
    ]
    (clear,) = found(checks, "trusted addresses", "warn")
    assert clear["what"].startswith("providers.lan is called with a key over http")


@pytest.mark.req("W1", "W7")
def test_a_configuration_that_is_wrong_fails_with_each_mistake_and_the_rest_is_still_checked(
    doctor, home
):
    (home / "config.yaml").write_text("server: {prot: 1, host: ''}\n")

    code, checks = doctor()

    (broken,) = found(checks, "configuration", "fail")
    assert code == 1
    assert "did you mean server.port?" in " ".join(broken["details"])
    assert {one["name"] for one in checks} == {"configuration", "home", "database"}


@pytest.mark.req("W7")
def test_what_is_open_to_others_or_missing_is_found_and_set_right(doctor, home):
    (home / ".env").write_text("OPENAI_API_KEY=sk-x\n")
    (home / ".env").chmod(0o644)
    home.chmod(0o755)

    _, before = doctor(HERMES_SERVER__PORT="0")
    code, fixed = doctor("--fix", HERMES_SERVER__PORT="0")
    _, after = doctor(HERMES_SERVER__PORT="0")

    warned = [one["what"] for one in found(before, "home", "warn")]
    assert f"{home} is open to other users (mode 0755, expected 0700)" in warned
    assert f"{home / '.env'} is open to other users (mode 0644, expected 0600)" in warned
    assert f"the folder {home / 'keys'} is missing" in warned
    assert code == 0
    assert all(one["fixed"] for one in found(fixed, "home", "ok"))
    # what was set right is said once, and nothing warns of it any more
    (open_key,) = found(before, "configuration", "warn")
    assert "others on this machine can read it" in open_key["what"]
    assert found(fixed, "configuration", "warn") == []
    assert [one["what"] for one in fixed if ".env" in one["what"] and one["name"] == "home"] == [
        f"{home / '.env'} is open to other users (mode 0644, expected 0600); fixed"
    ]
    assert (mode(home), mode(home / ".env"), mode(home / "keys")) == (0o700, 0o600, 0o700)
    assert [one["what"] for one in found(after, "home", "ok")] == [
        f"{home} is yours, and closed to others"
    ]


@pytest.mark.req("W7", "J24")
def test_a_key_file_that_is_missing_or_belongs_elsewhere_fails(doctor, home, used):
    keys = home / "keys" / "store.keys"
    content = keys.read_bytes()
    keys.write_bytes(b"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\n")
    wrong_code, wrong = doctor(HERMES_SERVER__PORT="0", **used)
    keys.unlink()
    gone_code, gone = doctor(HERMES_SERVER__PORT="0", **used)
    made_by_looking = keys.exists()
    keys.write_bytes(content)

    assert (wrong_code, gone_code) == (1, 1)
    assert "restore the key file" in found(wrong, "key file", "fail")[0]["what"]
    assert found(gone, "key file", "fail")[0]["what"] == "keys/store.keys is missing"
    assert made_by_looking is False


@pytest.mark.req("W1", "J24")
def test_no_new_key_file_is_made_beside_a_database_that_has_lost_its_own(hermes, home, used):
    keys = home / "keys" / "store.keys"
    keys.unlink()

    done = hermes(*SAY, **used)

    assert done.returncode == 1
    assert f"{keys} is missing" in done.stderr
    assert not keys.exists()


@pytest.mark.req("W7", "W23")
def test_the_clock_is_shown_in_the_zone_that_is_named(doctor):
    _, checks = doctor(HERMES_TIME_ZONE="Etc/GMT-14", HERMES_SERVER__PORT="0")
    _, others = doctor(HERMES_TIME_ZONE="Etc/GMT+12", HERMES_SERVER__PORT="0")

    east, west = (found(one, "clock", "ok")[0]["what"][:10] for one in (checks, others))
    assert east > west


@pytest.mark.sqlite_only
@pytest.mark.req("W7")
def test_a_damaged_database_and_one_of_a_newer_hermes_fail(doctor, home, used):
    path = home / "hermes.db"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(60)
        file.write((9_999).to_bytes(4, "big"))
    newer_code, newer = doctor(HERMES_SERVER__PORT="0", **used)
    with path.open("r+b") as file:
        file.seek(4_096)
        file.write(b"\xff" * (size - 8_192))
    code, damaged = doctor(HERMES_SERVER__PORT="0", **used)

    assert (newer_code, code) == (1, 1)
    assert found(newer, "database", "fail")[0]["what"].startswith("schema version 9999, but this")
    assert found(damaged, "database", "fail") != []


@pytest.mark.req("W7", "J25")
def test_a_search_index_that_anybody_can_read_fails(doctor, home):
    (home / "search.db").write_bytes(b"SQLite format 3\0" + b"\0" * 100)
    (home / "search.db").chmod(0o600)

    code, checks = doctor(HERMES_SERVER__PORT="0")

    assert code == 1
    assert "not encrypted" in found(checks, "search index", "fail")[0]["what"]


@pytest.mark.req("W7")
def test_a_port_that_another_program_has_fails(doctor):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, checks = doctor(HERMES_SERVER__PORT=str(port))

    assert code == 1
    (taken,) = found(checks, "port", "fail")
    assert taken["what"] == f"Port {port} on 127.0.0.1 is used by another program"
    assert "server.port" in taken["fix"]


@pytest.mark.req("W7")
def test_a_platform_without_its_credential_or_its_channel_fails(doctor):
    code, checks = doctor(HERMES_SERVER__PORT="0", HERMES_TELEGRAM__ENABLED="true")

    said = [one["what"] for one in found(checks, "channels", "fail")]
    assert code == 1
    assert "platforms.telegram is enabled, but has no bot_token" in said
    assert found(checks, "channels", "fail")[-1]["fix"].startswith("set TELEGRAM_BOT_TOKEN")


@pytest.mark.req("W7")
def test_a_platform_with_a_choice_of_credentials_needs_only_one(doctor):
    secret = "0123456789abcdef0123456789abcdef"
    _, checks = doctor(
        HERMES_SERVER__PORT="0",
        HERMES_WHATSAPP__PROVIDER="360dialog",
        WHATSAPP_360DIALOG_API_KEY="a-key",
        WHATSAPP_360DIALOG_WEBHOOK_SECRET=secret,
        HERMES_MATRIX__ENABLED="true",
        MATRIX_HOMESERVER="https://matrix.example.org",
        MATRIX_USER_ID="@hermes:example.org",
        MATRIX_PASSWORD="a-password",
        HERMES_INSTAGRAM__ENABLED="true",
    )

    assert {one["what"] for one in found(checks, "channels", "ok")} >= {
        "whatsapp can be connected",
        "matrix can be connected",
    }
    assert [one["what"] for one in found(checks, "channels", "fail")] == [
        "platforms.instagram is enabled, but has no access_token"
    ]


@pytest.mark.req("W7", "W2")
def test_a_channel_that_cannot_be_made_fails_with_the_reason(doctor, home):
    plugin = home / "broken"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(
        "def make(setup):\n    return 1 / 0\n\n\n"
        "def register(registry):\n    registry.platform(__name__, make)\n"
    )
    (plugin / "manifest.toml").write_text(
        'name = "broken"\nlabel = "Broken"\ncapabilities = { delivery = "push" }\n'
        'auth = { scheme = "none" }\nquality = { verified = [] }\n'
    )
    on = {"TELEGRAM_BOT_TOKEN": "123456:ABC-DEF1234ghIkl", "HERMES_TELEGRAM__MODE": "webhook"}
    more = {"HERMES_PLUGINS": '["./broken"]', "HERMES_PLATFORMS__BROKEN__ENABLED": "true"}

    code, checks = doctor(HERMES_SERVER__PORT="0", **on, **more)

    fails = {one["what"].split(" ")[0]: one for one in found(checks, "channels", "fail")}
    assert code == 1
    assert sorted(fails) == ["broken", "telegram"]
    assert "webhook_secret" in fails["telegram"]["what"]
    assert "ZeroDivisionError: division by zero" in fails["broken"]["what"]
    assert f"{plugin}/__init__.py, line 2" in fails["broken"]["what"]
    assert fails["telegram"]["why"].startswith("the gateway starts without it")


@pytest.mark.req("W7", "A8")
def test_a_setting_that_lets_anybody_in_is_warned_of(doctor):
    _, checks = doctor(EMAIL_PASSWORD="x", HERMES_EMAIL__TRUST="none")

    (warning,) = found(checks, "channels", "warn")
    assert warning["what"] == "platforms.email.trust is none"
    assert warning["why"].startswith("anyone can write as anyone")


@pytest.mark.req("W7")
def test_what_a_dead_gateway_left_is_removed_and_what_a_living_one_has_is_not(doctor, home):
    run = home / "run"
    run.mkdir(mode=0o700)
    left = {"pid": 1, "kind": "hermes-gateway", "start_time": 1, "arguments": ["x"]}
    (run / "gateway.pid").write_text(json.dumps(left))
    (run / "starts.json").write_text('{"is_open": true, "crashes": [1700000000.0]}')

    _, before = doctor(HERMES_SERVER__PORT="0")
    _, fixed = doctor("--fix", HERMES_SERVER__PORT="0")

    told = [one["what"] for one in found(before, "gateway", "warn")]
    assert told[0] == f"a gateway that crashed left gateway.pid in {run}"
    assert told[1].startswith("1 of the last starts followed a crash")
    assert [one["fixed"] for one in found(fixed, "gateway", "ok")] == [True]
    assert not (run / "gateway.pid").exists()
    assert (run / "starts.json").exists()


@pytest.mark.req("W7")
def test_beside_a_running_gateway_it_asks_that_and_touches_nothing(doctor, gateway, home):
    _, checks = doctor("--fix")

    assert found(checks, "port", "ok")[0]["what"].startswith(
        f"our own gateway, pid {gateway.pid}, is there: http://127.0.0.1:"
    )
    assert any("away-1: available" in line for line in found(checks, "models", "ok")[0]["details"])
    assert (home / "run" / "gateway.pid").exists()


@pytest.mark.sqlite_only
@pytest.mark.req("W7")
def test_a_clock_that_was_set_back_is_noticed(doctor, home, used):
    path = home / "hermes.db"
    later = path.stat().st_mtime + 86_400
    os.utime(path, (later, later))

    _, checks = doctor(HERMES_SERVER__PORT="0", **used)

    assert "but the database was written at" in found(checks, "clock", "warn")[0]["what"]


@pytest.mark.req("W7")
def test_with_call_each_service_is_asked_once(doctor, home, used):
    (home / "config.yaml").write_text(
        "providers: {mine: {base_url: 'http://127.0.0.1:9/v1', model: m}}\n"
    )

    code, checks = doctor("--call", HERMES_SERVER__PORT="0", **used)

    assert code == 1
    assert found(checks, "model calls", "ok")[0]["what"].startswith("openai:gpt-4o-mini answered")
    assert found(checks, "model calls", "fail")[0]["what"].startswith("mine:m did not answer: ")


@pytest.mark.req("W7", "W12")
def test_with_call_each_platform_says_whose_its_credential_is(doctor, used):
    with stand_in("-m", "hermes.testing.telegram") as line:
        settings = json.loads(line)["settings"]
        near = {"HERMES_SERVER__PORT": "0", "HERMES_TELEGRAM__API_URL": settings["api_url"], **used}
        _, well = doctor("--call", TELEGRAM_BOT_TOKEN=settings["bot_token"], **near)
        code, ill = doctor("--call", TELEGRAM_BOT_TOKEN="999999:AAAAAAAAAAAA", **near)

    said = [one["what"] for one in found(well, "platform calls", "ok")]
    assert said == ["telegram: The token is that of @hermes_stand_in_bot (Hermes)"]
    assert code == 1
    assert found(ill, "platform calls", "fail")[0]["what"] == (
        "telegram: getMe was refused (401 Unauthorized); copy the token from @BotFather whole"
    )


@pytest.mark.req("W7")
def test_for_people_every_finding_has_its_reason_and_its_fix(hermes, home):
    home.chmod(0o755)
    done = hermes("doctor", HERMES_SERVER__PORT="0")

    assert done.returncode == 0
    assert "warn  home" in done.stdout
    assert "why: others on this machine could read or change what is kept here" in done.stdout
    assert f"fix: `hermes doctor --fix`: chmod 700 {home}" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("checks.")


@pytest.mark.req("W7")
def test_the_command_line_starts_without_the_composition_root(home):
    code = (
        "import sys\n"
        "from hermes.cli.commands import CommandGroup, root\n"
        "def load(tree):\n"
        "    for one in (tree.get_command(None, name) for name in tree.list_commands(None)):\n"
        "        if isinstance(one, CommandGroup): load(one)\n"
        "tree = root()\n"
        "changing = tree.get_command(None, 'config')\n"
        "for name in tree.list_commands(None):\n"
        "    one = tree.get_command(None, name)\n"
        "    if isinstance(one, CommandGroup) and name != 'config': load(one)\n"
        "print([m for m in ('hermes.app', 'hermes.store.sqlite', 'apsw', 'aiohttp', 'yaml') "
        "if m in sys.modules])\n"
        # What changes YAML reads it.
        "load(changing)\n"
        "print([m for m in ('hermes.app', 'hermes.store.sqlite', 'apsw', 'aiohttp') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment(home),
    )

    assert done.stdout == "[]\n[]\n"


@pytest.mark.req("W7", "W36")
def test_code_that_others_can_change_is_found_and_no_start_runs_it(doctor, hermes, home, used):
    hook = home / "hooks" / "own"
    hook.mkdir(parents=True)
    (hook / "HOOK.yaml").write_text("events: [agent:end]\n")
    (hook / "handler.py").write_text(f"open({str(home / 'run-it')!r}, 'w')\n")
    (hook / "handler.py").chmod(0o666)
    (home / "tools.py").write_text("")
    (home / "tools.py").chmod(0o664)
    unsafe = {**used, "HERMES_TOOLS__MODULES": "tools.py", "HERMES_SERVER__PORT": "0"}

    code, checks = doctor(**unsafe)
    said = hermes(*SAY, **used)

    assert code == 1
    assert [(one["what"].split(" (")[0], one["fix"]) for one in found(checks, "code", "fail")] == [
        (f"{path} can be changed by other users", f"Read what it contains, then run chmod go-w {path}")
        for path in (hook / "handler.py", home / "tools.py")
    ]  # fmt: skip
    assert said.returncode != 0
    assert f"run chmod go-w {hook / 'handler.py'}" in said.stderr
    assert not (home / "run-it").exists()
