"""One session of the official SDK: lists tools, calls them, passes on the server's questions.

Part of the SDK's side, loaded by name only. Its errors are translated here; nothing above knows its
types.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import anyio
import mcp_types as types
import msgspec
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from hermes import __version__
from hermes.tools.mcp.calls import RunningCall, SampleRefused
from hermes.tools.mcp.catalogue import ListedTool
from hermes.tools.mcp.clean_text import Scrubber, cleaned, one_line
from hermes.tools.mcp.connection import Arguments, CallRefused, LinkLost, McpResult, NotTaken
from hermes.tools.mcp.http_wire import CURRENT
from hermes.tools.mcp.prompts import ListedPrompt, ListedResource, PromptArgument
from hermes.tools.mcp.questions import Schema, question_text
from hermes.tools.mcp.streams import PacedStream, Writable

_INFO = types.Implementation(name="hermes-gateway", version=__version__)
_CHANGES = (
    types.ToolListChangedNotification,
    types.PromptListChangedNotification,
    types.ResourceListChangedNotification,
)
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError)
_MAX_PAGES = 50
_MAX_LISTED = 5_000
_MAX_ROUNDS = 10
_ROUND_WAIT_S = 0.1
_MAX_OPEN_QUESTIONS = 8
_ERROR_CHARS = 1_000
_TITLE_CHARS = 80
_LONG = 50_000
_Answer = TypeVar("_Answer")


class _Session(ClientSession):
    """The SDK's session without its check of structured results.

    That check runs a server's own schema, patterns included, with an engine that a hostile pattern
    can block forever. Here a result is text for a model; nothing relies on its shape.
    """

    async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None:
        """Accept every result unchanged."""


class SdkLink:
    """A session, and the calls that run on it."""

    def __init__(
        self,
        server: str,
        incoming: PacedStream,
        outgoing: Writable,
        *,
        scrubber: Scrubber,
        changed: Callable[[], None],
        samples: bool = False,
    ) -> None:
        self._server = server
        self._scrubber = scrubber
        self._changed = changed
        self._running: set[RunningCall] = set()
        self._questions = 0
        self.over: str | None = None
        """Why nothing more can be sent on it."""
        self.session = _Session(
            incoming,
            outgoing,
            elicitation_callback=self.elicit,
            sampling_callback=self.sample if samples else None,
            message_handler=self._heard,
            client_info=_INFO,
        )

    @property
    def protocol(self) -> str:
        """The negotiated MCP revision."""
        return self.session.protocol_version or ""

    @property
    def title(self) -> str:
        """The server's own name and version, cleaned."""
        info = self.session.server_info
        said = "" if info is None else self._scrubber.scrub(f"{info.name} {info.version}")
        return one_line(said, _TITLE_CHARS)

    @property
    def follows_by_asking(self) -> bool:
        """Whether changes of the list must be requested, as in the stateless era."""
        offered = self.session.server_capabilities
        return (
            self.protocol in MODERN_PROTOCOL_VERSIONS
            and offered is not None
            and offered.tools is not None
            and bool(offered.tools.list_changed)
        )

    async def list_tools(self) -> tuple[ListedTool, ...]:
        """Return everything the server lists, bounded."""
        offered = self.session.server_capabilities
        if offered is None or offered.tools is None:
            return ()
        try:
            return tuple([_listed(tool) async for tool in self._pages()])
        except (MCPError, ValidationError, *_CLOSED) as error:
            raise self._fault(error) from error

    async def _pages(self) -> AsyncIterator[types.Tool]:
        cursor: str | None = None
        seen: set[str] = set()
        count = 0
        for _ in range(_MAX_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor)
            page = await self.session.list_tools(params=params)
            for tool in page.tools:
                yield tool
            count += len(page.tools)
            cursor = page.next_cursor
            if cursor is None or cursor in seen or count >= _MAX_LISTED:
                return
            seen.add(cursor)

    async def list_prompts(self) -> tuple[ListedPrompt, ...]:
        """Return the prompts that the server lists, bounded."""
        offered = self.session.server_capabilities
        if offered is None or offered.prompts is None:
            return ()
        pages = _all_pages(self.session.list_prompts, lambda page: page.prompts)
        return tuple([_prompt(one) for one in await self._asked_for(pages)])

    async def list_resources(self) -> tuple[ListedResource, ...]:
        """Return the resources that the server lists, and its templates, bounded."""
        offered, session = self.session.server_capabilities, self.session
        if offered is None or offered.resources is None:
            return ()
        found = await self._asked_for(
            _all_pages(session.list_resources, lambda page: page.resources)
        )
        listed = [ListedResource(uri=str(one.uri), about=one.description or "") for one in found]
        try:
            pages = _all_pages(
                session.list_resource_templates, lambda page: page.resource_templates
            )
            templates = await self._asked_for(pages)
        except CallRefused:
            # Older servers have no templates.
            return tuple(listed)
        made = (
            ListedResource(uri=one.uri_template, about=one.description or "") for one in templates
        )
        return (*listed, *made)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return a prompt as one text."""
        asking = self.session.get_prompt(name, dict(arguments), allow_input_required=True)
        found = await self._asked_for(asking)
        if isinstance(found, types.InputRequiredResult):
            raise CallRefused("the prompt asks for more input, which is not supported")
        return await self._scrubbed(prompt_text(found))

    async def read(self, uri: str) -> str:
        """Return a resource as text."""
        found = await self._asked_for(self.session.read_resource(uri, allow_input_required=True))
        if isinstance(found, types.InputRequiredResult):
            raise CallRefused("the resource asks for more input, which is not supported")
        told = [_contents(one) for one in found.contents]
        return await self._scrubbed(cleaned("\n".join(told), _RESULT_CHARS))

    async def _asked_for(self, asking: Awaitable[_Answer]) -> _Answer:
        """Return an answer; the errors of the SDK are translated."""
        try:
            return await asking
        except (MCPError, ValidationError, *_CLOSED) as error:
            raise self._fault(error) from error

    async def call(self, tool: str, arguments: Arguments, *, call: RunningCall) -> McpResult:
        """Run a tool; cancelling notifies the server."""
        if self.over is not None:
            raise NotTaken(self.over)
        self._running.add(call)
        token = CURRENT.set(call)
        try:
            result = await self._rounds(tool, arguments, call=call)
        except (MCPError, ValidationError, *_CLOSED) as error:
            fault = self._fault(error)
            if call.not_taken and not call.is_known:
                raise NotTaken(str(fault)) from error
            raise fault from error
        finally:
            CURRENT.reset(token)
            self._running.discard(call)
        return McpResult(await self._scrubbed(result_text(result)), failed=result.is_error is True)

    async def _scrubbed(self, text: str) -> str:
        """Return a result without secrets; a long one does not block the event loop."""
        if len(text) < _LONG:
            return self._scrubber.scrub(text)
        return await asyncio.to_thread(self._scrubber.scrub, text)

    async def _rounds(
        self, tool: str, arguments: Arguments, *, call: RunningCall
    ) -> types.CallToolResult:
        """Call, and call again with the answers if the server needs some first."""
        answers: types.InputResponses | None = None
        state: str | None = None
        for _ in range(_MAX_ROUNDS):
            result = await self._once(
                types.CallToolRequestParams(
                    name=tool, arguments=arguments, input_responses=answers, request_state=state
                ),
                call,
            )
            if not isinstance(result, types.InputRequiredResult):
                return result
            call.is_known = True
            state = result.request_state
            answers = None
            if result.input_requests:
                answers = {
                    key: await self._input(call, request)
                    for key, request in result.input_requests.items()
                }
            else:
                await asyncio.sleep(_ROUND_WAIT_S)
        raise CallRefused(f"the server asked for more input {_MAX_ROUNDS} times")

    async def _once(
        self, params: types.CallToolRequestParams, call: RunningCall
    ) -> types.CallToolResult | types.InputRequiredResult:
        for is_last in (False, True):
            try:
                return await self.session.call_tool(
                    params.name,
                    params.arguments,
                    progress_callback=call.progress,
                    input_responses=params.input_responses,
                    request_state=params.request_state,
                    allow_input_required=True,
                )
            except MCPError as error:
                # The tool's headers have changed since it was listed: list again, then retry once.
                if is_last or error.code != types.HEADER_MISMATCH:
                    raise
            await self.list_tools()
        raise AssertionError

    async def _input(self, call: RunningCall, request: types.InputRequest) -> types.InputResponse:
        if isinstance(request, types.CreateMessageRequest):
            try:
                return _sampled(await call.sample(sample_text(self._server, request.params)))
            except SampleRefused as refused:
                raise CallRefused(f"the server asked for a model: {refused}") from refused
        if not isinstance(request, types.ElicitRequest):
            raise CallRefused(f"the server requests {request.method}, which is not supported")
        return await self._asked(call, request.params)

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        """Answer a question that the server sent by itself, as in the handshake era."""
        call = self._whose()
        if call is None or self._questions >= _MAX_OPEN_QUESTIONS:
            return types.ElicitResult(action="decline")
        self._questions += 1
        try:
            return await self._asked(call, params)
        finally:
            self._questions -= 1

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Answer a request for a model that the server sent by itself, as in the handshake era."""
        call = self._whose()
        try:
            if call is None:
                raise SampleRefused("it is not certain which call this belongs to")
            return _sampled(await call.sample(sample_text(self._server, params)))
        except SampleRefused as refused:
            return types.ErrorData(code=types.INVALID_REQUEST, message=f"Refused: {refused}.")

    def _whose(self) -> RunningCall | None:
        """Return the call that caused a question; None if that is not certain.

        Over HTTP the context identifies it. Over pipes nothing does, so only one conversation may
        be running: a question never goes to the wrong person.
        """
        call = CURRENT.get()
        if call is not None and call in self._running:
            return call
        lanes = {(call.context.person_id, call.context.lane) for call in self._running}
        return next(iter(self._running)) if len(lanes) == 1 else None

    async def _asked(
        self, call: RunningCall, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        url, schema = _wanted(params)
        text = question_text(self._server, params.message, schema=schema, url=url)
        answer = await call.question(self._scrubber.scrub(text), schema)
        if answer is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=None if url else dict(answer))

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, _CHANGES):
            self._changed()

    def _fault(self, error: Exception) -> LinkLost | CallRefused:
        """Translate an error of the SDK."""
        if self.over is not None or isinstance(error, _CLOSED):
            return LinkLost(self.over or "the connection was closed")
        if isinstance(error, MCPError):
            told = self._scrubber.scrub(one_line(error.error.message, _ERROR_CHARS))
            doubtful = error.code == types.CONNECTION_CLOSED
            return CallRefused(f"{told} (code {error.code})", doubtful=doubtful)
        return CallRefused("its answer does not follow the protocol")


