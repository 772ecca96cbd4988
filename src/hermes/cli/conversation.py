"""One conversation of the terminal chat with the gateway: send, follow the answer, stop it.

`GatewayTransport` reaches the gateway: over HTTP if one runs, otherwise in this process. Every
message carries our own id, so sending it again only fetches its answer: a broken connection, a stop
or an approval loses nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol
from urllib.parse import quote, urlencode

import msgspec

from hermes.cli.gateway_client import GatewayClient
from hermes.cli.server_events import ServerEvent
from hermes.errors import Refused, StreamTruncated
from hermes.message.ids import MakeId
from hermes.message.owner import TERMINAL
from hermes.ports.approvals import OpenApproval
from hermes.ports.channel import DeniedApproval

SENDER = TERMINAL[1]
_PICK_UPS = 3
# What an editor is told of a conversation that it opens again; a page of it more is possible.
MOST_PAST = 500
# The state of a message whose tool waits for the answer to a question.
ASKED = "asked"


class OutgoingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message as the REST API takes it."""

    sender: str
    text: str
    conversation: str
    id: str
    denies_approval: bool = True
    agent: str | None = None


class CalledTool(msgspec.Struct, frozen=True):
    """One call of a tool; `arguments` is the JSON text that the model wrote."""

    name: str
    arguments: str = ""
    failed: bool = False


class ReplyFile(msgspec.Struct, frozen=True):
    """A file of a reply; one that is elsewhere has an `url`."""

    name: str = ""
    url: str = ""


class MessageResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a message ended, as the REST API reports it."""

    id: str
    state: str
    outcome: str | None = None
    conversation: str | None = None
    reply: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = 0.0
    model: str | None = None
    approval: str | None = None
    waits: OpenApproval | None = None
    denied: DeniedApproval | None = None
    reason: str | None = None
    stop_reason: str | None = None
    tool_calls: tuple[CalledTool, ...] = ()
    files: tuple[ReplyFile, ...] = ()

    @property
    def said(self) -> str:
        """The reply, with a line for each of its files: a terminal shows none."""
        lines = [
            f"({one.name or 'a file'}: {one.url or f'/api/messages/{self.id}/files/reply/{number}'})"
            for number, one in enumerate(self.files)
        ]
        return "\n".join(filter(None, (self.reply, *lines)))

    @property
    def is_good(self) -> bool:
        """Whether the message was answered, or waits for the person's decision."""
        return self.outcome in {None, "answered", "interrupted", "merged"}

    @property
    def is_told_by_waits(self) -> bool:
        """Whether the reply is the question of an approval, which `waits` says as well."""
        return self.state == "parked" and self.waits is not None


class PastMessage(msgspec.Struct, frozen=True):
    """What a person wrote in a conversation, and what was answered."""

    text: str
    reply: str


class _Turn(msgspec.Struct, frozen=True):
    reply: str | None = None


class _Said(msgspec.Struct, frozen=True):
    turn: _Turn
    text: str | None = None
    taken_out: str = ""


class _Page(msgspec.Struct, frozen=True):
    messages: tuple[_Said, ...]
    earlier: str | None = None


class AnswerScreen(Protocol):
    """Shows the answer while it arrives."""

    def restart(self) -> None:
        """Clear the shown text: the whole text is sent again."""
        ...

    def add(self, text: str) -> None:
        """Show more of the answer."""
        ...

    def note(self, text: str) -> None:
        """Show what the gateway is doing."""
        ...

    def tool(self, name: str) -> None:
        """Show that a tool runs."""
        ...

    def say(self, text: str) -> None:
        """Print something for the person that stays."""
        ...


class GatewayTransport(Protocol):
    """A connection to the gateway."""

    def send(self, message: OutgoingMessage) -> AbstractContextManager[Iterator[ServerEvent]]:
        """Send a message and yield the events of its answer."""
        ...

    def past(self, conversation_id: str, *, agent: str | None) -> Sequence[PastMessage]:
        """Return what was said in a conversation, as far as it is shown; oldest first."""
        ...


class HttpTransport:
    """The connection to a gateway in another process."""

    def __init__(self, client: GatewayClient) -> None:
        self._client = client

    @contextmanager
    def send(self, message: OutgoingMessage) -> Iterator[Iterator[ServerEvent]]:
        """Send a message and yield the events of its answer."""
        with self._client.stream("/api/messages", message) as events:
            yield events

    def past(self, conversation_id: str, *, agent: str | None) -> Sequence[PastMessage]:
        """Return what was said in a conversation, as far as it is shown; oldest first."""
        query = {"sender": SENDER} | ({} if agent is None else {"agent": agent})
        said: list[PastMessage] = []
        while len(said) < MOST_PAST:
            path = f"/api/conversations/{quote(conversation_id, safe='')}?{urlencode(query)}"
            page = self._client.get(path, _Page)
            said[:0] = [
                PastMessage(
                    one.text or "", "" if one.taken_out == "reply" else one.turn.reply or ""
                )
                for one in page.messages
                if one.taken_out != "all"
            ]
            if page.earlier is None:
                break
            query["before"] = page.earlier
        return said


