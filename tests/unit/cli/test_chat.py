import json
import stat
import sys

import pytest

from tests.unit.cli.conftest import environment
from tests.unit.cli.terminal import Terminal

CTRL_C, CTRL_D = "\x03", "\x04"


@pytest.fixture
def chat(home, gateway):
    opened = []

    def start(*arguments: str) -> Terminal:
        command = [sys.executable, "-m", "hermes", "chat", *arguments]
        terminal = Terminal(command, environment(home))
        opened.append(terminal)
        terminal.wait_for("› ")
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


@pytest.mark.req("W19")
def test_a_message_is_answered_with_what_it_took(chat):
    terminal = chat()

    terminal.type("hello there\n")

    terminal.wait_for("You said: hello there")
    terminal.wait_for("stand-in · 2 tokens in, 4 out · $0.000012 · m_")
    terminal.wait_for("› ")
    terminal.type(CTRL_D)
    assert terminal.end() == 0


@pytest.mark.req("W19")
def test_markdown_is_rendered_and_the_status_is_shown_while_waiting(chat):
    terminal = chat()

    terminal.type("loud\n")

    terminal.wait_for("Title")
    shown = terminal.wait_for("tokens in")
    assert "some bold text" in shown
    assert "**" not in shown


@pytest.mark.req("W16", "W18", "J12")
def test_ctrl_c_stops_the_answer_and_keeps_the_chat(chat):
    terminal = chat()
    terminal.type("slow\n")
    terminal.wait_for("one moment")

    terminal.type(CTRL_C)

    terminal.wait_for("(interrupted")
    terminal.wait_for("› ")
    terminal.type("next\n")
    terminal.wait_for("You said: next")
    assert "never reached" not in terminal.plain()


@pytest.mark.req("W18")
def test_ctrl_c_twice_at_the_prompt_leaves_and_once_does_not(chat):
    terminal = chat()

    terminal.type(CTRL_C)
    terminal.wait_for("Ctrl-C again leaves.")
    terminal.wait_for("› ")
    terminal.type("still here\n")
    terminal.wait_for("You said: still here")
    terminal.wait_for("tokens in")
    terminal.wait_for("› ")
    terminal.type(CTRL_C)
    terminal.wait_for("Ctrl-C again leaves.")
    terminal.wait_for("› ")
    terminal.type(CTRL_C)

    assert terminal.end() == 0


@pytest.mark.req("W18")
def test_help_tells_of_the_prompt_and_of_the_gateway_and_new_is_answered_here(chat, home):
    terminal = chat()
    conversation = home / "chat" / "conversation"
    before = conversation.read_text()

    terminal.type("/help\n")
    terminal.wait_for("start a new conversation")
    terminal.wait_for("You said: /help")
    terminal.wait_for("› ")
    terminal.type("/new\n")
    terminal.wait_for("Started a new conversation.")

    assert conversation.read_text() != before


@pytest.mark.req("W18")
def test_a_message_can_have_several_lines(chat):
    terminal = chat()

    terminal.type("first\\\nsecond\n")
    terminal.wait_for("You said: first")
    terminal.wait_for("2 tokens in")
    terminal.wait_for("› ")
    terminal.type('"""\none\ntwo\nthree\n"""\n')

    terminal.wait_for("You said: one")
    terminal.wait_for("3 tokens in")


@pytest.mark.req("A6", "A8")
def test_a_failure_is_shown_with_its_reason_and_the_chat_goes_on(chat):
    terminal = chat()

    terminal.type("fail\n")

    terminal.wait_for("Something went wrong")
    terminal.wait_for("(failed: no model is there)")
    terminal.wait_for("› ")


@pytest.mark.req("W35")
def test_a_reply_cannot_take_over_the_terminal(chat):
    terminal = chat()

    terminal.type("odd\n")

    terminal.wait_for("before")
    terminal.wait_for("tokens in")
    assert "\x1b]0;" not in terminal.seen


@pytest.mark.req("A8")
def test_a_gateway_that_went_away_is_told_and_the_prompt_stays(chat, gateway):
    terminal = chat()
    gateway.kill()
    gateway.wait()

    terminal.type("hello\n")

    terminal.wait_for("does not answer")
    terminal.wait_for("› ")


@pytest.mark.req("W18")
def test_typed_lines_are_remembered_privately(chat, home):
    terminal = chat()
    terminal.type("remember me\n")
    terminal.wait_for("You said: remember me")
    terminal.wait_for("› ")
    terminal.type(CTRL_D)
    terminal.end()

    again = chat()
    again.type("\x1b[A\n")

    again.wait_for("You said: remember me")
    history = home / "chat" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


@pytest.mark.req("W22")
def test_the_conversation_goes_on_in_the_next_run_unless_it_is_new(hermes, gateway):
    first = json.loads(hermes("chat", "--message", "a", "--json").stdout)
    second = json.loads(hermes("chat", "--message", "b", "--json").stdout)
    third = json.loads(hermes("chat", "--new", "--message", "c", "--json").stdout)
    fourth = json.loads(hermes("chat", "--message", "d", "--json").stdout)

    assert first["conversation"] == second["conversation"]
    assert third["conversation"] == fourth["conversation"]
    assert third["conversation"] != first["conversation"]


@pytest.mark.req("A30")
def test_a_script_gets_only_the_reply_or_all_of_it_as_json(hermes, gateway):
    plain = hermes("chat", "--message", "hello")
    told = hermes("chat", "-m", "hello", "--json")

    assert (plain.returncode, plain.stdout, plain.stderr) == (0, "You said: hello\n", "")
    answer = json.loads(told.stdout)
    assert (answer["reply"], answer["outcome"], answer["model"]) == (
        "You said: hello",
        "answered",
        "stand-in",
    )


@pytest.mark.req("A6")
def test_a_script_sees_a_failure_in_the_exit_code(hermes, gateway):
    done = hermes("chat", "--message", "fail")

    assert done.returncode == 1
    assert done.stdout.startswith("Something went wrong")


@pytest.mark.req("W18")
def test_a_message_can_come_from_a_pipe_whole(hermes, gateway):
    done = hermes("chat", "--message", "-", text="one\ntwo\n")

    assert done.stdout == "You said: one\ntwo\n"


@pytest.mark.req("W18")
def test_an_empty_message_is_refused_before_it_is_sent(hermes, gateway):
    done = hermes("chat", "--message", " ")

    assert done.returncode == 1
    assert "empty" in done.stderr


@pytest.mark.req("W18")
@pytest.mark.parametrize("word", ["/exit", "/quit"])
def test_words_of_other_programs_leave_the_chat(chat, hermes, word):
    terminal = chat()
    terminal.type(word + "\n")

    assert terminal.end() == 0
    assert hermes("chat", text=f"hello\n{word}\nloud\n").stdout == "You said: hello\n"


@pytest.mark.req("W18")
def test_a_pipe_talks_line_by_line_without_control_codes(hermes, gateway):
    done = hermes("chat", text="hello\n\n/new\nloud\ntool\n")

    assert done.returncode == 0
    assert done.stdout == "You said: hello\n# Title\n\nsome **bold** text\nfound it\n"


@pytest.mark.req("W18", "W35")
def test_a_running_gateway_is_reached_although_its_configuration_is_wrong_now(
    hermes, gateway, home
):
    (home / "config.yaml").write_text("server: {prot: 1}\n")

    done = hermes("chat", "--message", "hello")

    assert (done.returncode, done.stdout) == (0, "You said: hello\n"), done.stderr
