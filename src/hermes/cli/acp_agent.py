"""Hermes as an agent of the Agent Client Protocol: sessions, prompts, permissions.

A session is a conversation of the owner at the terminal, and a prompt a message in it. Following an
answer blocks, so each prompt has a thread of its own; what it shows is sent from the event loop.
"""

import asyncio
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar, cast

from acp import PROTOCOL_VERSION, RequestError
from acp import helpers as say
from acp.agent.connection import AgentSideConnection
from acp.interfaces import Agent, Client
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    AvailableCommand,
    AvailableCommandInput,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    StopReason,
    ToolCallStatus,
    ToolCallUpdate,
    UnstructuredCommandInput,
    Usage,
)

from hermes import __version__
from hermes.cli.acp_lines import JsonLines
from hermes.cli.acp_prompt import Block, prompt_text
from hermes.cli.chat_screen import parked_text
from hermes.cli.conversation import Conversation, GatewayTransport, MessageResult, PastMessage
from hermes.errors import BadRequest, Conflict, HermesError, NotFound
from hermes.message.ids import make_id
from hermes.sessions.commands import BUILT_IN

_MOST_PROMPTS = 32
_MOST_SESSIONS = 1_000
_LONGEST_ID = 200
_ALLOW, _DENY = "allow", "deny"
_OPTIONS = [
    PermissionOption(option_id=_ALLOW, name="Allow", kind="allow_once"),
    PermissionOption(option_id=_DENY, name="Deny", kind="reject_once"),
]
# An editor has buttons for these, or a session of its own.
_NOT_OFFERED = frozenset({"stop", "approve", "deny", "new", "restart"})
_CODES: dict[type[HermesError], int] = {BadRequest: -32602, Conflict: -32600, NotFound: -32002}
_INTERNAL = -32603
_Result = TypeVar("_Result")


async def serve(
    line: GatewayTransport, reader: StreamReader, writer: StreamWriter, *, agent: str | None
) -> None:
    """Answer an editor until it closes its end."""
    connection = AgentSideConnection(
        # It is called by name, with the fields that it names.
        lambda client: cast("Agent", EditorAgent(client, line, agent=agent)),
        JsonLines(reader, writer),
        listening=False,
    )
    await connection.listen()