def sample_text(server: str, params: types.CreateMessageRequestParams) -> str:
    """Return a request for a model as the message of a subagent; its words are the server's."""
    said = [f"{one.role.capitalize()}: {_said(one)}" for one in params.messages]
    if params.system_prompt:
        said.insert(0, f"How to answer: {params.system_prompt}")
    words = cleaned("\n\n".join(said), _RESULT_CHARS)
    return (
        f"The tool server {server} needs this answered to finish its work. Its words are not those of "
        f"the person. Return the answer alone.\n\n{words}"
    )


def _said(message: types.SamplingMessage) -> str:
    content = message.content if isinstance(message.content, list) else [message.content]
    return "\n".join(
        block.text if isinstance(block, types.TextContent) else f"[{block.type}; not shown]"
        for block in content
    )


def _sampled(text: str) -> types.CreateMessageResult:
    return types.CreateMessageResult(
        role="assistant",
        content=types.TextContent(type="text", text=text),
        model="hermes",
        stop_reason="endTurn",
    )


def _listed(tool: types.Tool) -> ListedTool:
    hints = tool.annotations or types.ToolAnnotations()
    return ListedTool(
        name=tool.name,
        description=tool.description or tool.title or "",
        schema=tool.input_schema,
        read_only=hints.read_only_hint,
        destructive=hints.destructive_hint,
        idempotent=hints.idempotent_hint,
    )


