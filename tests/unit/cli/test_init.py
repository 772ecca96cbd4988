"""`hermes init`: what is asked, what is tested by a real call, what is written and never replaced."""

import json
import re
import socket
import stat
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from hermes.config import load
from hermes.config.change import locked_files
from hermes.config.first_files import FirstChoices, config_text
from tests.unit.cli.conftest import environment
from tests.unit.cli.terminal import Terminal

KEY = "sk-the-key-of-the-test"


class ModelService:
    """A service that lists two models; `authorized` is with which keys it was asked."""

    def __init__(self) -> None:
        authorized: list[str | None] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                authorized.append(self.headers["Authorization"])
                body = b'{"object": "list", "data": [{"id": "small"}, {"id": "big-model"}]}'
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.authorized = authorized
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> "ModelService":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refuse_the_rest(terminal: Terminal) -> None:
    """Take neither the chat platform nor the start that are offered at the end."""
    terminal.wait_for("Add a chat platform now?")
    terminal.type("\n")
    terminal.wait_for("Start Hermes now?")
    terminal.type("n\n")


@pytest.fixture
def service(model: dict[str, str]) -> dict[str, str]:
    """Where the model server is, and no key for it."""
    return {"OPENAI_BASE_URL": model["OPENAI_BASE_URL"]}


@pytest.fixture
def init(home: Path, service: dict[str, str]):
    """Start the command on a terminal of its own."""
    opened: list[Terminal] = []

    def start(*arguments: str, **environ: str) -> Terminal:
        command = [sys.executable, "-m", "hermes", "init", *arguments]
        opened.append(Terminal(command, environment(home, **service, **environ)))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


@pytest.mark.req("W1")
def test_a_mistyped_service_is_asked_about_before_it_becomes_a_name_of_ones_own(init):
    terminal = init()
    terminal.wait_for("Which model service")
    terminal.type("opnai\n")
    terminal.wait_for("Did you mean openai?")

    terminal.type("\n")

    terminal.wait_for("Its key")


@pytest.mark.req("W1")
def test_a_name_of_ones_own_stays_if_that_is_what_was_meant(init):
    terminal = init()
    terminal.wait_for("Which model service")
    terminal.type("opnai\n")
    terminal.wait_for("Did you mean openai?")

    terminal.type("n\n")
    terminal.wait_for("Is it a server of your own")
    terminal.type("y\n")

    terminal.wait_for("What is its address?")


@pytest.mark.req("W1")
def test_it_asks_tests_the_key_and_writes_settings_that_load(init, home):
    terminal = init()
    for question, answer in (
        ("Which model service", "openai"),
        ("Its key", KEY),
        ("Which of its models?", ""),
        ("Which port", "0"),
        ("Which time zone", "Europe/Paris"),
        ("name?", 'Iris "the" librarian'),
    ):
        terminal.wait_for(question)
        terminal.type(answer + "\n")
    terminal.wait_for("openai answered after")
    refuse_the_rest(terminal)
    assert terminal.end() == 0

    loaded = load({}, home)
    assert KEY not in terminal.seen
    assert KEY not in (home / "config.yaml").read_text()
    assert (mode(home / ".env"), mode(home / "config.yaml")) == (0o600, 0o600)
    settings = loaded.settings
    assert loaded.warnings == ()
    key = settings.providers["openai"].api_key
    assert key is not None
    assert key.get_secret_value() == KEY
    assert (settings.server.port, settings.time_zone) == (0, "Europe/Paris")
    assert settings.agents["main"].name == 'Iris "the" librarian'


@pytest.mark.req("W1")
def test_without_a_terminal_it_wants_yes(hermes, home):
    done = hermes("init")

    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert list(home.iterdir()) == []


@pytest.mark.req("W1")
def test_for_scripts_the_key_comes_from_the_environment_or_a_pipe(hermes, home, service):
    options = ("init", "--yes", "--provider", "openai", "--json")
    first = hermes(*options, **service, OPENAI_API_KEY=KEY)
    told = json.loads(first.stdout)

    assert first.returncode == 0, first.stderr
    assert (told["tested"]["problem"], told["provider"]) == (None, "openai")
    assert told["files"] == [str(home / ".env"), str(home / "config.yaml")]
    assert f"OPENAI_API_KEY={KEY}\n" in (home / ".env").read_text()

    piped = hermes(*options, "--force", "--key-stdin", text="other-key\n", **service)
    assert piped.returncode == 0, piped.stderr
    assert "OPENAI_API_KEY=other-key\n" in (home / ".env").read_text()
    assert KEY in (home / ".env.old1").read_text()
    assert mode(home / ".env.old1") == 0o600


@pytest.mark.req("W1")
def test_a_service_that_does_not_answer_is_told_and_nothing_is_written(hermes, home):
    done = hermes(
        *("init", "--yes", "--provider", "mine", "--model", "m"),
        *("--base-url", "http://127.0.0.1:9/v1"),
    )

    assert done.returncode == 1
    assert "mine did not answer: " in done.stderr
    assert "--no-test" in done.stderr
    assert not (home / "config.yaml").exists()


