import io
import json
import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest
import structlog

from hermes.config import load
from hermes.ops.log_stream import LogStream, RotatingFile
from hermes.ops.logs import Fields, LogPlan, plan_of, secrets_in, set_up
from hermes.ports.clock import SystemClock
from hermes.testing.manual_time import ManualClock


class Out(io.BytesIO):
    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.getvalue().splitlines()]


@pytest.fixture(autouse=True)
def plain_logging():
    root, level = logging.getLogger(), logging.getLogger().level
    handlers = root.handlers[:]
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def make_logs():
    made = []

    def make(plan: LogPlan | None = None, secrets: tuple[str, ...] = (), *, terminal: bool = False):
        out = Out(terminal=terminal)
        logs = set_up(plan or LogPlan(), secrets, clock=ManualClock(1_700_000_000.25), stream=out)
        made.append(logs)
        return logs, out

    yield make
    for logs in made:
        logs.close()


@pytest.mark.req("W35")
def test_a_line_is_json_with_a_utc_time_a_level_and_the_callers_keys(make_logs):
    logs, out = make_logs()

    structlog.get_logger().info("turn.committed", message_id="m_1", lane="agent:main:rest:dm:1")
    logs.flush()

    assert out.lines() == [
        {
            "time": "2023-11-14T22:13:20.250Z",
            "level": "info",
            "event": "turn.committed",
            "message_id": "m_1",
            "lane": "agent:main:rest:dm:1",
        }
    ]


@pytest.mark.req("W35")
def test_context_is_on_every_line_of_its_block(make_logs):
    logs, out = make_logs()

    with structlog.contextvars.bound_contextvars(message_id="m_1"):
        structlog.get_logger().info("inside")
    structlog.get_logger().info("outside")
    logs.flush()

    assert [line.get("message_id") for line in out.lines()] == ["m_1", None]


@pytest.mark.req("W35")
def test_secrets_are_hidden_in_values_errors_and_library_logs(make_logs):
    logs, out = make_logs(secrets=("hunter2hunter2",))
    logs.hide("made-at-start")

    structlog.get_logger().info("a", url="http://x/hunter2hunter2", token="abc", n=1)
    logging.getLogger("aiohttp").warning("sent %s", "Bearer made-at-start")
    try:
        raise ValueError("bad key hunter2hunter2")
    except ValueError:
        structlog.get_logger().exception("failed")

    written = out.getvalue().decode()
    assert "hunter2" not in written
    assert "made-at-start" not in written
    first, second, third = out.lines()
    assert (first["url"], first["token"], first["n"]) == ("http://x/****", "****", 1)
    assert second["logger"] == "aiohttp"
    assert third["error"] == "ValueError: bad key ****"
    assert "Traceback" in third["traceback"]


@pytest.mark.req("W35")
def test_every_secret_of_the_settings_is_known(tmp_path):
    (tmp_path / "config.yaml").write_text(
        "providers:\n  openai:\n    api_key: sk-from-the-file\n    headers: {X-Key: header-secret}\n"
        "platforms:\n  telegram:\n    extra: {bot_token: 'telegram-secret'}\n"
    )
    environ = {"ANTHROPIC_API_KEY": "anthropic-secret"}

    found = secrets_in(load(environ, tmp_path).settings)

    assert {"sk-from-the-file", "header-secret", "telegram-secret", "anthropic-secret"} <= found


@pytest.mark.req("W35")
def test_info_waits_in_the_buffer_and_a_warning_writes_everything_at_once(make_logs):
    _, out = make_logs()
    log = structlog.get_logger()

    log.info("first")
    assert out.getvalue() == b""
    log.warning("second")

    assert [line["event"] for line in out.lines()] == ["first", "second"]


@pytest.mark.req("W35")
def test_a_quiet_line_is_out_within_a_second_by_itself():
    class Signalled(Out):
        def __init__(self) -> None:
            super().__init__()
            import threading

            self.flushed = threading.Event()

        def flush(self) -> None:
            self.flushed.set()

    out = Signalled()
    stream = LogStream(out)

    stream.write(b"one\n")

    assert out.flushed.wait(10)
    assert out.getvalue() == b"one\n"
    stream.close()


