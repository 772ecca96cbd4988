"""The file of `hermes users export`: whole or not there, and never in the place of another."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from hermes.cli.users_export import export_target
from hermes.errors import Conflict
from tests.unit.cli.conftest import Hermes


@pytest.mark.req("A3")
def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "ann.jsonl"
    refused = pytest.raises(Conflict, match="is there already, so nothing was written")
    with refused, export_target(file) as stream:
        stream.write(b"{}\n")
        file.write_text("of somebody else")

    assert file.read_text() == "of somebody else"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.req("A3")
def test_a_file_has_its_name_once_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "ann.jsonl"
    with export_target(file) as stream:
        stream.write(b"{}\n")
        assert not file.exists()

    assert (file.read_text(), file.stat().st_mode & 0o777) == ("{}\n", 0o600)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.req("A3")
def test_what_is_printed_is_json_lines_and_nothing_else(hermes: Hermes) -> None:
    hermes("users", "add", "telegram:4711", "--name", "Ann")
    printed = hermes("users", "export", "telegram:4711")

    lines = [json.loads(line) for line in printed.stdout.splitlines()]
    digest = sha256("".join(printed.stdout.splitlines(keepends=True)[:-1]).encode()).hexdigest()
    assert [line["kind"] for line in lines] == [
        *("manifest", "person", "consent", "channel", "wallet", "end"),
    ]
    assert (lines[3]["name"], lines[-1]["sha256"]) == ("Ann", digest)


@pytest.mark.req("A3")
def test_of_somebody_who_was_erased_there_is_no_file(hermes: Hermes, tmp_path: Path) -> None:
    added = hermes("users", "add", "telegram:4711", "--json")
    person = json.loads(added.stdout)["user"]["id"]
    hermes("users", "erase", "telegram:4711", "--yes")
    refused = hermes("users", "export", person, "--out", str(tmp_path / "ann.jsonl"))

    assert refused.returncode == 1
    assert "was erased: nothing of them can be read any more" in refused.stderr
    assert not (tmp_path / "ann.jsonl").exists()