@pytest.mark.req("W1")
def test_a_service_that_nobody_knows_is_refused_with_those_that_are_known(hermes, home):
    done = hermes("init", "--yes", "--provider", "opneai", "--model", "m", COLUMNS="400")
    own = hermes(
        *("init", "--yes", "--no-test", "--provider", "nosuch", "--model", "m"),
        *("--base-url", "http://127.0.0.1:9/v1"),
    )

    assert done.returncode == 2
    assert "'opneai' is not a model service that Hermes knows" in done.stderr
    assert "Did you mean openai?" in done.stderr
    assert "hermes, openrouter, anthropic," in done.stderr
    assert "minilm" not in done.stderr
    assert "--base-url" in done.stderr
    assert own.returncode == 0, own.stderr


@pytest.mark.req("W1")
def test_a_wrong_key_may_be_tried_again_or_kept_or_dropped(init, home):
    # given a service that is not there
    terminal = init(
        *("--provider", "mine", "--base-url", "http://127.0.0.1:9/v1", "--model", "m"),
        *("--port", "0", "--time-zone", "UTC", "--name", "Hermes"),
    )
    for question, answer in (
        ("Its key", "first-key"),
        ("Try another key?", "y"),
        ("Its key", "second-key"),
        ("Try another key?", "n"),
        ("Keep the settings anyway?", "y"),
    ):
        terminal.wait_for(question)
        terminal.type(answer + "\n")

    refuse_the_rest(terminal)
    assert terminal.end() == 0
    written = (home / ".env").read_text()
    assert "HERMES_PROVIDERS__MINE__API_KEY=second-key\n" in written
    assert "first-key" not in written


@pytest.mark.req("W1")
def test_nothing_that_is_there_is_replaced_without_asking(hermes, init, home):
    (home / "config.yaml").write_text("# mine\n")
    (home / ".env").write_text("# keep this\nOTHER=1\nOPENAI_API_KEY=old\n")

    refused = hermes("init", "--yes")
    terminal = init("--provider", "openai", "--no-test", "--port", "0", "--time-zone", "UTC",
                    "--name", "H", "--model", "m", OPENAI_API_KEY=KEY)  # fmt: skip
    terminal.wait_for("Keep it in .env")
    terminal.type("y\n")
    terminal.wait_for("config.yaml exists already")
    terminal.type("n\n")

    assert terminal.end() == 1
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    assert (home / "config.yaml").read_text() == "# mine\n"
    assert (home / ".env").read_text() == "# keep this\nOTHER=1\nOPENAI_API_KEY=old\n"

    forced = hermes("init", "--yes", "--force", "--no-test", "--provider", "openai",
                    OPENAI_API_KEY=KEY)  # fmt: skip
    assert forced.returncode == 0, forced.stderr
    assert (home / ".env").read_text() == f"# keep this\nOTHER=1\nOPENAI_API_KEY={KEY}\n"
    assert (home / "config.yaml.old1").read_text() == "# mine\n"


@pytest.mark.req("W1")
def test_every_commented_example_of_the_written_file_is_valid(tmp_path):
    choices = FirstChoices(provider="openai", model="m", time_zone="UTC")
    text = config_text(choices)
    keys = re.sub(r"^(\s*)# (?=\s*[a-z_]+:)", r"\1", text, flags=re.MULTILINE)
    (tmp_path / "config.yaml").write_text(keys)

    loaded = load({"TELEGRAM_BOT_TOKEN": "1:a"}, tmp_path)

    assert yaml.safe_load(keys)["server"]["host"] == "127.0.0.1"
    assert loaded.settings.budgets.platform_day_usd == 5
    assert loaded.settings.platforms["telegram"].home_channel == "123456"
    assert loaded.settings.access.platforms["telegram"].allow_from == ("123456",)


def test_a_mistyped_service_is_asked_about_and_parts_and_numbers_choose(init, home):
    terminal = init("--no-test", "--model", "m", "--port", "0", "--time-zone", "UTC", "--name", "H")
    terminal.wait_for("Which model service")
    terminal.type("opnai\n")
    terminal.wait_for("Did you mean openai?")
    terminal.type("n\n")
    terminal.wait_for("Is it a server of your own")
    terminal.type("n\n")
    # all are listed again
    terminal.wait_for("1 hermes")
    terminal.type("open\n")
    # two have it in their names, and the number chooses among these
    terminal.wait_for("2 openai")
    terminal.type("2\n")
    terminal.wait_for("Its key")
    terminal.type(KEY + "\n")
    refuse_the_rest(terminal)

    assert terminal.end() == 0
    assert "openai" in yaml.safe_load((home / "config.yaml").read_text())["providers"]


