"""The scripted program as an adapter, in the real sandbox or without one."""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import TextPart
from hermes.ports.adapter import AdapterAgent, AdapterCall, AdapterEnd, AdapterSession
from hermes.ports.clock import SystemClock
from hermes.ports.provider import TextDelta
from hermes.testing import scripted_program
from hermes.tools.programs.adapter import ProgramAdapter, ProgramSettings
from hermes.tools.programs.description import Description
from hermes.tools.programs.prompt import ReadMedia
from hermes.tools.programs.relay import OpenModels
from hermes.tools.programs.run_keys import RunKeys
from hermes.tools.terminal.sandbox import ProgramLimits, Sandbox, SandboxKind, runs_as_root
from hermes.tools.terminal.work_folders import WorkFolders

LANE = "agent:w_1:rest:dm:ann"
PYTHON = Path(sys.executable).resolve()
SETTINGS = ProgramSettings(
    timeout_s=20,
    silence_s=20,
    question_s=5,
    output_bytes=5_000_000,
    answer_chars=10_000,
    folder_bytes=50_000_000,
)
VARIABLES = {"SCRIPTED_MODELS": "{models}", "SCRIPTED_KEY": "{key}", "SCRIPTED_MODEL": "{model}"}


def install(folder: Path) -> Path:
    """Put the program where it can be started from, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "program.py"
    shutil.copy(scripted_program.__file__, path)
    path.chmod(0o644)
    return path


def described(program: Path, **more: Any) -> Description:
    """Return how the scripted program is started."""
    return Description(
        command=(str(PYTHON), "-I", str(program)),
        gateway_variables=VARIABLES,
        **{"speaks": "lines", "check": (str(PYTHON), "-I", "-c", "pass"), **more},
    )


def make_adapter(
    tmp_path: Path,
    *,
    kind: SandboxKind = "bubblewrap",
    open_models: OpenModels | None = None,
    keys: RunKeys | None = None,
    variables: Mapping[str, str] | None = None,
    description: Mapping[str, Any] | None = None,
    read_media: ReadMedia | None = None,
    **settings: Any,
) -> ProgramAdapter:
    """Return the scripted program as an adapter of a home in `tmp_path`."""
    program = install(tmp_path / "tools")
    sandbox = Sandbox(
        kind=kind,
        limits=ProgramLimits(processes=200, file_mb=20),
        readable=(program.parent, Path(sys.base_prefix)),
        hidden=(tmp_path / "home",),
        is_root=runs_as_root(),
        owner="the-tests",
    )
    (tmp_path / "home").mkdir(exist_ok=True)
    folders = WorkFolders(
        tmp_path / "home" / "workdirs",
        sandbox=sandbox,
        shared=None,
        keep_s=3_600,
        free_mb=0,
        clock=SystemClock(),
    )
    wanted = msgspec.structs.replace(SETTINGS, variables=variables or {}, **settings)
    return ProgramAdapter(
        "scripted",
        described(program, **(description or {})),
        settings=wanted,
        sandbox=sandbox,
        folders=folders,
        keys=keys or RunKeys(),
        open_models=open_models,
        read_media=read_media,
    )


def asking(text: str, *before: str, **more: Any) -> AdapterCall:
    """Return a call; `before` are what was said earlier, the person first."""
    roles = ("user", "assistant")
    said = [
        ChatMessage(roles[index % 2], (TextPart(words),))  # type: ignore[arg-type]  # one of two roles
        for index, words in enumerate((*before, text))
    ]
    return AdapterCall(
        **{
            "id": "m_1.1",
            "agent": AdapterAgent(key="w_1", name="coder"),
            "person_id": "p_1",
            "tier": "free",
            "lane": LANE,
            "conversation": f"{LANE}#0",
            "platform": "rest",
            "messages": tuple(said),
            **more,
        }
    )


async def heard(adapter: ProgramAdapter, call: AdapterCall) -> tuple[str, str, AdapterEnd | None]:
    """Return what an adapter streamed: the text, the last session, and the end."""
    text, session, end = "", "", None
    async for event in adapter.stream(call):
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, AdapterSession):
            session = event.id
        elif isinstance(event, AdapterEnd):
            end = event
    return text, session, end
