"""Reading the log file back: the last lines over rotations, and what follows."""

import json

import pytest

from hermes.ops.log_reader import LineFilter, Mark, follow, last_lines, mark_of
from hermes.ops.log_stream import RotatingFile


def line(number: int, **fields: object) -> bytes:
    told = {"time": f"2026-11-15T10:00:{number:02}.000Z", "level": "info", "event": str(number)}
    return json.dumps(told | fields).encode() + b"\n"


def events(lines) -> list[str]:
    return [fields["event"] for fields in lines]


@pytest.mark.req("W35")
def test_the_last_lines_come_over_rotated_files_in_order(tmp_path):
    path = tmp_path / "hermes.log"
    file = RotatingFile(path, max_bytes=2 * len(line(1)), keep=2)
    for number in range(7):
        file.write(line(number))
    file.close()

    kept = sorted(one.name for one in tmp_path.iterdir())
    assert kept == ["hermes.log", "hermes.log.1", "hermes.log.2"]
    assert events(last_lines(path, LineFilter(), limit=100, until=mark_of(path))) == list("23456")
    assert events(last_lines(path, LineFilter(), limit=2, until=mark_of(path))) == list("56")


@pytest.mark.req("W35")
def test_nothing_is_kept_beside_the_file_where_that_is_wanted(tmp_path):
    path = tmp_path / "hermes.log"
    file = RotatingFile(path, max_bytes=len(line(1)), keep=0)
    for number in range(3):
        file.write(line(number))
    file.close()

    assert [one.name for one in tmp_path.iterdir()] == ["hermes.log"]
    assert events(last_lines(path, LineFilter(), limit=9, until=mark_of(path))) == ["2"]


@pytest.mark.req("W35")
def test_lines_are_chosen_by_level_message_and_time(tmp_path):
    path = tmp_path / "hermes.log"
    path.write_bytes(
        line(1)
        + line(2, level="warning", message_id="m_1")
        + b'{"half": '
        + b"\n"
        + line(3, level="error", message="m_1")
        + line(4, level="critical", message_id="m_2")
    )
    end = mark_of(path)

    by_level = last_lines(path, LineFilter(level="error"), limit=9, until=end)
    by_message = last_lines(path, LineFilter(message="m_1"), limit=9, until=end)
    since = last_lines(path, LineFilter(since="2026-11-15T10:00:03"), limit=9, until=end)

    assert [events(found) for found in (by_level, by_message, since)] == [
        ["3", "4"],
        ["2", "3"],
        ["3", "4"],
    ]
    assert last_lines(tmp_path / "none", LineFilter(), limit=9, until=Mark()) == []


@pytest.mark.req("W35")
def test_following_misses_and_repeats_nothing_over_half_lines_and_rotations(tmp_path):
    path = tmp_path / "hermes.log"
    file = RotatingFile(path, max_bytes=3 * len(line(1)), keep=3)
    file.write(line(1))
    end = mark_of(path)
    half = line(4)
    writes = iter([line(3), half[:9], half[9:], line(5), line(6) + line(7), b""])
    # Between the last lines and the following, somebody writes.
    file.write(line(2))

    def wait() -> bool:
        content = next(writes)
        if content:
            file.write(content)
        return not content

    shown = events(last_lines(path, LineFilter(), limit=9, until=end))
    followed = events(follow(path, LineFilter(), start=end, wait=wait))
    file.close()

    assert shown == ["1"]
    assert followed == ["2", "3", "4", "5", "6", "7"]
    assert (tmp_path / "hermes.log.1").exists()


@pytest.mark.req("W35")
def test_a_log_that_is_not_there_yet_is_waited_for(tmp_path):
    path, turns = tmp_path / "hermes.log", iter([True, False])

    def wait() -> bool:
        if next(turns):
            path.write_bytes(line(1))
            return False
        return True

    assert events(follow(path, LineFilter(), start=mark_of(path), wait=wait)) == ["1"]