def test_the_models_that_the_service_lists_are_offered(init, home):
    with ModelService() as listing:
        terminal = init(
            *("--no-test", "--provider", "mine", "--base-url", listing.url),
            *("--port", "0", "--time-zone", "UTC", "--name", "H"),
        )
        terminal.wait_for("Its key")
        terminal.type(KEY + "\n")
        terminal.wait_for("2 big-model")
        terminal.type("big\n")
        refuse_the_rest(terminal)
        assert terminal.end() == 0

    assert listing.authorized == [f"Bearer {KEY}"]
    written = yaml.safe_load((home / "config.yaml").read_text())
    assert written["providers"]["mine"]["model"] == "big-model"


def test_a_service_without_a_list_is_asked_about_in_words(init, home):
    terminal = init(
        *("--no-test", "--provider", "mine", "--base-url", "http://127.0.0.1:9/v1"),
        *("--port", "0", "--time-zone", "UTC", "--name", "H"),
    )
    terminal.wait_for("Its key")
    terminal.type("\n")
    terminal.wait_for("mine does not list its models")
    terminal.wait_for("Which of its models?")
    terminal.type("my-model\n")
    refuse_the_rest(terminal)

    assert terminal.end() == 0
    assert "my-model" in (home / "config.yaml").read_text()


@pytest.mark.parametrize(
    "until", ["Which model service", "Its key", "Which time zone", "config.yaml exists already"]
)
def test_ctrl_c_leaves_nothing_half_written(init, home, until):
    if until.startswith("config.yaml"):
        (home / "config.yaml").write_text("# mine\n")
    before = sorted(home.iterdir())
    terminal = init("--no-test", "--model", "m", "--port", "0", "--name", "H")
    answers = {"Which model service": "openai", "Its key": KEY, "Which time zone": "UTC"}
    for question, answer in answers.items():
        terminal.wait_for(question)
        if question == until:
            break
        terminal.type(answer + "\n")
    else:
        terminal.wait_for(until)

    assert terminal.interrupt() == 130
    assert "Nothing was written." in terminal.plain()
    assert "Aborted" not in terminal.plain()
    assert sorted(home.iterdir()) == before
    assert KEY not in terminal.seen


def test_ctrl_c_while_a_service_is_asked_for_its_models_says_that_nothing_was_written(init, home):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        terminal = init("--no-test", "--provider", "own", "--base-url", url, "--port", "0")
        terminal.wait_for("Its key")
        terminal.type(KEY + "\n")
        asked, _ = silent.accept()
        with asked:
            asked.recv(1)
            terminal.type("\x03")

            assert terminal.end() == 130
    assert "Nothing was written." in terminal.plain()
    assert "Traceback" not in terminal.plain()
    assert list(home.iterdir()) == []


def test_a_wrong_port_and_a_wrong_time_zone_are_asked_for_again(init, home):
    terminal = init("--no-test", "--provider", "local", "--name", "H")
    terminal.wait_for("Which port")
    terminal.type("70000\n")
    terminal.wait_for("from 0 to 65535")
    terminal.wait_for("Which port")
    terminal.type("0\n")
    terminal.wait_for("Which time zone")
    terminal.type("Mars/Base\n")
    terminal.wait_for("is not a time zone")
    terminal.wait_for("Which time zone")
    terminal.type("UTC\n")
    refuse_the_rest(terminal)

    assert terminal.end() == 0
    settings = load({}, home).settings
    assert (settings.server.port, settings.time_zone) == (0, "UTC")


def test_it_adds_a_chat_platform_and_starts_the_gateway(init, home, service):
    terminal = init(
        *("--no-test", "--provider", "openai", "--model", "m"),
        *("--port", "0", "--time-zone", "UTC", "--name", "H"),
    )
    terminal.wait_for("Its key")
    terminal.type(KEY + "\n")
    # every platform that comes along is offered, plugins included
    assert "irc" in terminal.wait_for("Add a chat platform now?")
    # one that cannot be set up now does not undo what was written
    terminal.type("nosuch\n")
    terminal.wait_for("There is no platform 'nosuch'.")
    terminal.wait_for("Add a chat platform now?")
    terminal.type("n\n")
    terminal.wait_for("Start Hermes now?")
    terminal.type("y\n")
    terminal.wait_for("is running.")
    terminal.type("\x03")

    assert terminal.end() == 0
    assert (home / "config.yaml").exists()


def test_two_commands_never_write_the_files_at_once(hermes, home):
    add = ("channels", "add", "irc", "--set=server=irc.example", "--no-test")
    init = ("init", "--yes", "--no-test", "--provider", "local", "--model", "m")
    with locked_files(home):
        refused = [hermes(*init), hermes(*add)]

    for done in refused:
        assert done.returncode == 1
        assert "Another command changes the configuration" in done.stderr
    assert list(home.glob("config.yaml*")) == []
    assert hermes(*add).returncode == 0
