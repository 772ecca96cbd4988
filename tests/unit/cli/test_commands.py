import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.cli.failure import run_guarded
from hermes.cli.why import summary_text
from hermes.control.why import WhySummary
from hermes.errors import ConfigurationError

COMMANDS = (
    ("up",),
    ("stop",),
    ("status",),
    ("chat",),
    ("why",),
    ("models",),
    ("route",),
    ("link",),
    ("token",),
    ("config", "show"),
    ("keys", "create"),
    ("keys", "list"),
    ("keys", "revoke"),
    ("kill-switch", "on"),
    ("kill-switch", "off"),
    ("kill-switch", "status"),
    ("costs",),
)


@pytest.mark.req("W7")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_with_examples(hermes, command):
    done = hermes(*command, "--help")

    assert done.returncode == 0
    assert "Examples:" in done.stdout
    assert f"hermes {' '.join(command)}" in done.stdout


@pytest.mark.req("W7")
def test_the_version_is_printed(hermes):
    assert hermes("--version").stdout == "hermes 0.1.0\n"
    assert hermes("version").stdout == "hermes 0.1.0\n"


@pytest.mark.req("W7")
def test_help_is_also_a_word(hermes):
    assert hermes("help").stdout == hermes("--help").stdout
    assert hermes("help", "cron", "add").stdout == hermes("cron", "add", "--help").stdout
    assert hermes("help", "nonsense").returncode == 2


@pytest.mark.req("W7")
def test_a_wrong_use_is_exit_code_2_and_no_traceback(hermes):
    for arguments in (("why",), ("stop", "--timeout", "x"), ("nonsense",), ("chat", "--json")):
        done = hermes(*arguments)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


@pytest.mark.req("W7")
def test_stop_without_a_gateway_says_so_and_is_no_failure(hermes, home):
    done = hermes("stop")

    assert (done.returncode, done.stdout) == (0, f"Hermes is not running in {home}.\n")


@pytest.mark.req("W3", "W4")
def test_stop_ends_the_gateway_as_planned_and_waits_for_it(hermes, gateway):
    done = hermes("stop")

    assert done.returncode == 0
    assert done.stdout == f"Hermes (pid {gateway.pid}) has stopped.\n"
    assert gateway.wait(10) == 0


@pytest.mark.req("W4")
def test_stop_gives_up_waiting_after_its_timeout_and_says_what_goes_on(hermes, home):
    script = (
        "import signal, sys\nfrom pathlib import Path\nfrom hermes.ops.instance import acquire\n"
        "acquire(Path(sys.argv[1]))\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('ready', flush=True)\nsignal.pause()\n"
    )
    stubborn = subprocess.Popen(
        [sys.executable, "-c", script, str(home)], stdout=subprocess.PIPE, text=True
    )
    assert stubborn.stdout is not None
    assert stubborn.stdout.readline() == "ready\n"

    done = hermes("stop", "--timeout", "0.2")

    stubborn.kill()
    stubborn.communicate()
    assert done.returncode == 1
    assert f"pid {stubborn.pid}" in done.stderr
    assert "still runs after 0.2 s" in done.stderr


@pytest.mark.req("W7")
def test_status_asks_the_running_gateway(hermes, gateway):
    shown, told = hermes("status"), hermes("status", "--json")

    assert (shown.returncode, told.returncode) == (0, 0)
    assert "running" in shown.stdout
    assert "ACCEPTS NO MESSAGES: the disk is full" in shown.stdout
    assert "12.3 kB" in shown.stdout
    assert "local:smollm2" in shown.stdout
    assert (
        "on since 2023-11-14 22:13:20 UTC, by olga: a test[2J; NO MODEL IS CALLED" in shown.stdout
    )
    assert "\x1b" not in shown.stdout
    report = json.loads(told.stdout)
    assert (report["pid"], report["running"]) == (gateway.pid, True)