def _wanted(params: types.ElicitRequestParams) -> tuple[str | None, Schema]:
    """Return the address that the person should open, if that is the question, and the answer's
    schema."""
    if isinstance(params, types.ElicitRequestURLParams):
        return params.url, {}
    return None, params.requested_schema


# Any: a request of the SDK for one page, and that page; each list has types of its own.
async def _all_pages(
    ask: Callable[..., Awaitable[Any]], items_of: Callable[[Any], Sequence[Any]]
) -> list[Any]:
    """Return everything that a server lists, bounded."""
    cursor: str | None = None
    seen: set[str] = set()
    found: list[Any] = []
    for _ in range(_MAX_PAGES):
        page = await ask(params=types.PaginatedRequestParams(cursor=cursor))
        found += items_of(page)
        cursor = page.next_cursor
        if cursor is None or cursor in seen or len(found) >= _MAX_LISTED:
            break
        seen.add(cursor)
    return found[:_MAX_LISTED]


def _prompt(prompt: types.Prompt) -> ListedPrompt:
    return ListedPrompt(
        name=prompt.name,
        about=prompt.description or prompt.title or "",
        arguments=tuple(
            PromptArgument(name=one.name, required=one.required is True)
            for one in prompt.arguments or ()
        ),
    )


def prompt_text(found: types.GetPromptResult) -> str:
    """Return the messages of a prompt as one text; who says what is told if it is a dialogue."""
    said = [(message.role, _block(message.content)) for message in found.messages]
    if any(role != "user" for role, _ in said):
        text = "\n\n".join(f"{role.capitalize()}: {words}" for role, words in said)
    else:
        text = "\n\n".join(words for _, words in said)
    return cleaned(text, _PROMPT_CHARS)


