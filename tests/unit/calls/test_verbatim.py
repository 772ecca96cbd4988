"""G6: an answer is a sample only if its model saw and wrote exactly what is recorded."""

import pytest

from hermes.calls.answer_checks import is_kept_whole, is_shown_whole
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Media,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ModelRequest, ProviderInfo

INFO = ProviderInfo(
    name="one", model="m", tools=True, vision=True, context_tokens=9, dialect="anthropic"
)
PICTURE = Media("image/png", url="https://example.org/a.png")


def request(*parts: Part) -> ModelRequest:
    said = (user_text("hi"), ChatMessage("assistant", parts), user_text("go on"))
    return ModelRequest(model="m", messages=said)


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    "parts",
    [
        (TextPart("hello"),),
        (TextPart("look"), ToolCallPart("c", "look", "{}")),
        (ReasoningPart("hm", "anthropic", signature="s"), TextPart("hello")),
    ],
)
def test_text_tools_and_thoughts_of_its_own_are_shown(parts: tuple[Part, ...]) -> None:
    assert is_shown_whole(request(*parts), INFO)


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    "part",
    [
        ImagePart(PICTURE),
        AudioPart(Media("audio/ogg", path="gone.ogg"), transcript="hello"),
        FilePart(Media("application/pdf")),
        ReasoningPart("hm", "gemini"),
    ],
)
def test_files_and_thoughts_of_others_may_not_be(part: Part) -> None:
    assert not is_shown_whole(request(TextPart("hello"), part), INFO)


@pytest.mark.req("G6")
def test_an_answer_without_the_thoughts_that_were_heard_is_not_whole() -> None:
    bare = CallEnd((TextPart("hello"),), "end", Usage(), "m")
    with_thought = CallEnd((ReasoningPart("hm", "openai"), *bare.parts), "end", Usage(), "m")

    assert is_kept_whole(bare, has_thought=False)
    assert is_kept_whole(with_thought, has_thought=True)
    assert not is_kept_whole(bare, has_thought=True)
