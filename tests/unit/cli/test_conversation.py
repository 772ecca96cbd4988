import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import msgspec
import pytest
from rich.console import Console

from hermes.cli.chat_screen import PlainScreen, parked_text, show_answer
from hermes.cli.conversation import (
    Conversation,
    MessageResult,
    OutgoingMessage,
    PastMessage,
    ReplyFile,
)
from hermes.cli.server_events import ServerEvent, read_events
from hermes.errors import Refused, StreamTruncated
from hermes.ports.approvals import OpenApproval


def done(text: str, **more: object) -> ServerEvent:
    data = {"id": "m_1", "state": "done", "outcome": "answered", "reply": text, **more}
    return ServerEvent("done", data)


def delta(text: str) -> ServerEvent:
    return ServerEvent("delta", {"text": text})


PARKED = ServerEvent("parked", {"id": "m_1", "state": "parked", "approval": "a_1"})
Play = list[ServerEvent | type[BaseException]]


class PlayedLine:
    """A line whose answers are written down beforehand, in the order in which they are asked."""

    def __init__(self, *plays: Play) -> None:
        self._plays = list(plays)
        self.sent: list[OutgoingMessage] = []

    @contextmanager
    def send(self, message: OutgoingMessage) -> Iterator[Iterator[ServerEvent]]:
        self.sent.append(message)
        yield self._play(self._plays.pop(0))

    def past(self, conversation_id: str, *, agent: str | None) -> tuple[PastMessage, ...]:
        return ()

    def _play(self, play: Play) -> Iterator[ServerEvent]:
        for move in play:
            if isinstance(move, type):
                raise move("the line broke")
            yield move


class Recorder:
    def __init__(self) -> None:
        self.moves: list[str] = []

    def restart(self) -> None:
        self.moves.append("restart")

    def add(self, text: str) -> None:
        self.moves.append(f"+{text}")

    def note(self, text: str) -> None:
        self.moves.append(f"({text})")

    def tool(self, name: str) -> None:
        self.moves.append(f"(tool {name})")

    def say(self, text: str) -> None:
        self.moves.append(f"! {text}")


def talk(*plays: Play) -> tuple[Conversation, PlayedLine, Recorder]:
    line = PlayedLine(*plays)
    numbers = count(1)
    conversation = Conversation(line, "c_1", make_id=lambda prefix: f"{prefix}_{next(numbers)}")
    return conversation, line, Recorder()


@pytest.mark.req("W19")
def test_an_answer_is_shown_piece_by_piece_with_what_happens_beside_it():
    conversation, line, screen = talk(
        [
            ServerEvent("accepted", {"id": "m_1"}),
            ServerEvent("status", {"text": "loading the model"}),
            ServerEvent("tool", {"name": "search"}),
            delta("a"),
            ServerEvent("snapshot", {"text": "ab"}),
            delta("c"),
            done("abc", model="m", tokens_in=1, tokens_out=2, cost_usd=0.5),
        ]
    )

    answer = conversation.ask("hi", screen)

    assert screen.moves == ["(loading the model)", "(tool search)", "+a", "restart", "+ab", "+c"]
    assert answer == MessageResult(
        id="m_1",
        state="done",
        outcome="answered",
        reply="abc",
        model="m",
        tokens_in=1,
        tokens_out=2,
        cost_usd=0.5,
    )
    assert line.sent == [OutgoingMessage(sender="cli", text="hi", conversation="c_1", id="x_1")]


@pytest.mark.req("A8", "J1")
def test_a_broken_stream_is_picked_up_under_the_same_id():
    conversation, line, screen = talk([delta("a"), StreamTruncated], [delta("ab")], [done("abc")])

    answer = conversation.ask("hi", screen)

    assert answer.reply == "abc"
    assert [message.id for message in line.sent] == ["x_1", "x_1", "x_1"]


