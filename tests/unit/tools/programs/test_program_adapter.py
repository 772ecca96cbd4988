"""A program as an adapter, in the real sandbox: its sessions, its questions, its limits, and its end."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.errors import AdapterError, AdapterLost, NotFound, TooLarge
from hermes.message.chat import ChatMessage
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart
from hermes.ports.adapter import AdapterAgent, AdapterCall
from hermes.ports.tool import Question
from hermes.tools.programs.run_keys import RunKey, RunKeys
from hermes.tools.terminal.program import end_leftovers, start
from hermes.tools.terminal.sandbox import Sandbox, SandboxKind, missing_tools
from tests.unit.tools.programs.program_rig import asking, heard, make_adapter
from tests.unit.tools.terminal.rigs import until

NEEDS_SANDBOX = pytest.mark.skipif(bool(missing_tools()), reason="bubblewrap is not installed")
KINDS = [pytest.param("bubblewrap", marks=NEEDS_SANDBOX), "unsafe"]
AGENT = AdapterAgent(key="w_1", name="coder")
pytestmark = pytest.mark.req("A25")


def of_tests(tmp_path: Path) -> list[int]:
    """Return the processes that run in a folder of a test."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(tmp_path) in line or line.startswith("sleep\x001000"):
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize("kind", KINDS)
async def test_it_answers_and_goes_on_in_its_session(tmp_path: Path, kind: SandboxKind) -> None:
    adapter = make_adapter(tmp_path, kind=kind)

    text, session, end = await heard(adapter, asking("hello"))
    again, same, _ = await heard(
        adapter, asking("and now", "hello", "said: hello", session=session)
    )

    assert end is not None
    assert (text, again, same) == ("said: hello", "said: and now", session)
    assert (end.parts, end.model) == ((TextPart(text),), "script-1")
    assert (end.usage.tokens_in, end.usage.cost_usd, end.booked_by) == (10, 0.01, "nobody")
    (kept,) = (tmp_path / "home").glob(f"workdirs/p_1/*/files/sessions/{session}")
    assert kept.read_text().splitlines() == ['"hello"', '"and now"']


@NEEDS_SANDBOX
async def test_a_session_that_we_name_is_on_the_disk_before_the_program_starts(
    tmp_path: Path,
) -> None:
    ours = {"new": ("--new", "{session}"), "again": ("--again", "{session}")}
    adapter = make_adapter(tmp_path, description=ours)

    events = adapter.stream(asking("hello"))
    first = await anext(events)
    begun = list((tmp_path / "home").glob("workdirs/p_1/*/files/*"))
    rest = [event async for event in events]

    assert begun == []
    assert msgspec.structs.replace(rest[0]) == first


@NEEDS_SANDBOX
async def test_a_session_that_is_gone_begins_anew_with_what_was_said(tmp_path: Path) -> None:
    adapter = make_adapter(tmp_path)

    text, session, _ = await heard(
        adapter, asking("and now", "hello", "said: hello", session="forgotten")
    )

    assert session != "forgotten"
    assert "user: hello\nassistant: said: hello" in text
    assert text.endswith("and now")


@NEEDS_SANDBOX
async def test_what_was_cut_off_is_never_begun_again(tmp_path: Path) -> None:
    adapter = make_adapter(tmp_path)

    for session in ("", "forgotten"):
        with pytest.raises(AdapterLost):
            await heard(adapter, asking("hello", session=session, was_cut_off=True))

    assert not list((tmp_path / "home").glob("workdirs/p_1/*/files/sessions/*"))


@NEEDS_SANDBOX
async def test_what_was_cut_off_goes_on_in_its_session_and_is_told_so(tmp_path: Path) -> None:
    adapter = make_adapter(tmp_path)
    _, session, _ = await heard(adapter, asking("hello"))

    text, same, _ = await heard(adapter, asking("work", session=session, was_cut_off=True))

    assert same == session
    assert text.startswith("said: [A restart cut you off")


@NEEDS_SANDBOX
@pytest.mark.parametrize(("allows", "told"), [(True, "said: allowed"), (False, "said: refused")])
async def test_what_it_asks_is_put_to_the_person(tmp_path: Path, allows: bool, told: str) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Mapping[str, Any] | None:
        asked.append(question)
        return {} if allows else None

    text, _, _ = await heard(make_adapter(tmp_path), asking("ask me", ask=ask))

    assert text == told
    assert asked[0].text == "coder (scripted) wants to do this:\n```\ndo ask me\n```"


@NEEDS_SANDBOX
async def test_its_folder_is_limited_while_a_question_waits(tmp_path: Path) -> None:
    closed: list[Question] = []

    async def ask(question: Question) -> Mapping[str, Any] | None:
        try:
            await asyncio.Event().wait()
            return {}
        finally:
            closed.append(question)

    adapter = make_adapter(tmp_path, folder_bytes=1)
    async with asyncio.timeout(15):
        with pytest.raises(AdapterError, match="its working folder has more than"):
            await heard(adapter, asking("ask me", ask=ask))

    assert len(closed) == 1


