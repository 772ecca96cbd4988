"""Runs a program for one message of an agent, as the adapter port asks.

The program works in a folder of the conversation, in the sandbox of the terminal, and is ended with
everything that it has started: by its end, its limits, a stop, or the end of this process. Its session is
its own; we keep the id, and give it the next message in it.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack, aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from hermes.errors import AdapterError, AdapterLost, TooLarge, ToolError
from hermes.message.markup.escape import fence_of
from hermes.message.parts import text_of
from hermes.ports.adapter import (
    AdapterAgent,
    AdapterCall,
    AdapterEnd,
    AdapterEvent,
    AdapterSession,
    AdapterStatus,
    last_event,
)
from hermes.ports.provider import TextDelta
from hermes.ports.tool import Question
from hermes.tools.programs.claude import ClaudeDialect
from hermes.tools.programs.codex import CodexDialect
from hermes.tools.programs.description import Description
from hermes.tools.programs.dialect import (
    Dialect,
    LinesDialect,
    MissingSession,
    PermissionQuestion,
    ProgramInput,
    ProgramRequest,
    TextDialect,
)
from hermes.tools.programs.prompt import AttachmentPlace, ReadMedia, has_attachments, prompt_of
from hermes.tools.programs.relay import (
    DOOR,
    PORT,
    OpenModels,
    interpreter_folder,
    relayed,
)
from hermes.tools.programs.run_keys import RunKey, RunKeys
from hermes.tools.terminal.folder_tree import used_bytes
from hermes.tools.terminal.program import KeptOutput, SandboxedProgram, finish, run, start_or_end
from hermes.tools.terminal.sandbox import Sandbox
from hermes.tools.terminal.work_folders import WorkFolder, WorkFolders

_DIALECTS: Final[Mapping[str, Callable[[ProgramRequest], Dialect]]] = {
    "text": TextDialect,
    "lines": LinesDialect,
    "claude": ClaudeDialect,
    "codex": CodexDialect,
}
# A call has one id, and so has the session that begins with it.
_SESSIONS: Final = uuid.UUID("5b0b7a52-6f0a-4f0e-9c5e-9a3b1f3d8c11")
# Any: JSON values by name; None is a no.
_Answer = Mapping[str, Any] | None
_PIECE: Final = 65_536
_LINE_BYTES: Final = 8_000_000
_LOOK_S: Final = 2.0
_PIPE_S: Final = 1.0
# How long a program that has answered may take to write its session down.
_GRACE_S: Final = 5.0
_MOST_ASKED: Final = 1_000
# What a program has not read yet, beside the longest thing that it was told.
_MOST_UNREAD: Final = 1_000_000
_CHECK_S: Final = 30.0
_STDERR_BYTES: Final = 4_000
_STDERR_SHOWN: Final = 300
_SYSTEM_BYTES: Final = 100_000
_CHECKS: Final = "checks"


class ProgramSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How one adapter runs its program; see `adapters` in the settings."""

    program: str = ""
    arguments: tuple[str, ...] = ()
    model: str = ""
    variables: Mapping[str, str] = {}
    timeout_s: float
    silence_s: float
    question_s: float
    output_bytes: int
    answer_chars: int
    folder_bytes: int


