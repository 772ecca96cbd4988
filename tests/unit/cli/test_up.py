import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.cli.commands import root
from hermes.cli.gateway_client import connect
from hermes.cli.up import UpOptions, overridden, parse
from hermes.config import StartChoices, load
from hermes.errors import Refused
from tests.unit.cli.conftest import environment
from tests.unit.cli.terminal import Terminal


class Up:
    """A real gateway, started by the real command."""

    def __init__(self, home: Path, model: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hermes", "up", "--port", "0", "--log-format", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(home, **model),
        )
        assert self.process.stdout is not None
        self.banner = ""
        while not self.banner.endswith("Ctrl-C stops it.\n"):
            line = self.process.stdout.readline()
            assert line, self.process.communicate()[1]
            self.banner += line

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def up(home, model):
    started = []

    def start() -> Up:
        one = Up(home, model)
        started.append(one)
        return one

    yield start
    for one in started:
        one.close()


@pytest.mark.req("W4", "W7")
def test_up_answers_says_where_and_refuses_a_second_one(up, hermes):
    first = up()

    second = hermes("up", "--port", "0")
    status = json.loads(hermes("status", "--json").stdout)

    assert status["pid"] == first.process.pid
    assert status["address"] in first.banner
    assert second.returncode == 1
    assert second.stdout == ""
    assert f"pid {first.process.pid}" in second.stderr
    assert "Traceback" not in second.stderr


@pytest.mark.req("W35")
def test_the_api_token_is_shown_on_the_first_start_only(up, hermes):
    first = up()
    hermes("stop")
    second = up()

    assert "API token" in first.banner
    assert "API token" not in second.banner
    assert "sign in" in second.banner


@pytest.mark.req("W3", "W4")
def test_stop_and_ctrl_c_are_planned_and_any_other_end_is_not(up, hermes):
    planned = up()
    assert hermes("stop").returncode == 0
    assert planned.process.wait(20) == 0

    assert up().stop(signal.SIGINT) == 0
    assert up().stop(signal.SIGTERM) == 75


@pytest.mark.req("W22", "A8", "A30")
def test_one_conversation_goes_on_in_the_chats_own_gateway_and_in_a_running_one(up, hermes, model):
    alone = hermes("chat", "-m", "one", **model)
    up()
    through = hermes("chat", "-m", "two", **model)

    assert (alone.returncode, alone.stdout, alone.stderr) == (0, "#1 one\n", "")
    assert (through.returncode, through.stdout) == (0, "#2 two\n")


@pytest.mark.req("A8", "P7")
def test_why_tells_the_same_from_the_gateway_and_from_its_files(up, hermes, model):
    up()
    answer = json.loads(hermes("chat", "-m", "hello", "--json", **model).stdout)

    live = json.loads(hermes("why", answer["id"], "--json").stdout)
    hermes("stop")
    offline = json.loads(hermes("why", answer["id"], "--json").stdout)

    assert live == offline
    assert live["outcome"] == "answered"
    assert live["model"] == answer["model"]
    assert live["route"]["rule"]
    assert live["answer"].startswith("Answered after ")
    assert "text" not in live


@pytest.mark.req("J2", "A8")
def test_why_explains_a_refusal(up, hermes, home):
    up()
    with pytest.raises(Refused) as refused:
        connect(home).post("/api/messages", dict, body={})
    refusal = re.findall(r"hermes why (r_\w+)", str(refused.value))[0]

    told = hermes("why", refusal)

    assert told.returncode == 0
    assert told.stdout.startswith("Refused at ")
    assert "bad_request" in told.stdout


@pytest.mark.req("W7")
def test_status_reads_the_files_when_no_gateway_runs(hermes, model):
    hermes("chat", "-m", "hello", **model)

    done = hermes("status", "--json")

    assert done.returncode == 3
    report = json.loads(done.stdout)
    assert (report["running"], report["store"]["writable"]) == (False, True)


@pytest.mark.req("J12", "W16")
def test_ctrl_c_stops_an_answer_of_the_chats_own_gateway(home, model):
    terminal = Terminal([sys.executable, "-m", "hermes", "chat"], environment(home, **model))
    terminal.wait_for("› ")
    terminal.type("abcdefghij [[deltas:4]][[hang:2]]\n")
    terminal.wait_for("#1 ab")

    terminal.type("\x03")

    terminal.wait_for("(interrupted")
    terminal.wait_for("› ")
    terminal.type("next\n")
    terminal.wait_for(" next")
    terminal.wait_for("tokens in")
    terminal.wait_for("› ")
    terminal.type("\x04")
    assert terminal.end() == 0
    terminal.close()
    assert not (home / "run" / "gateway.pid").exists()
    assert "event" in (home / "logs" / "chat.log").read_text()


@pytest.mark.req("W7")
def test_a_gateway_inside_a_chat_is_seen_by_status_and_told_by_why(home, hermes, model):
    terminal = Terminal([sys.executable, "-m", "hermes", "chat"], environment(home, **model))
    terminal.wait_for("› ")

    status, why = hermes("status"), hermes("why", "m_1")

    terminal.close()
    assert (status.returncode, why.returncode) == (0, 1)
    assert "hermes chat" in why.stderr


@pytest.mark.req("W7")
def test_up_loads_neither_typer_nor_rich():
    script = (
        "import sys\n"
        "sys.argv = ['hermes', 'up', '--port', 'nonsense']\n"
        "import hermes.__main__\n"
        "try:\n    hermes.__main__.main()\n"
        "except SystemExit as ended:\n    print(ended.code)\n"
        "print([name for name in ('hermes.app', 'typer', 'rich') if name in sys.modules])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "2\n['hermes.app']\n"
    assert "'nonsense' is not a port" in done.stderr


@pytest.mark.req("W7")
def test_the_help_of_up_names_exactly_the_options_that_up_takes():
    command = root().get_command(None, "up")
    shown = {option for one in command.params for option in one.opts}

    given = ["--home", "h", "--host", "0.0.0.0", "--port", "0", "--log-format", "json"]
    taken = parse([*given, "--replace", "--accept-lone-database", "--no-copy"])

    switches = {"--replace", "--accept-lone-database", "--no-copy"}
    assert shown == {"--home", "--host", "--port", "--log-format"} | switches
    choices = StartChoices(accepts_lone_database=True, copies_before_upgrade=False)
    assert taken == UpOptions(Path("h"), "0.0.0.0", 0, "json", replaces=True, choices=choices)


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    "arguments", [["--port", "65536"], ["--port", "-1"], ["--host", " "], ["--log-format", "xml"]]
)
def test_a_wrong_option_of_up_is_a_usage_error(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(arguments)

    assert ended.value.code == 2
    assert "error: argument" in capsys.readouterr().err


@pytest.mark.req("W1")
def test_options_win_over_the_settings_and_are_named_as_the_origin(tmp_path):
    loaded = load({"HERMES_SERVER__PORT": "8081"}, tmp_path)

    changed = overridden(loaded, UpOptions(port=0, log_format="json"))

    assert changed.settings.server.port == 0
    assert changed.settings.server.host == loaded.settings.server.host
    assert changed.settings.logs.format == "json"
    assert changed.origins["server.port"] == "option --port"
    assert changed.origins["logs.format"] == "option --log-format"
    assert loaded.settings.server.port == 8081
