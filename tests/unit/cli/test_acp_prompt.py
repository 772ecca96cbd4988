import pytest
from acp import helpers as say
from hypothesis import given
from hypothesis import strategies as st

from hermes.cli.acp_prompt import MOST_LETTERS, Block, prompt_text
from hermes.errors import BadRequest, TooLarge


def file(uri: str, text: str) -> Block:
    return say.resource_block(say.embedded_text_resource(uri, text))


def test_a_link_is_named_and_a_file_follows_the_words() -> None:
    link = say.resource_link_block(name="a\nb", uri="file:///w/a")

    told = prompt_text(
        [say.text_block("See "), link, say.text_block("."), file("file:///w/x%20y.py", "1\n")]
    )

    assert told == "See [a b](file:///w/a).[x y.py]\n\n[file: file:///w/x%20y.py]\n```\n1\n```"


@pytest.mark.parametrize("text", ["", " \n "])
def test_an_empty_prompt_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="empty"):
        prompt_text([say.text_block(text)])


def test_a_prompt_that_is_no_text_is_refused() -> None:
    blob = say.resource_block(say.embedded_blob_resource("file:///w/x.bin", "aGk="))

    for block in (blob, say.image_block("aGk=", "image/png"), say.audio_block("aGk=", "audio/wav")):
        with pytest.raises(BadRequest, match=r"not a text|Pictures and sound"):
            prompt_text([block])


def test_a_prompt_is_bounded_with_its_files() -> None:
    assert len(prompt_text([say.text_block("x" * MOST_LETTERS)])) == MOST_LETTERS
    with pytest.raises(TooLarge, match="100,001"):
        prompt_text([say.text_block("x" * (MOST_LETTERS + 1))])


@given(st.text(), st.text())
def test_no_file_ends_its_own_block(uri: str, text: str) -> None:
    told = prompt_text([file(uri, text), say.text_block("end")])

    fence = told.splitlines()[-1]
    assert set(fence) == {"`"}
    assert fence not in text