@pytest.mark.req("W7")
def test_status_of_a_home_that_does_not_exist_yet_is_exit_code_3(hermes, home):
    home.rmdir()

    shown, told = hermes("status"), hermes("status", "--json")

    assert (shown.returncode, told.returncode) == (3, 3)
    assert "not running" in shown.stdout
    assert "hermes up" in shown.stdout
    assert json.loads(told.stdout)["state"] == "stopped"


@pytest.mark.req("A8")
def test_why_asks_the_running_gateway_and_hides_control_codes(hermes, gateway):
    shown, told = hermes("why", "m_1"), hermes("why", "m_1", "--json")

    assert shown.returncode == 0
    assert "hello" not in shown.stdout
    assert shown.stdout.startswith("Answered after 1.2 s by local:smollm2;")
    assert "\x1b" not in shown.stdout
    assert json.loads(told.stdout)["id"] == "m_1"


@pytest.mark.req("A8")
def test_why_prints_the_deployment_and_what_the_model_saw_of_older_messages(hermes, gateway):
    shown = hermes("why", "m_1").stdout

    rows = [line.rstrip().split(maxsplit=1) for line in shown.splitlines()]
    assert ["deployment", "west[2J"] in rows
    assert ["history", "a summary of the first 12 messages, then the others"] in rows


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    ("summary", "text"),
    [
        (
            WhySummary(messages=1, is_summary=True),
            "a summary of the first 1 message, then the others",
        ),
        (WhySummary(messages=2), "a note in the place of the first 2 messages, then the others"),
    ],
)
def test_why_says_if_older_messages_were_summed_up_or_left_out(summary, text):
    assert summary_text(summary) == text


@pytest.mark.req("A8")
def test_why_tells_what_was_said_only_when_asked_to(hermes, gateway):
    said = hermes("why", "m_1", "--text").stdout

    assert said.splitlines()[-4:] == ["Message", "hello", "Reply", "world"]


@pytest.mark.req("A8")
def test_why_of_an_unknown_id_is_one_line_on_standard_error(hermes, gateway):
    done = hermes("why", "m_unknown")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hermes: No message is known as 'm_unknown'.\n"


@pytest.mark.req("A20", "A23")
def test_why_of_a_call_tells_its_key_every_try_and_an_unknown_price(hermes, gateway):
    shown = hermes("why", "v_1").stdout

    rows = [line.rstrip().split(maxsplit=1) for line in shown.splitlines()]
    assert ["key", "k_1 (build, user ann, ends in x7Qz)"] in rows
    assert ["cost", "price unknown for 15 tokens"] in rows
    assert ["deployment", "north"] in rows
    assert ["a:one", "failed: provider_timeout (504) at east; tier pro, 1 of 2"] in rows
    assert ["b:two[2J", "answered at north; tier pro, 2 of 2"] in rows
    assert "\x1b" not in shown
    assert "Timeline" not in shown


@pytest.mark.req("A8")
def test_an_id_with_slashes_reaches_the_gateway_whole(hermes, gateway):
    done = hermes("why", "a/b c?d", "--json")

    assert json.loads(done.stdout)["asked"] == "a/b c?d"


@pytest.mark.req("W7")
def test_link_prints_only_the_link(hermes, gateway):
    done = hermes("link")

    assert done.returncode == 0
    assert done.stdout.startswith("http://127.0.0.1:")
    assert done.stdout.count("\n") == 1
    assert json.loads(hermes("link", "--json").stdout)["link"] != done.stdout.strip()


@pytest.mark.req("W7")
def test_token_prints_a_token_that_opens_the_api(hermes, gateway):
    first = hermes("token").stdout.strip()

    assert first.startswith("hermes_")
    assert json.loads(hermes("token", "--json").stdout)["token"] != first


def test_link_without_a_gateway_says_how_to_start_one(hermes):
    done = hermes("link")

    assert done.returncode == 1
    assert "hermes up" in done.stderr


