"""A tokenizer is read from files, asked for tokens, and its template may refuse a conversation.

transformers is stood in for here; the tests of the trainers have the real one.
"""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from hermes.errors import BadRequest, ConfigurationError, NotFound
from hermes.graph import MessageGraph
from hermes.graph.exports import verify_row
from hermes.graph.exports.tokenizer_file import load_tokenizer
from tests.unit.graph.exports.taken import Letters, spelled, take
from tests.unit.graph.said import assistant, user


class TemplateError(Exception):
    """What jinja2 raises."""


class Fast:
    """A tokenizer as transformers makes them; remembers what it was made from."""

    def __init__(self, **made_from):
        self.made_from = made_from
        self.chat_template = None if "tokenizer_file" in made_from else Letters.template

    @classmethod
    def from_pretrained(cls, folder, **more):
        if not any((folder / name).exists() for name in ("tokenizer_config.json", "a.gguf")):
            # Nothing narrower than this comes from there.
            raise Exception("expected value at line 1")
        return cls(folder=folder, **more)

    def apply_chat_template(self, messages, *, tools, add_generation_prompt, return_dict):
        assert return_dict is False
        if messages and messages[0]["role"] != "user":
            raise TemplateError("the first one must be a user")
        return Letters().encode(messages, tools, open_answer=add_generation_prompt)


@pytest.fixture
def transformers(monkeypatch):
    made, jinja = ModuleType("transformers"), ModuleType("jinja2")
    made.__dict__.update(AutoTokenizer=Fast, PreTrainedTokenizerFast=Fast)
    jinja.__dict__.update(TemplateError=TemplateError)
    monkeypatch.setitem(sys.modules, "transformers", made)
    monkeypatch.setitem(sys.modules, "jinja2", jinja)


def folder_with(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_text("the template")
    return folder


def made_from(tokenizer):
    return tokenizer._tokenizer.made_from


@pytest.mark.req("G6")
@pytest.mark.usefixtures("transformers")
def test_a_folder_a_file_of_it_and_a_gguf_are_read_and_nothing_is_fetched(tmp_path):
    folder = folder_with(tmp_path, "tokenizer.json", "tokenizer_config.json", "a.gguf")
    here = {"folder": tmp_path, "local_files_only": True}

    assert made_from(load_tokenizer(folder)) == here
    assert made_from(load_tokenizer(folder / "tokenizer.json")) == here
    assert made_from(load_tokenizer(folder / "a.gguf")) == here | {"gguf_file": "a.gguf"}


@pytest.mark.req("G6")
@pytest.mark.usefixtures("transformers")
def test_a_lone_file_needs_its_chat_template_beside_it(tmp_path):
    file = folder_with(tmp_path, "tokenizer.json") / "tokenizer.json"

    with pytest.raises(BadRequest, match=r"has no chat template.*chat_template\.jinja"):
        load_tokenizer(file)
    folder_with(tmp_path, "chat_template.jinja")

    assert load_tokenizer(file).template == "the template"


@pytest.mark.req("G6")
@pytest.mark.usefixtures("transformers")
def test_its_tokens_make_rows_and_what_its_template_refuses_is_a_refused_row(tmp_path):
    tokenizer = load_tokenizer(folder_with(tmp_path, "tokenizer_config.json"))
    good, bad = MessageGraph([user("Hi")], name="a"), MessageGraph([assistant("Hi")], name="b")
    for graph in (good, bad):
        graph.record_call(assistant("Yes"), model="m")

    rows, report = take([good, bad], "tokens", tokenizer=tokenizer)

    assert [spelled(row["labels"]).strip(".") for row in rows] == ["Yes</>"]
    assert verify_row(rows[0], tokenizer=tokenizer) is None
    assert report.refused == {"tokens": 1}
    assert "the first one must be a user" in report.refusals[0].text


@pytest.mark.req("G6")
@pytest.mark.usefixtures("transformers")
def test_what_is_no_tokenizer_is_an_error_that_names_it(tmp_path):
    with pytest.raises(BadRequest, match="is not a readable tokenizer: expected value"):
        load_tokenizer(tmp_path)
    with pytest.raises(NotFound, match="There is no tokenizer"):
        load_tokenizer(tmp_path / "none")


@pytest.mark.req("G6")
def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)

    with pytest.raises(ConfigurationError, match="pip install transformers"):
        load_tokenizer(tmp_path)
