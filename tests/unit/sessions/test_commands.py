"""W18: how a message spells a command, and that every command of the book is done by somebody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.errors import ConfigurationError
from hermes.pipeline.commands.table import BESIDE, IN_LANE
from hermes.sessions.commands import BUILT_IN, CommandBook, CommandSpec
from hermes.similar_words import nearest

BOOK = CommandBook()


@pytest.mark.req("J6", "W18")
@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("/stop", "stop", ""),
        ("/STOP", "stop", ""),
        ("/ stop", "stop", ""),
        ("/reset", "new", ""),
        ("/approve a_1", "approve", "a_1"),
        ("/deny@hermes_bot a_1", "deny", "a_1"),
        ("/queue and then\nthis", "queue", "and then\nthis"),
        ("/steer\nkeep it short", "steer", "keep it short"),
        ("/reload-mcp once", "reload-mcp", "once"),
        ("/nonsense here", "nonsense", "here"),
    ],
)
def test_a_slash_and_a_word_is_a_command(text: str, name: str, argument: str) -> None:
    written = BOOK.read(text)

    assert written is not None
    assert (written.name, written.argument) == (name, argument)


@pytest.mark.req("W18")
@pytest.mark.parametrize(
    "text", ["stop", "please /stop", "/", "", "/etc/passwd is what?", "//stop", "/1", "/…", "/ "]
)
def test_everything_else_is_none(text: str) -> None:
    assert BOOK.read(text) is None


@pytest.mark.req("J6")
def test_an_unknown_command_is_answered_at_once() -> None:
    written = BOOK.read("/sotp")

    assert written is not None
    assert written.spec is None
    assert written.is_beside


@pytest.mark.req("W18")
@pytest.mark.parametrize(
    ("word", "meant"),
    [("sotp", "stop"), ("statsu", "status"), ("hepl", "help"), ("zzzz", None), ("whatever", None)],
)
def test_the_nearest_command_is_found(word: str, meant: str | None) -> None:
    assert nearest(word, [spec.name for spec in BOOK]) == meant


@pytest.mark.req("W18")
def test_every_command_is_done_by_one_function_where_it_stands() -> None:
    assert {spec.name for spec in BUILT_IN if spec.beside} == set(BESIDE)
    assert {spec.name for spec in BUILT_IN if not spec.beside} == set(IN_LANE)


@pytest.mark.req("W18")
def test_every_command_explains_itself() -> None:
    for spec in BUILT_IN:
        assert spec.about
        assert all(BOOK.read(example) is not None for example in spec.examples)
        assert not spec.use or spec.examples or spec.name in ("approve", "deny")


@pytest.mark.req("W18")
def test_a_plugin_s_command_joins_the_book_and_cannot_take_a_name() -> None:
    book = CommandBook([CommandSpec(name="weather", about="how it is outside")])

    written = book.read("/weather Oslo")
    assert written is not None
    assert written.spec is not None
    for name in ("stop", "reset"):
        with pytest.raises(ConfigurationError, match=f"/{name}"):
            CommandBook([CommandSpec(name=name, about="mine")])
    with pytest.raises(ConfigurationError, match="cannot be called"):
        CommandBook([CommandSpec(name="Über", about="mine")])


@pytest.mark.req("W18")
@given(st.text(max_size=200))
def test_no_text_breaks_the_reading(text: str) -> None:
    written = BOOK.read(text)

    assert written is None or text.startswith("/")
