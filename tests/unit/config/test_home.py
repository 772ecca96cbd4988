"""The home folder and secret files: made private, refused when others could change or read them."""

import os
import stat
from pathlib import Path

import pytest

from hermes.config import ensure_home, read_or_create_secret_file
from hermes.errors import ConfigurationError

pytestmark = pytest.mark.req("W1")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_home_is_made_private_with_its_folders(tmp_path):
    home = tmp_path / "a" / "hermes"

    assert ensure_home(home) == home

    assert {path.name: mode(path) for path in (home, *home.iterdir())} == {
        "hermes": 0o700,
        "keys": 0o700,
        "logs": 0o700,
        "run": 0o700,
    }


def test_an_existing_home_keeps_its_content_and_its_folders_are_closed(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys").chmod(0o755)
    (tmp_path / "keys" / "a").write_text("kept")
    tmp_path.chmod(0o755)

    ensure_home(tmp_path)

    assert (mode(tmp_path), mode(tmp_path / "keys")) == (0o755, 0o700)
    assert (tmp_path / "keys" / "a").read_text() == "kept"


@pytest.mark.parametrize("loose", [0o720, 0o702, 0o777])
def test_a_home_that_others_can_change_is_refused(tmp_path, loose):
    tmp_path.chmod(loose)

    with pytest.raises(ConfigurationError) as caught:
        ensure_home(tmp_path)

    assert str(caught.value) == (
        f"{tmp_path} can be changed by other users (mode {loose:04o}, expected 0700); "
        f"run chmod 700 {tmp_path}"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_home_of_somebody_else_is_refused(tmp_path):
    os.chown(tmp_path, 12345, 12345)

    with pytest.raises(ConfigurationError, match="belongs to user 12345, expected user 0"):
        ensure_home(tmp_path)


def test_a_file_in_the_place_of_the_home_is_refused(tmp_path):
    place = tmp_path / "home"
    place.write_text("")

    with pytest.raises(ConfigurationError, match="home is not a folder, expected one"):
        ensure_home(place)


def test_a_secret_is_made_once_and_read_after_that(tmp_path):
    path = tmp_path / "store.key"

    made = read_or_create_secret_file(path, lambda: b"first")
    read = read_or_create_secret_file(path, lambda: b"second")

    assert (made, read, mode(path)) == (b"first", b"first", 0o600)
    assert [entry.name for entry in tmp_path.iterdir()] == ["store.key"]


def test_of_two_makers_at_once_the_first_wins(tmp_path):
    # given another process that makes the file while this one makes its content
    path = tmp_path / "store.key"

    def make() -> bytes:
        read_or_create_secret_file(path, lambda: b"theirs")
        return b"ours"

    # then
    assert read_or_create_secret_file(path, make) == b"theirs"
    assert [entry.name for entry in tmp_path.iterdir()] == ["store.key"]


@pytest.mark.parametrize("loose", [0o640, 0o604, 0o660])
def test_a_secret_that_others_can_read_is_refused(tmp_path, loose):
    path = tmp_path / "store.key"
    path.write_bytes(b"x")
    path.chmod(loose)

    with pytest.raises(ConfigurationError) as caught:
        read_or_create_secret_file(path, lambda: b"new")

    assert str(caught.value) == (
        f"{path} is open to other users (mode {loose:04o}, expected 0600); "
        f"run chmod 600 {path}, and change the secret if somebody may have read it"
    )


def test_a_link_an_empty_file_and_a_missing_folder_are_refused(tmp_path):
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "empty").touch(mode=0o600)

    for name, text in (
        ("link", "cannot be read or made"),
        ("empty", "is empty, expected a secret"),
        ("no/such", "cannot be read or made"),
    ):
        with pytest.raises(ConfigurationError, match=text):
            read_or_create_secret_file(tmp_path / name, lambda: b"new")