@pytest.mark.req("A8")
def test_a_stream_that_keeps_breaking_is_an_error_in_the_end():
    conversation, line, screen = talk([], [], [], [])

    with pytest.raises(StreamTruncated, match="The message is kept"):
        conversation.ask("hi", screen)

    assert len(line.sent) == 4


@pytest.mark.req("W16", "J12")
def test_ctrl_c_sends_stop_and_then_shows_how_the_answer_ended():
    conversation, line, screen = talk(
        [delta("a"), KeyboardInterrupt],
        [done("Stopped.")],
        [done("a", outcome="interrupted")],
    )

    answer = conversation.ask("hi", screen)

    assert answer.outcome == "interrupted"
    assert [(message.text, message.id) for message in line.sent] == [
        ("hi", "x_1"),
        ("/stop", "x_2"),
        ("hi", "x_1"),
    ]
    assert "+Stopped." not in screen.moves


@pytest.mark.req("J9")
def test_after_an_approval_the_parked_message_is_followed_on():
    conversation, line, screen = talk([PARKED], [done("Approved.")], [delta("mail"), done("mail")])

    parked = conversation.ask("send it", screen)
    assert (parked.state, parked.is_good, conversation.is_parked) == ("parked", True, True)
    answer = conversation.ask_parked("/approve a_1", screen)

    assert answer.reply == "mail"
    assert not conversation.is_parked
    assert [message.id for message in line.sent] == ["x_1", "x_2", "x_1"]


@pytest.mark.req("J9", "W37")
def test_a_question_is_answered_and_its_message_followed_on_until_its_end():
    asked = ServerEvent("question", {"id": "q_1", "text": "Where to?"})
    days = ServerEvent("question", {"id": "q_1", "text": "days"})
    conversation, line, screen = talk(
        [asked], [done("days")], [days], [done("Thank you.")], [done("booked")]
    )

    first = conversation.ask("book it", screen)
    assert (first.state, first.reply, conversation.is_asked) == ("asked", "Where to?", True)
    second = conversation.ask_parked("Rome", screen)
    assert (second.reply, conversation.is_asked) == ("days", True)
    last = conversation.ask_parked("3", screen)

    assert last.reply == "booked"
    assert not conversation.is_asked
    assert [message.id for message in line.sent] == ["x_1", "x_2", "x_1", "x_3", "x_1"]


@pytest.mark.req("J9")
def test_a_decision_that_failed_leaves_the_message_parked():
    conversation, _, screen = talk([PARKED], [done("no", outcome="refused")])

    conversation.ask("send it", screen)
    answer = conversation.ask_parked("/approve a_2", screen)

    assert answer.outcome == "refused"
    assert conversation.is_parked


@pytest.mark.req("A8")
def test_an_error_event_is_raised_with_its_text():
    conversation, _, screen = talk([ServerEvent("error", {"message": "the door is closed"})])

    with pytest.raises(Refused, match="the door is closed"):
        conversation.ask("hi", screen)


@pytest.mark.req("W22")
def test_a_renewed_conversation_has_a_new_id():
    conversation, line, screen = talk([done("a")])

    conversation.renew()
    conversation.ask("hi", screen)

    assert line.sent[0].conversation == "c_1"
    assert line.sent[0].id == "x_2"


@pytest.mark.req("W19")
def test_events_are_read_over_comments_line_ends_and_several_data_lines():
    raw = b': keep alive\r\n\r\nevent: delta\r\ndata: {"text":\r\ndata: "a"}\r\n\r\ndata:{"x":1}\n\ndata: {'

    events = list(read_events(raw.splitlines(keepends=True)))

    assert events == [ServerEvent("delta", {"text": "a"}), ServerEvent("message", {"x": 1})]


@pytest.mark.req("W19")
def test_an_event_that_is_no_json_object_is_a_clear_error():
    with pytest.raises(StreamTruncated, match="not a JSON object"):
        list(read_events([b"data: [1]\n", b"\n"]))


def an_answer(reply: str, **more: object) -> MessageResult:
    return MessageResult(id="m_1", state="done", outcome="answered", reply=reply, **more)  # type: ignore[arg-type]