@NEEDS_SANDBOX
async def test_where_nobody_can_be_asked_the_answer_is_no(tmp_path: Path) -> None:
    assert (await heard(make_adapter(tmp_path), asking("ask me")))[0] == "said: refused"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "settings", "problem"),
    [
        ("hang", {"timeout_s": 0.5}, "it was not done after 0.5 s"),
        ("deaf", {"silence_s": 0.5}, "it wrote nothing for 0.5 s"),
        ("flood", {}, "it wrote more than 5 MB"),
        ("beg", {}, "it asked for more than 1,000 things"),
        ("line", {"output_bytes": 200_000_000}, "a line of more than 8,000,000 bytes"),
        ("x" * 20_000, {}, "its answer has more than 10,000 characters"),
        ("fork", {}, r"it ended \(exit code 0\) before it had answered"),
        ("quiet", {}, r"it ended \(exit code 0\) before it had answered"),
        ("crash", {}, r"it ended \(exit code 1\) before it had answered: it broke on purpose"),
    ],
)
async def test_what_goes_wrong_is_one_clear_error_and_nothing_is_left(
    tmp_path: Path, kind: SandboxKind, text: str, settings: dict[str, Any], problem: str
) -> None:
    adapter = make_adapter(tmp_path, kind=kind, **settings)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    beating, began = asyncio.create_task(beat()), time.monotonic()
    with pytest.raises(AdapterError, match=problem):
        await heard(adapter, asking(text))
    took = time.monotonic() - began
    beating.cancel()

    assert took < 15
    # The loop went on meanwhile.
    assert beats > took * 10
    await until(lambda: not of_tests(tmp_path))


@NEEDS_SANDBOX
async def test_an_answer_that_comes_all_at_its_end_is_limited_too(tmp_path: Path) -> None:
    adapter = make_adapter(tmp_path, description={"speaks": "claude"})
    result = "print(json.dumps({'type': 'result', 'is_error': False, 'result': 'x' * 20_000}))"
    (tmp_path / "tools" / "program.py").write_text(f"import json\n{result}\n")

    with pytest.raises(AdapterError, match="its answer has more than 10,000 characters"):
        await heard(adapter, asking("hello"))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_that_is_stopped_leaves_nothing(tmp_path: Path, kind: SandboxKind) -> None:
    events = make_adapter(tmp_path, kind=kind).stream(asking("deaf"))
    await anext(events)
    running = asyncio.ensure_future(anext(events))
    await asyncio.wait({running}, timeout=0.2)
    running.cancel()
    await asyncio.wait({running})
    await events.aclose()

    await until(lambda: not of_tests(tmp_path))


async def test_what_a_crash_left_of_an_unsafe_program_is_found(tmp_path: Path) -> None:
    owner = f"owner-{tmp_path.name}"
    sandbox = Sandbox(kind="unsafe", owner=owner)
    nested = "setsid sleep 1000 & setsid sleep 1000 & sleep 1000"
    program = await start(sandbox, ("/bin/sh", "-c", nested), folder=tmp_path)
    await until(lambda: len(of_owner(owner)) >= 3)

    os.kill(program.streams.pid, signal.SIGKILL)
    ended = await asyncio.to_thread(end_leftovers, owner)

    assert ended >= 2
    await until(lambda: not of_owner(owner))
    await program.exited()
    program.close()


def of_owner(owner: str) -> list[Path]:
    """Return the processes that belong to an owner."""
    return [path for path in Path("/proc").glob("[0-9]*") if owner in environment_of(path)]


