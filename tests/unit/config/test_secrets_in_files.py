"""Which configuration files contain a secret, so that a backup leaves them out."""

from pathlib import Path

import pytest

from hermes.config.file_secrets import secrets_in_files
from hermes.config.first_files import FirstChoices, config_text
from hermes.ops.masker import Masker


def found_in(home: Path, text: str, *, known: str = "") -> dict[str, str]:
    """Return what is found in a `config.yaml` with the text."""
    (home / "config.yaml").write_text(text)
    masker = Masker([known])
    return secrets_in_files(home, looks_secret=lambda line: masker.line(line) != line)


def server(*args: str) -> str:
    return f"mcp: {{servers: {{wiki: {{command: wiki, args: {list(args)}}}}}}}\n"


@pytest.mark.req("W35")
def test_a_password_in_an_address_is_a_secret(tmp_path: Path) -> None:
    plain = found_in(tmp_path, "proxy: http://proxy.test:3128\n")
    found = found_in(tmp_path, "proxy: http://bob:hunter2@proxy.test:3128\n")

    assert (plain, found) == ({}, {"config.yaml": "proxy"})


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    "args",
    [
        ("--token", "hunter2"),
        ("--api-key=hunter2",),
        ("-H", "X-Api-Key: hunter2"),
        ("postgres://bob:hunter2@db.test/wiki",),
    ],
)
def test_an_argument_behind_the_name_of_a_secret_is_one(
    tmp_path: Path, args: tuple[str, ...]
) -> None:
    assert found_in(tmp_path, server(*args)) == {"config.yaml": "mcp.servers.wiki.args"}


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    "args",
    [
        ("--token", "${WIKI_TOKEN}"),
        ("--token=${WIKI_TOKEN}",),
        ("--token", "--verbose"),
        ("--max-tokens", "100"),
        ("wiki.py", "https://wiki.test/mcp?space=docs"),
    ],
)
def test_other_arguments_are_none(tmp_path: Path, args: tuple[str, ...]) -> None:
    assert found_in(tmp_path, server(*args)) == {}


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    "line",
    [
        "proxy: https://proxy.test/?access_token=hunter2",
        "# password: hunter2",
        "# the old one was sk-0123456789abcdef",
        "# what the shop wants: known-by-its-value",
    ],
)
def test_what_looks_like_a_secret_is_one_in_a_comment_too(tmp_path: Path, line: str) -> None:
    found = found_in(tmp_path, f"time_zone: UTC\n{line}\n", known="known-by-its-value")

    assert found == {"config.yaml": "line 2 looks like one"}


@pytest.mark.req("W35")
def test_the_file_of_hermes_init_has_no_secret(tmp_path: Path) -> None:
    text = config_text(FirstChoices(provider="openai"))
    sentences = "# the key: ask Ann\n# max_tokens: 100000\n# token: ${WIKI_TOKEN}\n"

    assert found_in(tmp_path, text + sentences) == {}