@pytest.mark.req("W19")
@pytest.mark.parametrize(
    ("pieces", "reply", "printed"),
    [
        (["a", "b"], "abc", "abc\n"),
        ([], "all at once", "all at once\n"),
        (["draft"], "final", "draft\nfinal\n"),
        (["a\x1b[2Jb"], "a\x1b[2Jb", "a[2Jb\n"),
        (["line\n"], "line\n", "line\n"),
        ([], "", ""),
    ],
)
def test_a_plain_screen_prints_everything_once_and_ends_the_line(pieces, reply, printed):
    out = io.StringIO()
    screen = PlainScreen(out)

    for piece in pieces:
        screen.add(piece)
    screen.finish(an_answer(reply))

    assert out.getvalue() == printed


@pytest.mark.req("W19")
def test_a_plain_screen_prints_nothing_twice_when_the_text_comes_again():
    out = io.StringIO()
    screen = PlainScreen(out)

    screen.add("ab")
    screen.restart()
    screen.add("abc")
    screen.finish(an_answer("abcd"))
    screen.add("next")
    screen.finish(an_answer("next"))

    assert out.getvalue() == "abcd\nnext\n"


@pytest.mark.req("J9")
def test_a_plain_screen_says_how_to_approve():
    out = io.StringIO()

    PlainScreen(out).finish(MessageResult(id="m_1", state="parked", approval="a_1"))

    assert "/approve a_1" in out.getvalue()
    assert "/deny a_1" in out.getvalue()


@pytest.mark.req("J9", "W19")
def test_a_new_message_says_what_it_has_denied_and_the_answer_follows():
    denied = {"approval": "a_1", "tool": "shell"}
    conversation, line, screen = talk(
        [PARKED], [ServerEvent("accepted", {"id": "m_2", "denied": denied}), done("Six o'clock.")]
    )
    conversation.ask("delete it", screen)
    waited = conversation.is_parked

    answer = conversation.ask("what time is it?", screen)

    assert answer.reply == "Six o'clock."
    assert screen.moves == ["! Denied: shell was not run, because you wrote something else."]
    assert (waited, conversation.is_parked) == (True, False)
    assert all(message.denies_approval for message in line.sent)


WAITS = OpenApproval(tool="pay", arguments='{"amount":7}\x1b[2J', expires_at=1_800_000_000.0)
ASKED_TO_PAY = MessageResult(
    id="m_1", state="parked", approval="a_1", waits=WAITS, reply="May I run pay with 7?"
)


@pytest.mark.req("J9", "W19")
def test_an_approval_is_told_once_on_a_terminal_and_in_a_pipe():
    out, shown = io.StringIO(), io.StringIO()

    PlainScreen(out).finish(ASKED_TO_PAY)
    show_answer(Console(file=shown, width=1_000), ASKED_TO_PAY)

    for text in (out.getvalue(), shown.getvalue()):
        assert text.count("May I run pay") == 1
        assert text.startswith(
            'May I run pay with {"amount":7}[2J? This waits for your answer until '
        )
        assert ": /approve a_1 allows it, /deny a_1 refuses it." in text


@pytest.mark.req("J9")
def test_an_approval_that_an_admin_decides_says_so():
    waits = msgspec.structs.replace(WAITS, by_admins=True)

    assert "waits for an admin's answer until " in parked_text(
        msgspec.structs.replace(ASKED_TO_PAY, waits=waits)
    )


def test_files_of_a_reply_are_named_where_a_terminal_cannot_show_them() -> None:
    files = (ReplyFile("report.pdf"), ReplyFile(url="https://example.org/a.png"))
    answer = MessageResult(id="m_1", state="done", reply="Here.", files=files)
    assert answer.said == (
        "Here.\n(report.pdf: /api/messages/m_1/files/reply/0)\n(a file: https://example.org/a.png)"
    )
    assert MessageResult(id="m_1", state="done").said == ""