def environment_of(process: Path) -> str:
    try:
        return (process / "environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


@NEEDS_SANDBOX
async def test_a_folder_that_grows_too_large_ends_it(tmp_path: Path) -> None:
    adapter = make_adapter(tmp_path, folder_bytes=1)

    with pytest.raises(AdapterError, match="its working folder has more than"):
        await heard(adapter, asking("hang"))


@NEEDS_SANDBOX
async def test_its_environment_is_what_the_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_GATEWAY", "x")
    adapter = make_adapter(tmp_path, variables={"GIVEN": "a value"})

    assert (await heard(adapter, asking("leak GIVEN")))[0] == "said: a value"
    with pytest.raises(AdapterError, match="KeyError: 'SECRET_OF_THE_GATEWAY'"):
        await heard(adapter, asking("leak SECRET_OF_THE_GATEWAY"))


@NEEDS_SANDBOX
async def test_another_folder_is_empty_and_the_same_one_is_not(tmp_path: Path) -> None:
    adapter = make_adapter(tmp_path)
    other = AdapterAgent(key="w_1", name="coder", options={"folder": "v2"})

    await heard(adapter, asking("hello"))
    await heard(adapter, asking("hello", agent=other))
    await heard(adapter, asking("hello", agent=other))

    sessions = (tmp_path / "home").glob("workdirs/p_1/*/files/sessions")
    assert sorted(len(list(one.iterdir())) for one in sessions) == [1, 2]


def with_files(text: str, *parts: Part, before: tuple[ChatMessage, ...] = ()) -> AdapterCall:
    """Return a call whose message has attachments."""
    message = ChatMessage("user", (TextPart(text), *parts))
    return asking(text, messages=(*before, message))


async def read_kept(media: Media, limit: int) -> bytes:
    """Return what a media cache has: ten letters of each file, or that it is gone."""
    if media.path == "p_1/m_1/gone.pdf":
        raise NotFound("there is no such file")
    if limit < 10:
        raise TooLarge("it has 10 bytes")
    return b"0123456789"


@pytest.mark.parametrize("kind", KINDS)
async def test_attachments_are_files_where_it_works(tmp_path: Path, kind: SandboxKind) -> None:
    adapter = make_adapter(tmp_path, kind=kind, read_media=read_kept)
    report = FilePart(Media("application/pdf", path="p_1/m_1/ab.pdf", name="../a report.pdf"))
    inline = ImagePart(Media("image/png", url="data:image/png;base64,YWJj"))
    voice = AudioPart(Media("audio/ogg", path="p_1/m_1/cd.ogg", name="v.ogg"), transcript="hello")
    gone = FilePart(Media("application/pdf", path="p_1/m_1/gone.pdf", name="old.pdf"))
    far = FilePart(Media("application/pdf", url="https://example.org/x.pdf"))
    call = with_files("look", report, inline, voice, gone, far)

    said, session, _ = await heard(adapter, call)
    again, _, _ = await heard(
        adapter, msgspec.structs.replace(call, session=session, was_cut_off=True)
    )

    (kept,) = (tmp_path / "home").glob(f"workdirs/p_1/*/files/sessions/{session}")
    first, second = map(json.loads, kept.read_text().splitlines())
    assert first.splitlines() == [
        "look",
        "[Attached file: attachments/84d89877f0d4-a report.pdf (application/pdf, 10 bytes)]",
        "[Attached file: attachments/ba7816bf8f01-file.png (image/png, 3 bytes)]",
        "[Attached file: attachments/84d89877f0d4-v.ogg (audio/ogg, 10 bytes)]",
        "[What is said in it: hello]",
        "[Attachment old.pdf (application/pdf) is missing: it is gone.]",
        "[Attachment without a name (application/pdf) is missing: it is gone.]",
    ]
    assert said == "said: 10 3 10"
    # What it has changed since stays changed.
    assert (again, second.endswith(first)) == (f"said: {second}", True)
    places = (tmp_path / "home").glob("workdirs/p_1/*/files/attachments/*")
    assert {one.read_text() for one in places} == {"changed"}


async def test_attachments_of_earlier_messages_are_counted(tmp_path: Path) -> None:
    adapter = make_adapter(tmp_path, kind="unsafe", read_media=read_kept)
    picture = ImagePart(Media("image/png", path="p_1/m_0/ab.png"))
    before = (
        ChatMessage("user", (TextPart("see"), picture)),
        ChatMessage("assistant", (TextPart("ok"),)),
    )

    said, _, _ = await heard(adapter, with_files("and now", before=before))

    assert "user: see\n[1 attachments are not shown here]" in said
    assert not list((tmp_path / "home").glob("workdirs/p_1/*/files/attachments"))


async def test_attachments_do_not_leave_the_folder_or_exceed_it(tmp_path: Path) -> None:
    adapter = make_adapter(tmp_path, kind="unsafe", read_media=read_kept, folder_bytes=60_000)
    await heard(adapter, asking("hello"))
    (files,) = (tmp_path / "home").glob("workdirs/p_1/*/files")
    (tmp_path / "elsewhere").mkdir()
    (files / "attachments").symlink_to(tmp_path / "elsewhere")
    report = FilePart(Media("application/pdf", path="p_1/m_1/ab.pdf", name="a.pdf"))

    linked, _, _ = await heard(adapter, with_files("see", report))
    (files / "attachments").unlink()
    (files / "large").write_bytes(b"x" * 59_000)
    full, _, _ = await heard(adapter, with_files("see", report))

    assert "[Attachment a.pdf (application/pdf) is missing: " in linked
    assert not list((tmp_path / "elsewhere").iterdir())
    assert "is missing: it does not fit in the working folder.]" in full


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        ({}, ""),
        ({"check": ("/usr/bin/false",)}, "scripted: /usr/bin/false ended with 1: it said nothing"),
        ({"check": ("no-such-program",)}, "no-such-program"),
    ],
)
@NEEDS_SANDBOX
async def test_its_health_is_that_it_starts(
    tmp_path: Path, description: dict[str, Any], problem: str
) -> None:
    found = await make_adapter(tmp_path, description=description).health_check(AGENT)

    assert problem in found
    assert bool(found) == bool(problem)


def test_a_key_is_worth_nothing_after_its_program() -> None:
    keys, key = RunKeys(), RunKey(person_id="p_1", tier="free", agent="w_1", platform="rest")
    with keys.issued(key) as secret:
        assert keys.find(secret) == key
    assert keys.find(secret) is None
