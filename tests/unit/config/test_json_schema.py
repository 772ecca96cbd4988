"""The shipped schema is the one of the settings, and takes what the documentation shows."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from hermes.config.first_files import FirstChoices, config_text
from hermes.config.json_schema import (
    EDITOR_LINE,
    SCHEMA_FILE,
    put_schema,
    schema_text,
    shipped_schema,
)
from tests.docs.markdown import PAGES, blocks_of

EXAMPLES = [
    block
    for page in PAGES
    for block in blocks_of(page)
    if block.language == "yaml" and (block.file or "").endswith("config.yaml")
]


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json.loads(shipped_schema()))


def test_the_shipped_schema_is_the_generated_one() -> None:
    assert shipped_schema() == schema_text(), (
        "it is old; run: python -m hermes.config.json_schema > src/hermes/config/config.schema.json"
    )


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.place)
def test_what_the_pages_show_fits(schema, block) -> None:
    misfits = [error.message for error in schema.iter_errors(yaml.safe_load(block.text))]

    assert misfits == []


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 10


def test_what_init_writes_fits_and_names_the_schema_beside_it(schema, tmp_path: Path) -> None:
    text = config_text(FirstChoices(provider="openai", time_zone="UTC"))
    put_schema(tmp_path)

    assert schema.is_valid(yaml.safe_load(text))
    assert text.splitlines()[0] == EDITOR_LINE
    assert EDITOR_LINE.endswith(f"$schema=./{SCHEMA_FILE}")
    assert (tmp_path / SCHEMA_FILE).read_text() == shipped_schema()


@pytest.mark.parametrize(
    "text",
    [
        "servr: {}",
        "server: {prot: 1}",
        "server: {port: 70000}",
        "server: {port: x}",
        "logs: {level: loud}",
        "agents: {main: {tone: 3}}",
        "providers: {house: {base_url: ftp://x}}",
    ],
)
def test_what_is_wrong_does_not_fit(schema, text: str) -> None:
    assert not schema.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    "text",
    [
        "server:",
        "providers: {house: , other: {}}",
        "telegram: {mode: poll, allowed_users: [1]}",
        "providers: {house: {models: [a, b]}}",
    ],
)
def test_what_may_be_left_out_fits(schema, text: str) -> None:
    assert schema.is_valid(yaml.safe_load(text))
