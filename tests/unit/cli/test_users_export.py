"""The file of `hermes users export`: whole or not there, and never in the place of another."""

from pathlib import Path

import pytest

from hermes.cli.users_export import export_target
from hermes.errors import Conflict


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