@pytest.mark.req("W35")
def test_the_end_of_the_process_writes_what_was_still_kept():
    script = (
        "import structlog, sys\n"
        "from hermes.ops.logs import LogPlan, set_up\n"
        "from hermes.ports.clock import SystemClock\n"
        "set_up(LogPlan(format='json'), (), clock=SystemClock())\n"
        "structlog.get_logger().info('last words')\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    assert json.loads(done.stderr)["event"] == "last words"


@pytest.mark.req("W35")
def test_levels_below_the_plan_are_left_out_for_our_lines_and_for_libraries(make_logs):
    logs, out = make_logs(LogPlan(level="warning"))

    structlog.get_logger().info("no")
    logging.getLogger("uvicorn.error").info("no")
    logging.getLogger("uvicorn.error").warning("yes")
    logs.flush()

    assert [line["event"] for line in out.lines()] == ["yes"]


@pytest.mark.req("W35")
def test_auto_is_for_people_on_a_terminal_and_json_elsewhere(make_logs):
    logs, out = make_logs(terminal=True)
    structlog.get_logger().info("turn.committed", lane="a:b", text="two words", n=None)
    logs.flush()

    assert out.getvalue().decode() == (
        "2023-11-14T22:13:20.250Z \x1b[32minfo    \x1b[0m turn.committed"
        " lane=a:b text='two words' n=None\n"
    )


@pytest.mark.req("W35")
def test_what_json_cannot_say_is_written_as_text_and_never_raises(make_logs):
    logs, out = make_logs()

    structlog.get_logger().info("odd", path=Path("/x"), surrogate="\ud800", error=ValueError("v"))
    structlog.get_logger().info("next")
    logs.flush()

    odd, following = out.lines()
    assert (odd["event"], odd["time"]) == ("odd", "2023-11-14T22:13:20.250Z")
    assert "ValueError" in odd["error"]
    assert following["event"] == "next"


@pytest.mark.req("W35")
def test_a_secret_beside_what_json_cannot_say_is_hidden(make_logs):
    logs, out = make_logs(secrets=("pa'ss\"wörd",))

    structlog.get_logger().info("odd", problem="no pa'ss\"wörd here", surrogate="\ud800")
    logs.flush()

    (line,) = out.lines()
    assert (line["problem"], line["surrogate"]) == ("no **** here", "\\ud800")


@pytest.mark.req("W35")
def test_a_log_that_cannot_be_written_is_counted_and_stops_nobody():
    class Broken(Out):
        def write(self, _content: object) -> int:
            raise OSError(28, "No space left on device")

    stream = LogStream(Broken())

    stream.write_now(b"lost\n")

    assert stream.lost == 1
    stream.close()


@pytest.mark.req("W35")
def test_the_file_is_private_and_starts_anew_at_its_size(tmp_path):
    path = tmp_path / "logs" / "gateway.log"
    file = RotatingFile(path, max_bytes=10, keep=2)

    for line in (b"first--\n", b"second-\n", b"third--\n", b"fourth-\n"):
        file.write(line)
    file.close()

    kept = {one.name: one.read_bytes() for one in path.parent.iterdir()}
    assert kept == {
        "gateway.log": b"fourth-\n",
        "gateway.log.1": b"third--\n",
        "gateway.log.2": b"second-\n",
    }
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("W35")
def test_the_plan_follows_the_settings(tmp_path):
    environ = {"HERMES_LOGS__FILE": "logs/gateway.log", "HERMES_LOGS__LEVEL": "debug"}

    plan = plan_of(load(environ, tmp_path).settings.logs, tmp_path)

    assert plan == LogPlan(level="debug", format="auto", file=tmp_path / "logs" / "gateway.log")


@pytest.mark.req("W35")
def test_a_line_is_cheap():
    class Nowhere(Out):
        def write(self, content: object) -> int:
            return 0

    secrets = tuple(f"secret-number-{number}" for number in range(8))
    logs = set_up(LogPlan(format="json"), secrets, clock=SystemClock(), stream=Nowhere())
    log = structlog.get_logger()
    rounds = []
    for _ in range(5):
        start = time.thread_time()
        for _ in range(1000):
            log.info(
                "turn.committed",
                message_id="m_0k3v9c2h6l1g",
                lane="agent:main:rest:dm:1",
                model="local:smollm2",
                tokens_in=120,
                tokens_out=33,
            )
        rounds.append(time.thread_time() - start)
    logs.close()

    assert min(rounds) * 1000 < 15 * 2, "microseconds a line, with room for a busy machine"


@pytest.mark.req("W35")
def test_a_terminal_gets_lines_for_people_and_the_file_the_same_as_json(make_logs, tmp_path):
    logs, out = make_logs(
        LogPlan(file=tmp_path / "a.log"), secrets=("hunter2hunter2",), terminal=True
    )

    structlog.get_logger().info("turn", key="hunter2hunter2")
    logging.getLogger("aiohttp").warning("odd")
    logs.flush()

    assert b"\x1b[32minfo" in out.getvalue()
    lines = [json.loads(line) for line in (tmp_path / "a.log").read_text().splitlines()]
    assert [(line["event"], line["level"]) for line in lines] == [
        ("turn", "info"),
        ("odd", "warning"),
    ]
    assert "hunter2" not in (tmp_path / "a.log").read_text() + out.getvalue().decode()


@pytest.mark.req("A31", "W35")
def test_a_listener_hears_warnings_below_the_level_without_secrets(make_logs):
    logs, out = make_logs(LogPlan(level="error"), secrets=("hunter2hunter2",))
    heard: list[Fields] = []
    logs.listen(heard.append)

    structlog.get_logger().info("unheard")
    structlog.get_logger().warning("heard", problem="key hunter2hunter2", token="abc")
    structlog.get_logger().error("written")
    logs.set_level("warning")
    structlog.get_logger().warning("written too")
    logs.flush()

    assert [line["event"] for line in heard] == ["heard", "written", "written too"]
    assert (heard[0]["problem"], heard[0]["token"]) == ("key ****", "****")
    assert [line["event"] for line in out.lines()] == ["written", "written too"]