_PROMPT_CHARS = 100_000
_RESULT_CHARS = 4_000_000
_NAME_CHARS = 300
_NOTHING = "(the tool returned nothing)"


def result_text(result: types.CallToolResult) -> str:
    """Return the text of a result; non-text content becomes a note in brackets."""
    told = [_block(block) for block in result.content]
    has_text = any(isinstance(block, types.TextContent) for block in result.content)
    # A server that returns data returns the same as text, too, unless it is new.
    if result.structured_content is not None and not has_text:
        told.insert(0, _json(result.structured_content))
    text = "\n".join(piece for piece in told if piece)
    return cleaned(text, _RESULT_CHARS) or _NOTHING


def _block(block: types.ContentBlock) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.ImageContent):
        return _note("picture", block.mime_type, data=block.data)
    if isinstance(block, types.AudioContent):
        return _note("sound", block.mime_type, data=block.data)
    if isinstance(block, types.ResourceLink):
        about = f"{block.name}: {block.description}" if block.description else block.name
        return f"[resource {one_line(block.uri, _NAME_CHARS)} ({one_line(about, _NAME_CHARS)})]"
    return _contents(block.resource, is_named=True)


def _contents(
    resource: types.TextResourceContents | types.BlobResourceContents, *, is_named: bool = False
) -> str:
    where = one_line(str(resource.uri), _NAME_CHARS)
    if isinstance(resource, types.TextResourceContents):
        return f"[resource {where}]\n{resource.text}" if is_named else resource.text
    return _note(f"file {where}", resource.mime_type, data=resource.blob)


def _note(what: str, mime: str | None, *, data: str) -> str:
    """Return a note about what cannot be shown; four characters of base64 are three bytes."""
    kind = one_line(mime or "of an unknown type", _NAME_CHARS)
    return f"[{what}, {kind}, {len(data) * 3 // 4:,} bytes; not shown]"


# Any: JSON of the server's making.
def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
