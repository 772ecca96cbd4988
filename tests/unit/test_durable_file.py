"""What was written durably is there after a power cut, whole, and for nobody else to read."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes.durable_file import write_durably
from hermes.testing.power_cut import PowerCutFolder


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[PowerCutFolder]:
    (tmp_path / "home").mkdir()
    with PowerCutFolder(tmp_path / "home") as made:
        yield made


@pytest.mark.req("J17")
def test_a_file_is_found_after_a_power_cut_with_the_folders_that_were_made_for_it(
    disk: PowerCutFolder, tmp_path: Path
) -> None:
    file = tmp_path / "home" / "one" / "two" / "kept"
    write_durably(file, b"first")
    write_durably(file, b"second")

    disk.cut()

    assert file.read_bytes() == b"second"


def test_only_the_owner_can_read_what_was_written(tmp_path: Path) -> None:
    write_durably(tmp_path / "folder" / "kept", b"secret")

    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"folder": 0o700, "kept": 0o600}


def test_a_write_that_fails_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    write_durably(tmp_path / "kept.json", b"first")
    (tmp_path / "in the way").mkdir()

    with pytest.raises(OSError, match="in the way"):
        write_durably(tmp_path / "in the way", b"second")
    with pytest.raises(FileExistsError):
        write_durably(tmp_path / "kept.json" / "deeper", b"second")

    assert {path.name for path in tmp_path.iterdir()} == {"kept.json", "in the way"}
    assert (tmp_path / "kept.json").read_bytes() == b"first"


def test_threads_that_write_the_same_file_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: write_durably(path, b"%d" % one), range(200)))

    assert path.read_bytes().isdigit()
    assert [one.name for one in tmp_path.iterdir()] == ["state"]