class ProgramAdapter:
    """One configured program; implements the adapter port.

    Without `open_models` its calls of models are its own business; without `read_media` it gets no
    attachments.
    """

    needs_grant = True
    supports_tools = False

    def __init__(
        self,
        name: str,
        description: Description,
        *,
        settings: ProgramSettings,
        sandbox: Sandbox,
        folders: WorkFolders,
        keys: RunKeys,
        open_models: OpenModels | None,
        read_media: ReadMedia | None = None,
    ) -> None:
        self._read_media = read_media
        self._name = name
        self._description = description
        self._settings = settings
        self._sandbox = sandbox
        self._folders = folders
        self._keys = keys
        self._open_models = open_models

    async def complete(self, call: AdapterCall) -> AdapterEnd:
        """Return the whole answer."""
        return await last_event(self.stream(call))

    async def stream(self, call: AdapterCall) -> AsyncGenerator[AdapterEvent, None]:
        """Run the program and yield what it says; a session that is gone begins anew."""
        if call.was_cut_off and not call.session:
            raise AdapterLost(f"{self._name}: it was cut off before it had a session")
        work = await self._folder(
            call.person_id, call.lane, str(call.agent.options.get("folder", ""))
        )
        call = await self._with_attachments(call, work)
        if call.session:
            is_gone = False
            async with aclosing(self._run(call, work, session=call.session)) as events:
                async for event in events:
                    is_gone = isinstance(event, MissingSession)
                    if not isinstance(event, MissingSession):
                        yield event
            if not is_gone:
                return
            if call.was_cut_off:
                raise AdapterLost(f"{self._name}: its session is gone")
        session = "" if self._description.has_own_sessions else str(uuid.uuid5(_SESSIONS, call.id))
        if session:
            yield AdapterSession(session)
        async with aclosing(self._run(call, work, session=session, is_new=True)) as events:
            async for event in events:
                if isinstance(event, MissingSession):
                    raise AdapterError(f"{self._name}: it says that a new session is gone")
                yield event

    async def health_check(self, agent: AdapterAgent) -> str:
        """Return why the program does not start in its sandbox."""
        check = self._description.check or (*self._description.command[:1], "--version")
        try:
            work = await self._folder(_CHECKS, f"adapter:{self._name}", "")
            ended = await run(
                self._variables(self._sandbox, {}),
                self._named(check),
                folder=work.files,
                timeout_s=_CHECK_S,
                output_bytes=_STDERR_BYTES,
            )
        except (AdapterError, ToolError) as error:
            return f"{self._name}: {error}"
        if ended.code == 0:
            return ""
        said = " ".join(ended.output.split())[-_STDERR_SHOWN:] or "it said nothing"
        how = "did not end in time" if ended.code is None else f"ended with {ended.code}"
        return f"{self._name}: {' '.join(check)} {how}: {said}"

    async def _folder(self, person_id: str, lane: str, beside: str) -> WorkFolder:
        try:
            return await asyncio.to_thread(self._folders.open, person_id, lane, beside=beside)
        except ToolError as error:
            raise AdapterError(f"{self._name}: {error}") from error

    async def _with_attachments(self, call: AdapterCall, work: WorkFolder) -> AdapterCall:
        """Return a call whose newest attachments are files in the folder where the program works."""
        if self._read_media is None or not has_attachments(call.messages):
            return call
        try:
            used = await asyncio.to_thread(used_bytes, work.files)
        except TooLarge as error:
            raise AdapterError(f"{self._name}: {error}") from error
        place = AttachmentPlace(
            self._folders.files(work), self._read_media, room=self._settings.folder_bytes - used
        )
        return msgspec.structs.replace(call, messages=await place.placed(call.messages))

    async def _run(
        self, call: AdapterCall, work: WorkFolder, *, session: str, is_new: bool = False
    ) -> AsyncGenerator[AdapterEvent | MissingSession, None]:
        with ExitStack() as held:
            sandbox, line, asked = await self._prepared(
                call, work, held=held, session=session, is_new=is_new
            )
            try:
                program = await start_or_end(
                    sandbox, line, folder=work.files, with_input=True, joins_errors=False
                )
            except ToolError as error:
                raise AdapterError(f"{self._name}: {error}") from error
            talk = _Talk(
                program,
                _DIALECTS[self._description.speaks](asked),
                name=self._name,
                settings=self._settings,
                is_full=partial(self._folders.is_full, work, self._settings.folder_bytes),
            )
            try:
                async for event in talk.events(call):
                    yield self._booked(event)
            finally:
                await finish(program, talk.errors)

    def _booked(self, event: AdapterEvent | MissingSession) -> AdapterEvent | MissingSession:
        """Return an event; what /v1 has booked already is not booked once more."""
        if not isinstance(event, AdapterEnd) or self._open_models is None:
            return event
        usage = msgspec.structs.replace(event.usage, cost_usd=0.0)
        return msgspec.structs.replace(event, usage=usage, booked_by="v1")

    async def _prepared(
        self, call: AdapterCall, work: WorkFolder, *, held: ExitStack, session: str, is_new: bool
    ) -> tuple[Sandbox, tuple[str, ...], ProgramRequest]:
        """Return how the program is started, and what it is asked."""
        model = call.agent.model or self._settings.model
        folder = self._sandbox.place(work.files)
        system = _cut("\n\n".join(call.system), _SYSTEM_BYTES)
        given = {"session": session, "model": model, "folder": folder, "system": system}
        sandbox = self._sandbox
        if self._open_models is not None:
            access = await self._open_models()
            key = RunKey(
                person_id=call.person_id,
                tier=call.tier,
                agent=call.agent.key,
                platform=call.platform,
                budget_day_usd=call.budget_day_usd,
            )
            inside = f"http://127.0.0.1:{PORT}"
            is_safe = sandbox.kind == "bubblewrap"
            given |= {
                "models": inside if is_safe else access.address,
                "key": held.enter_context(self._keys.issued(key)),
                "model": model or "auto",
            }
            if is_safe:
                sandbox = _with_models(sandbox, access.folder)
        line = (
            *self._named(self._description.line(given, is_new=is_new)),
            *self._settings.arguments,
        )
        if sandbox.doors:
            line = relayed(line)
        asked = ProgramRequest(
            prompt=prompt_of(call, is_new=is_new),
            system=system,
            session=session,
            is_new=is_new,
            model=given["model"],
            folder=folder,
        )
        return self._variables(sandbox, given), line, asked

    def _named(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command line with the configured program."""
        return (self._settings.program or line[0], *line[1:])

    def _variables(self, sandbox: Sandbox, given: Mapping[str, str]) -> Sandbox:
        own = {**self._description.environment(given), **self._settings.variables}
        program = Path(self._settings.program or self._description.command[0])
        if program.is_absolute() and "PATH" not in own:
            path = sandbox.environment(program)["PATH"]
            own["PATH"] = f"{program.parent}:{path}"
        return msgspec.structs.replace(sandbox, variables=own)


class _Talk:
    """What is said between us and one process, within its limits; `errors` reads its standard error."""

    def __init__(
        self,
        program: SandboxedProgram,
        dialect: Dialect,
        *,
        name: str,
        settings: ProgramSettings,
        is_full: Callable[[], bool],
    ) -> None:
        self._program = program
        self._dialect = dialect
        self._name = name
        self._settings = settings
        self._is_full = is_full
        self._kept = KeptOutput(_STDERR_BYTES)
        self._began = self._heard_at = self._looked_at = time.monotonic()
        self._total = 0
        self._chars = 0
        self._asked = 0
        self._longest = 0
        self.errors = asyncio.create_task(self._read_errors(), name=f"errors of {name}")

    async def _read_errors(self) -> None:
        reader = self._program.streams.stderr
        assert reader is not None
        while piece := await reader.read(_PIECE):
            self._total += len(piece)
            self._kept.add(piece)

    async def events(self, call: AdapterCall) -> AsyncIterator[AdapterEvent | MissingSession]:
        """Yield what the program says; raise `AdapterError` if it ends or fails without an answer."""
        self._write(self._dialect.opening())
        if not self._dialect.reads_lines:
            self._close_input()
        lines = self._lines() if self._dialect.reads_lines else self._pieces()
        async with aclosing(lines) as read:
            async for data in read:
                for heard in self._dialect.hear(data):
                    if isinstance(heard, MissingSession):
                        yield heard
                        return
                    if isinstance(heard, AdapterEnd):
                        self._check_length(len(text_of(heard.parts)))
                        await self._let_end()
                        yield heard
                        return
                    event = await self._answered(heard, call)
                    if event is not None:
                        yield event
        code = await self._exit_code()
        end = self._dialect.ended(code)
        if end is None:
            raise AdapterError(self._why_ended(code))
        yield end

    async def _answered(
        self,
        heard: TextDelta | AdapterSession | AdapterStatus | PermissionQuestion | ProgramInput,
        call: AdapterCall,
    ) -> AdapterEvent | None:
        """Return what the person sees of something that was heard; answer what was asked."""
        if isinstance(heard, ProgramInput):
            self._write(heard.data)
            return None
        if isinstance(heard, PermissionQuestion):
            allows = await self._ask(heard, call)
            self._write(self._dialect.answer(heard, allows=allows))
            return None
        if isinstance(heard, TextDelta):
            self._chars += len(heard.text)
            self._check_length(self._chars)
        return heard

    def _check_length(self, chars: int) -> None:
        if chars > self._settings.answer_chars:
            raise AdapterError(
                f"{self._name}: its answer has more than {self._settings.answer_chars:,} "
                "characters (adapters.answer_chars)"
            )

    async def _ask(self, asked: PermissionQuestion, call: AdapterCall) -> bool:
        """Put a question to whoever may answer it; nobody who can be asked is a no."""
        self._asked += 1
        if self._asked > _MOST_ASKED:
            raise AdapterError(f"{self._name}: it asked for more than {_MOST_ASKED:,} things")
        if call.ask is None:
            return False
        began = time.monotonic()
        # In a fence, so that no chat draws it as anything else.
        fence = fence_of(asked.text, at_least=3)
        question = Question(
            text=f"{call.agent.name} ({self._name}) wants to do this:\n{fence}\n{asked.text}\n{fence}",
            schema={"type": "object", "properties": {}},
            within_s=self._settings.question_s,
        )
        answer = await self._watched(call.ask(question))
        waited = time.monotonic() - began
        self._began += waited
        self._heard_at += waited
        return answer is not None

    async def _watched(self, asking: Awaitable[_Answer]) -> _Answer:
        """Wait for an answer; what the program does meanwhile is limited all the same."""
        answered = asyncio.ensure_future(asking)
        try:
            while not (await asyncio.wait({answered}, timeout=_LOOK_S))[0]:
                await self._check_room()
            return answered.result()
        finally:
            answered.cancel()
            await asyncio.wait({answered})

    def _write(self, data: bytes) -> None:
        """Write without waiting: a program that does not read must not hold us."""
        pipe = self._program.streams.stdin
        assert pipe is not None
        if data and not pipe.is_closing():
            pipe.write(data)
            self._longest = max(self._longest, len(data))
            if pipe.transport.get_write_buffer_size() > self._longest + _MOST_UNREAD:
                raise AdapterError(f"{self._name}: it does not read what it is told")

    def _close_input(self) -> None:
        pipe = self._program.streams.stdin
        assert pipe is not None
        with suppress(BrokenPipeError, ConnectionResetError):
            pipe.close()

    async def _let_end(self) -> None:
        """Let a program that has answered end by itself, so that its session is whole on the disk."""
        self._close_input()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await self._program.exited()

    async def _exit_code(self) -> int | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                return await self._program.exited()
        return None

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        rest = bytearray()
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                *lines, last = piece.split(b"\n")
                for line in lines:
                    rest += line
                    yield bytes(rest)
                    rest.clear()
                rest += last
                if len(rest) > _LINE_BYTES:
                    raise AdapterError(
                        f"{self._name}: it wrote a line of more than {_LINE_BYTES:,} bytes"
                    )
        if rest:
            yield bytes(rest)

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the output as it comes, until the program has ended."""
        reader = self._program.streams.stdout
        assert reader is not None
        reading = asyncio.ensure_future(reader.read(_PIECE))
        exited = asyncio.ensure_future(self._program.exited())
        try:
            while True:
                has_exited = exited.done()
                wait_s = _PIPE_S if has_exited else min(_LOOK_S, self._left_s())
                ends: set[asyncio.Future[bytes] | asyncio.Future[int]] = {reading}
                if not has_exited:
                    ends.add(exited)
                await asyncio.wait(ends, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    piece = reading.result()
                    if not piece:
                        return
                    self._heard_at = time.monotonic()
                    self._total += len(piece)
                    yield piece
                    reading = asyncio.ensure_future(reader.read(_PIECE))
                elif has_exited:
                    # What it left behind still holds the pipe.
                    return
                await self._check()
        finally:
            reading.cancel()
            exited.cancel()

    def _left_s(self) -> float:
        now, settings = time.monotonic(), self._settings
        ends = (self._began + settings.timeout_s, self._heard_at + settings.silence_s)
        return max(0.0, min(ends) - now)

    async def _check(self) -> None:
        """Raise `AdapterError` if the program has reached one of its limits."""
        now, settings = time.monotonic(), self._settings
        if now - self._began >= settings.timeout_s:
            raise AdapterError(
                f"{self._name}: it was not done after {settings.timeout_s:g} s (adapters.timeout_s)"
            )
        if now - self._heard_at >= settings.silence_s:
            raise AdapterError(
                f"{self._name}: it wrote nothing for {settings.silence_s:g} s (adapters.silence_s)"
            )
        await self._check_room()

    async def _check_room(self) -> None:
        """Raise `AdapterError` if the program has written too much, to us or into its folder."""
        now, settings = time.monotonic(), self._settings
        if self._total > settings.output_bytes:
            raise AdapterError(
                f"{self._name}: it wrote more than {settings.output_bytes // 1_000_000} MB "
                "(adapters.output_mb)"
            )
        is_running = self._program.streams.returncode is None
        if now - self._looked_at >= _LOOK_S and is_running:
            self._looked_at = now
            if await asyncio.to_thread(self._is_full):
                raise AdapterError(
                    f"{self._name}: its working folder has more than "
                    f"{settings.folder_bytes // 1_000_000} MB (terminal.folder_mb), or the disk is nearly "
                    "full (terminal.min_free_mb)"
                )

    def _why_ended(self, code: int | None) -> str:
        how = f"exit code {code}" if code is None or code >= 0 else f"signal {-code}"
        said = " ".join(self._kept.text.split())[-_STDERR_SHOWN:] or "it said nothing"
        return f"{self._name}: it ended ({how}) before it had answered: {said}"


def _with_models(sandbox: Sandbox, folder: Path) -> Sandbox:
    """Return a sandbox from which the models of the gateway, and nothing else, can be reached."""
    needed = interpreter_folder()
    has_it = needed.is_relative_to("/usr") or any(map(needed.is_relative_to, sandbox.readable))
    readable = sandbox.readable if has_it else (*sandbox.readable, needed)
    return msgspec.structs.replace(sandbox, doors=((folder, DOOR),), readable=readable)


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode(errors="ignore")
