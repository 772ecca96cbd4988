"""What a channel has written down is there after a power cut, whole, and for nobody else to read."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes.channels.email.memory import begun
from hermes.channels.matrix.sync_state import SyncState, SyncStateFile
from hermes.channels.slack.uploads import Uploads
from hermes.durable_file import write_durably
from hermes.testing.power_cut import PowerCutFolder

pytestmark = pytest.mark.req("J17")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[PowerCutFolder]:
    (tmp_path / "home").mkdir()
    with PowerCutFolder(tmp_path / "home") as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that nobody has made yet, in a home that stands."""
    return tmp_path / "home" / "channels" / "state"


async def test_the_file_that_a_slack_send_uploaded_is_found_after_a_power_cut(
    disk: PowerCutFolder, folder: Path
) -> None:
    await Uploads(folder).note("d1.0", "F1")
    await Uploads(folder).note("d2.0", "F2")

    disk.cut()

    found = Uploads(folder)
    assert [await found.find(key) for key in ("d1.0", "d2.0", "d3.0")] == ["F1", "F2", None]


async def test_the_place_in_a_matrix_stream_is_found_after_a_power_cut(
    disk: PowerCutFolder, folder: Path
) -> None:
    await SyncStateFile(folder).save(SyncState(user_id="@a:b", since="s1"))
    await SyncStateFile(folder).save(SyncState(user_id="@a:b", since="s2"))

    disk.cut()

    assert await SyncStateFile(folder).load() == SyncState(user_id="@a:b", since="s2")


def test_the_day_from_which_mail_is_answered_is_found_after_a_power_cut(
    disk: PowerCutFolder, folder: Path
) -> None:
    first = begun(folder, now=1000.0, age_s=10.0)

    disk.cut()

    assert begun(folder, now=2000.0, age_s=10.0) == first


async def test_only_the_owner_can_read_what_a_channel_has_written_down(folder: Path) -> None:
    folder.parent.parent.mkdir()
    await Uploads(folder).note("d1.0", "F1")
    await SyncStateFile(folder).save(SyncState())
    begun(folder, now=0.0, age_s=0.0)

    names = ("uploads.json", "stream.json", "mailbox.json")
    assert _modes(folder) == {"state": 0o700} | dict.fromkeys(names, 0o600)


def test_a_write_that_fails_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    write_durably(tmp_path / "kept.json", b"first")
    (tmp_path / "in the way").mkdir()

    with pytest.raises(OSError, match="in the way"):
        write_durably(tmp_path / "in the way", b"second")
    with pytest.raises(FileExistsError):
        write_durably(tmp_path / "kept.json" / "deeper", b"second")

    assert {path.name for path in tmp_path.iterdir()} == {"kept.json", "in the way"}
    assert (tmp_path / "kept.json").read_bytes() == b"first"


def _modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}


def test_threads_that_write_the_same_file_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: write_durably(path, b"%d" % one), range(200)))

    assert path.read_bytes().isdigit()
    assert [one.name for one in tmp_path.iterdir()] == ["state"]