class _Session:
    """A conversation of an editor; one prompt at a time."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.is_busy = False
        self.is_cancelled = False


class EditorAgent:
    """The agent's side of a connection with an editor, `client`."""

    def __init__(self, client: Client, line: GatewayTransport, *, agent: str | None) -> None:
        self._client = client
        self._line = line
        self._agent = agent
        self._sessions: dict[str, _Session] = {}
        self._later: set[asyncio.Task[None]] = set()

    async def initialize(self, protocol_version: int, **_rest: Any) -> InitializeResponse:
        """Say what this agent can do; there is one version of the protocol."""
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True, prompt_capabilities=PromptCapabilities(embedded_context=True)
            ),
            agent_info=Implementation(name="hermes", title="Hermes", version=__version__),
        )

    async def new_session(self, cwd: str, **_rest: Any) -> NewSessionResponse:
        """Begin a conversation."""
        session_id = make_id("c")
        self._open(session_id)
        return NewSessionResponse(session_id=session_id)

    async def load_session(
        self, cwd: str, session_id: str, **_rest: Any
    ) -> LoadSessionResponse | None:
        """Continue a conversation; what was said in it is sent again."""
        if not 0 < len(session_id) <= _LONGEST_ID:
            raise _error_of(BadRequest("The session's id is empty or too long."))
        known = self._sessions.get(session_id)
        conversation = known.conversation if known else self._conversation(session_id)
        for message in await _told(conversation.past):
            await self._show_past(session_id, message)
        self._open(session_id)
        return LoadSessionResponse()

    async def prompt(self, prompt: list[Block], session_id: str, **_rest: Any) -> PromptResponse:
        """Answer a prompt, asking for permission where a tool needs it."""
        session = self._session(session_id)
        if session.is_busy:
            raise _error_of(
                Conflict("This session is still answering: wait, or cancel that answer first.")
            )
        if sum(one.is_busy for one in self._sessions.values()) >= _MOST_PROMPTS:
            raise _error_of(
                Conflict(f"{_MOST_PROMPTS} answers are being written: wait for one of them.")
            )
        try:
            text = prompt_text(prompt)
        except HermesError as error:
            raise _error_of(error) from error
        session.is_busy, session.is_cancelled = True, False
        try:
            return await self._answer(session, text)
        finally:
            session.is_busy = False

    async def cancel(self, session_id: str, **_rest: Any) -> None:
        """Stop the answer of a session."""
        session = self._sessions.get(session_id)
        if session is None or not session.is_busy:
            return
        session.is_cancelled = True
        with suppress(RequestError):
            await _told(session.conversation.stop)

    async def _answer(self, session: _Session, text: str) -> PromptResponse:
        conversation = session.conversation
        updates = _Updates(self._client, conversation.conversation_id)
        answer = await _told(conversation.respond, text, updates)
        asked: str | None = None
        while answer.state == "parked" and answer.approval != asked and not session.is_cancelled:
            asked = answer.approval
            decision = await self._decision(session, answer, updates)
            answer = await _told(conversation.respond, decision, updates)
        await asyncio.to_thread(updates.finish, answer)
        return PromptResponse(
            stop_reason=_stop_reason(answer, is_cancelled=session.is_cancelled),
            usage=Usage(
                total_tokens=answer.tokens_in + answer.tokens_out,
                input_tokens=answer.tokens_in,
                output_tokens=answer.tokens_out,
            ),
            field_meta={"hermes": {"message": answer.id, "cost_usd": answer.cost_usd}},
        )

    async def _decision(self, session: _Session, answer: MessageResult, updates: "_Updates") -> str:
        """Return the command by which the person decides about the tool that waits."""
        tool = await _told(updates.waiting, answer)
        response = await self._client.request_permission(
            session_id=session.conversation.conversation_id, tool_call=tool, options=_OPTIONS
        )
        outcome = response.outcome
        allows = isinstance(outcome, AllowedOutcome) and outcome.option_id == _ALLOW
        return f"/{'approve' if allows else 'deny'} {answer.approval or ''}".rstrip()

    async def _show_past(self, session_id: str, message: PastMessage) -> None:
        if message.text:
            await self._client.session_update(
                session_id=session_id, update=say.update_user_message_text(message.text)
            )
        if message.reply:
            await self._client.session_update(
                session_id=session_id, update=say.update_agent_message_text(message.reply)
            )

    def _conversation(self, session_id: str) -> Conversation:
        return Conversation(self._line, session_id, make_id=make_id, agent=self._agent)

    def _open(self, session_id: str) -> None:
        if session_id not in self._sessions:
            if len(self._sessions) >= _MOST_SESSIONS:
                idle = (key for key, one in self._sessions.items() if not one.is_busy)
                self._sessions.pop(next(idle), None)
            self._sessions[session_id] = _Session(self._conversation(session_id))
        self._afterwards(self._offer_commands(session_id))

    def _session(self, session_id: str) -> _Session:
        found = self._sessions.get(session_id)
        if found is None:
            raise _error_of(
                NotFound("There is no such session here: open a new one, or load this one first.")
            )
        return found

    async def _offer_commands(self, session_id: str) -> None:
        await self._client.session_update(
            session_id=session_id, update=say.update_available_commands(_COMMANDS)
        )

    def _afterwards(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something after the response that is being made: an editor must know the session."""
        task = asyncio.get_running_loop().create_task(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)


_COMMANDS = [
    AvailableCommand(
        name=spec.name,
        description=spec.about,
        input=AvailableCommandInput(root=UnstructuredCommandInput(hint=spec.use))
        if spec.use
        else None,
    )
    for spec in BUILT_IN
    if spec.name not in _NOT_OFFERED
]


class _Updates:
    """Shows an answer in an editor; used by the thread that follows the answer.

    What an editor has shown cannot be taken back. A text that begins again is sent from where it
    differs, as a new message.
    """

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self._session_id = session_id
        self._loop = asyncio.get_running_loop()
        self._shown = ""
        self._text = ""
        self._message = make_id("x")
        self._tools: list[tuple[str, str]] = []
        self._allowed: list[str] = []

    def restart(self) -> None:
        """The whole text is sent again."""
        self._text = ""

    def add(self, text: str) -> None:
        """Show more of the answer."""
        self._text += text
        if self._text.startswith(self._shown):
            self._show(self._text[len(self._shown) :])
        elif not self._shown.startswith(self._text):
            self._begin_again()
            self._show(self._text)

    def note(self, text: str) -> None:
        """Show what the gateway is doing."""
        self._send(say.update_agent_thought_text(f"{text}\n"))

    def say(self, text: str) -> None:
        """Show something that stays."""
        self._send(say.update_agent_thought_text(f"{text}\n"))

    def tool(self, name: str) -> None:
        """Show that a tool runs; one that was allowed is known already."""
        if name in self._allowed:
            self._allowed.remove(name)
            return
        self._start(name, status="in_progress")

    def waiting(self, answer: MessageResult) -> ToolCallUpdate:
        """Show the tool call that an answer waits for, and return it as it is asked about."""
        waits = answer.waits
        name = waits.tool if waits else "a tool"
        call_id = self._start(name, status="pending", arguments=waits.arguments if waits else None)
        self._allowed.append(name)
        return ToolCallUpdate(
            tool_call_id=call_id,
            title=name,
            status="pending",
            raw_input=waits.arguments if waits else None,
            content=[say.tool_content(say.text_block(parked_text(answer)))],
        )

    def _start(self, name: str, *, status: ToolCallStatus, arguments: str | None = None) -> str:
        call_id = make_id("t")
        self._tools.append((call_id, name))
        self._send(say.start_tool_call(call_id, name, status=status, raw_input=arguments))
        return call_id

    def finish(self, answer: MessageResult) -> None:
        """Show the rest of an answer, and how its tools ended."""
        self._end_tools(answer)
        final = answer.said
        if answer.state == "parked":
            final = f"{final}\n\n{parked_text(answer)}".strip()
        elif answer.outcome not in {None, "answered", "merged"} and answer.reason:
            final = f"{final}\n\n({answer.outcome}: {answer.reason})".strip()
        self.restart()
        if final:
            self.add(final)

    def _end_tools(self, answer: MessageResult) -> None:
        made = list(answer.tool_calls)
        for call_id, name in self._tools:
            call = next((one for one in made if one.name == name), None)
            if call is not None:
                made.remove(call)
            failed = call is not None and call.failed
            self._send(
                say.update_tool_call(
                    call_id,
                    status="failed" if failed else "completed",
                    raw_input=call.arguments if call else None,
                )
            )
        self._tools.clear()

    def _begin_again(self) -> None:
        self._shown = ""
        self._message = make_id("x")

    def _show(self, text: str) -> None:
        self._shown = self._text
        if text:
            update = say.update_agent_message_text(text)
            update.message_id = self._message
            self._send(update)

    def _send(self, update: Any) -> None:  # Any: one of the protocol's updates
        sending = self._client.session_update(session_id=self._session_id, update=update)
        asyncio.run_coroutine_threadsafe(sending, self._loop).result()


def _stop_reason(answer: MessageResult, *, is_cancelled: bool) -> StopReason:
    if is_cancelled:
        return "cancelled"
    if answer.stop_reason == "length":
        return "max_tokens"
    return "refusal" if answer.stop_reason == "refusal" else "end_turn"


async def _told(work: Callable[..., _Result], *arguments: Any) -> _Result:
    """Run what blocks in a thread that does not outlive the editor; its errors become the editor's."""
    done: Future[_Result] = Future()
    threading.Thread(target=lambda: _run(done, work, arguments), daemon=True).start()
    try:
        return await asyncio.wrap_future(done)
    except HermesError as error:
        raise _error_of(error) from error


def _run(done: "Future[_Result]", work: Callable[..., _Result], arguments: tuple[Any, ...]) -> None:
    try:
        done.set_result(work(*arguments))
    # Thread boundary: whatever fails is raised where the result is awaited.
    except Exception as error:  # noqa: BLE001
        done.set_exception(error)


def _error_of(error: HermesError) -> RequestError:
    code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), _INTERNAL)
    return RequestError(code, str(error), {"code": error.code})
