"""An attachment that the disk does not give at first is sent later, on every channel that sends files."""

import errno
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hermes.message.outcome import DeliveryState
from tests.contract.channels.cases import CASES
from tests.contract.channels.house import Case, House

_FIT = [case for case in CASES if "file" in case.capabilities().media]
_FAILURES = 2
_KEPT = re.compile(r"[0-9a-f]{64}\.txt")


@pytest.fixture
async def house(case: Case, tmp_path: Path) -> AsyncIterator[House]:
    async with House(case, tmp_path / "home") as made:
        yield made
    assert made.platform.rejections == ()


@pytest.fixture
def failed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the disk fail when kept files are read, a few times; returns which were asked for."""
    names: list[str] = []
    opened: Callable[..., int] = os.open

    def fail(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        is_kept = dir_fd is not None and _KEPT.fullmatch(str(name)) is not None
        if is_kept and len(names) < _FAILURES:
            names.append(str(name))
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return opened(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", fail)
    return names


@pytest.mark.parametrize("case", _FIT, ids=[case.name for case in _FIT])
@pytest.mark.req("A28", "W20")
async def test_an_attachment_that_cannot_be_read_now_is_sent_later(
    house: House, failed: list[str]
) -> None:
    house.files.mkdir()
    (house.files / "notes.txt").write_text("the notes")

    await house.say(f"yes\nMEDIA: {house.files}/notes.txt")
    posts = await house.until(lambda: [one for one in house.posts() if one.files])

    assert len(failed) == _FAILURES
    assert [one.files for one in posts] == [("notes.txt",)]
    await house.answer("a barrier")
    assert [one.files for one in house.posts() if one.files] == [("notes.txt",)]
    assert {reply.state for reply in await house.settled(2)} == {DeliveryState.SENT}
    assert await house.dead_letters() == []
