"""The tools of the terminal: commands by policy, background processes, and files."""

import os
from pathlib import Path

import msgspec
import pytest

from hermes.config import TerminalSettings
from hermes.errors import TooLarge
from hermes.ports.work_files import SessionOwner
from hermes.tools.terminal.background import ProcessRecord
from hermes.tools.terminal.sandbox import missing_tools
from tests.unit.tools.terminal.rigs import LANE, TerminalRig, context, until

OWNER = SessionOwner(person_id="p_ann", lane=LANE)
pytestmark = pytest.mark.skipif(bool(missing_tools()), reason="bubblewrap is not installed")


async def wrote(rig: TerminalRig, name: str, text: str) -> str:
    """Wait until a background process has written a text, and return its state."""
    output = rig.work().records / "processes" / f"{name}.out"
    await until(lambda: output.exists() and text in output.read_text())
    return (await rig.call("terminal_output", process=name)).text


@pytest.mark.req("W42")
async def test_a_session_keeps_its_folder(tmp_path: Path) -> None:
    first = TerminalRig(tmp_path)
    made = await first.call("terminal", command="echo hello > note; exit 3")
    again = TerminalRig(tmp_path, run="n_2")

    assert made.text.startswith("exit code 3 after ")
    assert (await again.call("terminal", command="cat note")).text.endswith("\n\nhello\n")
    assert (await again.call("read_file", path="note")).text == "hello"
    assert (tmp_path / "workdirs").stat().st_mode & 0o077 == 0