@pytest.mark.req("W4")
def test_a_gateway_that_does_not_answer_is_named_with_its_address(hermes, home, gateway):
    address = json.loads((home / "run" / "gateway.json").read_text())
    with socket.socket() as silent:
        # Bound and not listening: the port is ours, and every call to it is refused.
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        (home / "run" / "gateway.json").write_text(json.dumps(address | {"port": port}))

        done = hermes("status")

    assert done.returncode == 1
    assert f"http://127.0.0.1:{port} does not answer" in done.stderr


@pytest.mark.req("W35", "W1")
def test_config_show_hides_secrets_and_says_where_values_are_from(hermes):
    key = {"OPENAI_API_KEY": "sk-very-secret-value"}

    shown = hermes("config", "show", "--origin", **key)
    told = hermes("config", "show", "--origin", "--json", **key)

    assert "very-secret" not in shown.stdout + shown.stderr + told.stdout
    rows = {row["key"]: row for row in json.loads(told.stdout)}
    assert rows["providers.openai.api_key"] == {
        "key": "providers.openai.api_key",
        "value": "****",
        "origin": "environment OPENAI_API_KEY",
    }
    assert rows["server.port"] == {"key": "server.port", "value": 8080, "origin": "default"}
    assert any(
        line.split() == ["server.port", "8080", "default"] for line in shown.stdout.splitlines()
    )


@pytest.mark.req("W7")
def test_config_show_has_no_line_that_a_long_value_of_another_widens(hermes):
    lines = hermes("config", "show", "--origin").stdout.splitlines()

    assert [line for line in lines if line != line.rstrip()] == []
    port = next(line for line in lines if line.startswith("server.port "))
    assert len(port) < 110
    assert max(map(len, lines)) > 150


@pytest.mark.req("W1")
def test_a_broken_configuration_is_a_clear_error_and_a_traceback_only_on_request(hermes, home):
    (home / "config.yaml").write_text("server: {port: banana}\n")

    plain, traced = hermes("config", "show"), hermes("config", "show", HERMES_DEBUG="1")

    assert (plain.returncode, traced.returncode) == (1, 1)
    assert plain.stderr.startswith("hermes: config.yaml: server.port")
    assert "Traceback" not in plain.stderr
    assert "Traceback" in traced.stderr


@pytest.mark.req("W7")
def test_stop_needs_no_working_configuration(hermes, home, gateway):
    (home / "config.yaml").write_text("server: {port: banana}\n")

    assert hermes("stop").returncode == 0


@pytest.mark.req("W7")
def test_debug_is_a_switch_and_no_setting(hermes):
    assert hermes("config", "show", HERMES_DEBUG="1").returncode == 0


@pytest.mark.req("W7")
def test_an_interrupted_command_ends_with_130_and_a_known_error_with_1(capsys):
    def interrupted() -> int:
        raise KeyboardInterrupt

    def misconfigured() -> int:
        raise ConfigurationError("the port is taken")

    assert run_guarded(interrupted, {}) == 130
    assert run_guarded(misconfigured, {}) == 1
    assert capsys.readouterr().err == "hermes: the port is taken\n"


@pytest.mark.req("W7")
def test_a_reader_that_leaves_early_causes_no_traceback(home):
    command = f"{sys.executable} -m hermes config show | head -n 1"

    done = subprocess.run(
        ["/bin/sh", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        env={"HERMES_HOME": str(home), "PATH": "/usr/bin:/bin"},
    )

    assert done.stderr == ""


@pytest.mark.req("W35")
@pytest.mark.parametrize("module", ["pydantic", "typer"])
def test_ctrl_c_while_a_command_is_imported_ends_it_without_a_traceback(
    tmp_path: Path, module: str
) -> None:
    (tmp_path / f"{module}.py").write_text("raise KeyboardInterrupt\n")
    environ = {"PYTHONPATH": str(tmp_path), "HERMES_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "hermes", "status"]

    done = subprocess.run(command, env=environ, capture_output=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