class Conversation:
    """Messages under one conversation id, `conversation_id`."""

    def __init__(
        self,
        line: GatewayTransport,
        conversation_id: str,
        *,
        make_id: MakeId,
        agent: str | None = None,
    ) -> None:
        self.conversation_id = conversation_id
        self._agent = agent
        self._attached = ""
        self._line = line
        self._make_id = make_id
        self._parked: OutgoingMessage | None = None
        self.is_asked = False
        """Whether what it waits for is the answer to a question of a tool."""

    def attach(self, text: str) -> None:
        """Send a text with the next message that is no command."""
        self._attached = text

    def renew(self) -> str:
        """Start a new conversation; return its id."""
        self.conversation_id = self._make_id("c")
        self._parked = None
        self.is_asked = False
        return self.conversation_id

    def ask(self, text: str, screen: AnswerScreen) -> MessageResult:
        """Send a message and follow it to its end; Ctrl-C stops the answer."""
        if self._attached and not text.startswith("/"):
            text, self._attached = f"{text}\n\n{self._attached}", ""
        message = self._outgoing(text)
        answer = self._follow(message, screen)
        return self._keep(message, answer)

    def respond(self, text: str, screen: AnswerScreen) -> MessageResult:
        """Send what a person wrote; if a message waits for just that, follow that message."""
        decides = text.split(maxsplit=1)[0] in {"/approve", "/deny"}
        answers = self.is_asked and not text.startswith("/")
        if self.is_parked and (decides or answers):
            return self.ask_parked(text, screen)
        return self.ask(text, screen)

    def past(self) -> Sequence[PastMessage]:
        """Return what was said in this conversation before."""
        return self._line.past(self.conversation_id, agent=self._agent)

    def stop(self) -> None:
        """Stop the answer that another thread follows."""
        self._read(self._outgoing("/stop"), _Silent())

    def ask_parked(self, text: str, screen: AnswerScreen) -> MessageResult:
        """Decide about the parked message or answer its question, then follow that message."""
        parked, self._parked = self._parked, None
        decision = self.ask(text, screen)
        if parked is None or not decision.is_good:
            self._parked = parked
            return decision
        self.is_asked = False
        screen.restart()
        return self._keep(parked, self._follow(parked, screen))

    def _keep(self, message: OutgoingMessage, answer: MessageResult) -> MessageResult:
        """Remember a message that waits for the person's decision."""
        if answer.state in ("parked", ASKED):
            self._parked = message
            self.is_asked = answer.state == ASKED
        return answer

    @property
    def is_parked(self) -> bool:
        """Whether a message of this conversation waits for an approval."""
        return self._parked is not None

    def _follow(self, message: OutgoingMessage, screen: AnswerScreen) -> MessageResult:
        try:
            return self._pick_up(lambda: self._read(message, screen), screen)
        except KeyboardInterrupt:
            screen.note("stopping …")
            self.stop()
            screen.restart()
            return self._pick_up(lambda: self._read(message, screen), screen)

    def _pick_up(self, read: Callable[[], MessageResult], screen: AnswerScreen) -> MessageResult:
        for _ in range(_PICK_UPS):
            try:
                return read()
            except StreamTruncated:
                screen.restart()
                screen.note("connecting again …")
        return read()

    def _read(self, message: OutgoingMessage, screen: AnswerScreen) -> MessageResult:
        with self._line.send(message) as events:
            for event in events:
                if event.name == "accepted" and "denied" in event.data:
                    self._parked = None
                answer = _show(event, screen)
                if answer is not None:
                    return answer
        raise StreamTruncated(
            "The gateway's stream ended before the answer did. The message is kept and will be "
            "answered; `hermes status` shows the state of the gateway."
        )

    def _outgoing(self, text: str) -> OutgoingMessage:
        return OutgoingMessage(
            sender=SENDER,
            text=text,
            conversation=self.conversation_id,
            id=self._make_id("x"),
            agent=self._agent,
        )


class _Silent:
    """A screen that shows nothing."""

    def restart(self) -> None:
        """Do nothing: nothing was shown."""

    def add(self, text: str) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Show nothing."""

    def tool(self, name: str) -> None:
        """Show nothing."""

    def say(self, text: str) -> None:
        """Show nothing."""


def _show(event: ServerEvent, screen: AnswerScreen) -> MessageResult | None:
    text = str(event.data.get("text", ""))
    if event.name == "accepted" and "denied" in event.data:
        denied = msgspec.convert(event.data["denied"], DeniedApproval)
        screen.say(f"Denied: {denied.tool} was not run, because you wrote something else.")
    elif event.name == "delta":
        screen.add(text)
    elif event.name == "snapshot":
        screen.restart()
        screen.add(text)
    elif event.name == "tool":
        screen.tool(str(event.data.get("name", "a tool")))
    elif event.name == "status":
        screen.note(text)
    elif event.name in {"done", "parked"}:
        return msgspec.convert(event.data, MessageResult)
    elif event.name == "question":
        return MessageResult(id=str(event.data.get("id", "")), state=ASKED, reply=text)
    elif event.name == "error":
        raise Refused(
            str(
                event.data.get(
                    "message", "The gateway failed and gave no reason; `hermes logs` shows more."
                )
            )
        )
    return None