@pytest.mark.req("W42")
async def test_another_person_of_the_session_has_another_folder(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    await rig.call("write_file", path="mine", text="of ann")

    assert (await rig.call("list_files", person="p_bob")).text == "There are no files."
    assert (await rig.call("read_file", person="p_bob", path="mine")).failed


@pytest.mark.req("W42")
async def test_always_asks_for_every_command(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path, TerminalSettings(allow=("ls *",)))
    refused = await rig.call("terminal", command="ls", approved_by="nobody")

    assert await rig.approver("ls") == "person"
    assert refused.failed
    assert "nobody has approved this command" in refused.text


@pytest.mark.req("W42")
async def test_allow_asks_for_what_fits_no_shape(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path, TerminalSettings(approval="allow", allow=("ls *",)))

    assert await rig.approver("ls -l") == "nobody"
    assert await rig.approver("ls; rm -r .") == "person"
    assert not (await rig.call("terminal", command="ls", approved_by="nobody")).failed
    assert (await rig.call("terminal", command="id", approved_by="nobody")).failed


@pytest.mark.req("W42")
async def test_once_asks_until_a_command_of_the_session_is_approved(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path, TerminalSettings(approval="once"))
    assert await rig.approver("id") == "person"
    await rig.call("terminal", command="id")
    after_a_restart = TerminalRig(tmp_path, TerminalSettings(approval="once"), run="n_2")

    assert await rig.approver("ls") == "nobody"
    assert await after_a_restart.approver("ls") == "nobody"
    rig.epoch = 1
    assert await rig.approver("ls") == "person"


@pytest.mark.req("W42")
async def test_a_command_cannot_approve_itself(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path, TerminalSettings(approval="once"))
    await rig.call("write_file", path="../approved", text="0")
    await rig.call("write_file", path="approved", text="0")

    assert await rig.approver("id") == "person"


@pytest.mark.req("W42")
async def test_time_ends_a_command(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path, TerminalSettings(timeout_s=4))
    said = (await rig.call("terminal", command="echo begun; sleep 60", timeout_s=500)).text

    assert said.startswith("ended after 4.")
    assert "its time was over" in said
    assert said.endswith("begun\n")


@pytest.mark.req("W42")
async def test_a_folder_that_grows_too_large_ends_the_command(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path, TerminalSettings(folder_mb=5))
    fill = "for n in 1 2 3; do head -c 5000000 /dev/urandom > f$n; done; sleep 60"
    said = (await rig.call("terminal", command=fill)).text

    assert "the working folder exceeds 5 MB" in said
    assert (await rig.call("write_file", path="more", text="x")).failed
    # What is too large can still be made smaller.
    assert (await rig.call("terminal", command="rm f*")).text.startswith("exit code 0")
    assert not (await rig.call("write_file", path="more", text="x")).failed


@pytest.mark.req("W42")
async def test_a_background_process_survives_its_call(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    started = await rig.call(
        "terminal", command="echo up; read -t 60 < <(sleep 60)", background=True
    )

    assert started.text.startswith("started as b1;")
    assert "it is running" in await wrote(rig, "b1", "up\n")
    assert rig.processes.works_in(rig.work().lane)
    stopped = await rig.call("terminal_stop", process="b1")
    assert "it was stopped" in stopped.text
    assert rig.processes.running() == ()


@pytest.mark.req("W42")
async def test_background_processes_end_with_the_session(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    mark = f"983{os.getpid()}"
    await rig.call("terminal", command=f"setsid sleep {mark}", background=True)
    await rig.processes.check()
    assert len(rig.processes.running()) == 1

    rig.epoch = 1
    await rig.processes.check()

    assert rig.processes.running() == ()
    assert "ended with the conversation" in (await rig.call("terminal_output", process="b1")).text
    assert await rig.processes.news(rig.work(), "m_2") == ()


@pytest.mark.req("W42")
async def test_background_processes_end_with_the_gateway_and_the_next_turn_hears_it(
    tmp_path: Path,
) -> None:
    rig = TerminalRig(tmp_path)
    await rig.call("terminal", command="sleep 60", background=True)
    await rig.processes.close()
    again = TerminalRig(tmp_path, run="n_2")
    news = await again.commands.news(OWNER, "m_2")

    assert news == (
        "b1 (sleep 60): it ended when this gateway stopped; start it again if it is still needed",
    )
    # A turn that begins again is told again; the next one is not.
    assert await again.commands.news(OWNER, "m_2") == news
    assert await again.commands.news(OWNER, "m_3") == ()


@pytest.mark.req("W42")
async def test_a_killed_gateway_leaves_a_record_that_says_so(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    await rig.call("terminal", command="sleep 60", background=True)
    # Another process of the gateway finds what this one has on the disk.
    after = TerminalRig(tmp_path, run="n_2")
    said = (await after.call("terminal_output")).text
    again = (await after.call("terminal", command="echo next", background=True)).text
    await rig.processes.close()
    await after.processes.close()

    assert said.startswith("b1 (sleep 60): it ended when this gateway stopped")
    assert again.startswith("started as b2;")


@pytest.mark.req("W42")
async def test_an_end_is_told_once(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    await rig.call("terminal", command="echo done", background=True)
    await until(lambda: not rig.processes.running())
    said = (await rig.call("terminal_output", process="b1")).text

    assert said.endswith("\n\ndone\n")
    assert await rig.commands.news(OWNER, "m_2") == ()


@pytest.mark.req("W42")
async def test_background_processes_and_their_output_are_bounded(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    loud = "head -c 1000000 /dev/zero | tr '\\0' x; echo end; sleep 60"
    await rig.call("terminal", command=loud, background=True)
    await rig.call("terminal", command="sleep 60", background=True)
    third = await rig.call("terminal", command="sleep 60", background=True)
    said = await wrote(rig, "b1", "end\n")
    size = (rig.work().records / "processes" / "b1.out").stat().st_size
    await rig.processes.close()

    assert third.failed
    assert "that is the limit; stop one with terminal_stop: b1, b2" in third.text
    assert len(said) < 2_500
    assert size <= 4_000


@pytest.mark.req("W42")
async def test_a_closed_folder_is_opened_and_removed(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    await rig.call("terminal", command="mkdir -p a/b; touch a/b/c; chmod 0 a/b a .")
    assert (await rig.call("terminal", command="echo fine")).text.endswith("fine\n")
    rig.folders.erase("p_ann")

    assert list((tmp_path / "workdirs").iterdir()) == []


@pytest.mark.req("W42")
async def test_files_are_searched_in_parts(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    await rig.call("write_file", path="src/one.txt", text="first\nThe Needle is here\nthird")
    await rig.call("write_file", path="two.bin", text="\0needle")

    assert (
        await rig.call("search_files", text="needle")
    ).text == "src/one.txt:2: The Needle is here"
    part = await rig.call("read_file", path="src/one.txt", first_line=2, lines=1)
    assert part.text == "The Needle is here\n[1 more lines; the file has 3]"
    assert "wrote" in (await rig.call("write_file", path="new", text="x")).text
    assert "replaced" in (await rig.call("write_file", path="new", text="y")).text
    # What the file tools write, commands can change.
    assert (await rig.call("terminal", command="echo z >> new && cat new")).text.endswith("yz\n")


def test_the_whole_command_is_shown_to_who_approves_it(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)

    assert rig.terminal.traits.shown_chars >= 2 * 3_000
    assert not rig.terminal.traits.idempotent
    assert context().approved_by == "nobody"


@pytest.mark.req("W42")
async def test_a_disk_that_is_nearly_full_ends_commands_and_takes_no_uploads(
    tmp_path: Path,
) -> None:
    disk = os.statvfs(tmp_path)
    free_mb = disk.f_bavail * disk.f_frsize // 1_000_000
    rig = TerminalRig(tmp_path, free_mb=free_mb + 10_000)

    ran = await rig.call("terminal", command="echo ran")
    wrote = await rig.call("write_file", path="note", text="kept")
    with pytest.raises(TooLarge):
        await rig.files.put(OWNER, "note", b"kept")

    assert (ran.failed, wrote.failed) == (True, True)
    assert "nearly full" in ran.text
    assert rig.folders.is_full(rig.work(), 1_000_000_000)


@pytest.mark.req("W42")
async def test_a_very_deep_folder_ends_no_tool_and_is_erased(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    deep = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
    await rig.call("terminal", command=f'python3 -c "{deep}"')

    after = await rig.call("terminal", command="echo fine")
    wrote = await rig.call("write_file", path="note", text="kept")
    rig.folders.erase("p_ann")

    assert (after.text.endswith("fine\n"), wrote.failed) == (True, False)
    assert not rig.work().records.exists()


@pytest.mark.req("W42", "J24")
async def test_a_command_ends_when_its_person_is_erased(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    work = rig.folders.open("p_ann", LANE)

    before = rig.folders.is_full(work, 1_000_000)
    rig.folders.close("p_ann")
    closing = rig.folders.is_full(work, 1_000_000)
    rig.folders.erase("p_ann")

    assert (before, closing, rig.folders.is_full(work, 1_000_000)) == (False, True, True)
    assert rig.folders.people() == ()


@pytest.mark.req("W42")
async def test_what_ended_long_ago_is_forgotten_and_no_id_means_two_processes(
    tmp_path: Path,
) -> None:
    rig = TerminalRig(tmp_path)
    folder = rig.folders.open("p_ann", LANE).records / "processes"
    folder.mkdir()
    for number in range(1, 31):
        ended = ProcessRecord(
            id=f"b{number}", command="true", epoch=0, run="n_0", started_at=1.0, why="exited"
        )
        (folder / f"b{number}.json").write_bytes(msgspec.json.encode(ended))
        (folder / f"b{number}.out").write_bytes(b"x" * 1_000)

    said = (await rig.call("terminal", command="sleep 60", background=True)).text
    kept = [one.id for one in await rig.processes.records(rig.work())]
    await rig.processes.close()

    assert "started as b31" in said
    assert kept == [f"b{number}" for number in range(11, 32)]
    assert sorted(one.name for one in folder.glob("*.out"))[0] == "b11.out"


@pytest.mark.req("W42")
async def test_a_search_reads_no_more_than_a_limit_of_files_that_are_holes(tmp_path: Path) -> None:
    rig = TerminalRig(tmp_path)
    files = rig.folders.open("p_ann", LANE).files
    for number in range(250):
        with (files / f"hole{number}").open("wb") as file:
            file.truncate(1_000_000)

    said = (await rig.call("search_files", text="x")).text

    assert said == "There is more than can be searched at once; name a folder."
