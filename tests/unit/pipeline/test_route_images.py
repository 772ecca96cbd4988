"""`route_images` alone: what the pictures of a message were sent for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import pytest

from hermes.config.tool_settings import ImageIntentSettings
from hermes.message.chat import ChatMessage
from hermes.message.parts import NotePart, TextPart
from hermes.pipeline.pending_images import NOTE_BEGINS
from hermes.pipeline.stages.route_images import route_images
from hermes.pipeline.turn import PendingImages, Turn
from hermes.ports.vision import VisionPipeline, VisionRequest
from hermes.tools.image_intents import ImageIntents
from tests.unit.pipeline.stage_parts import PICTURE, Context, make_event, make_turn, said

SHOWN = ChatMessage("user", (TextPart("look"), PICTURE))


class Calories:
    intent = "calories"
    words = ("kcal",)

    async def answer(self, asked: VisionRequest) -> str:
        raise AssertionError("nothing is answered while the path is chosen")


@dataclass(frozen=True)
class Services:
    image_intents: ImageIntents = field(
        default_factory=lambda: ImageIntents({"calories": ImageIntentSettings(words=("kcal",))})
    )
    visions: Mapping[str, VisionPipeline] = field(default_factory=dict)


@pytest.mark.req("A16")
async def test_a16_a_message_without_pictures_passes_untouched() -> None:
    ctx, turn = Context(Services()), make_turn()

    assert await route_images(turn, ctx) is turn
    assert ctx.journal.notes == []


@pytest.mark.req("A16")
@pytest.mark.parametrize(
    ("visions", "pipeline"), [({}, None), ({"calories": Calories()}, "calories")]
)
async def test_a16_a_caption_tells_the_intent_and_whether_a_plugin_is_for_it(
    visions: Mapping[str, VisionPipeline], pipeline: str | None
) -> None:
    ctx = Context(Services(visions=visions))

    turn = await route_images(make_turn(make_event("kcal?", attached=(PICTURE, PICTURE))), ctx)

    assert isinstance(turn, Turn)
    assert turn.pending_images == PendingImages(intent="calories", rule="kcal", own=2)
    noted = {"count": 2, "intent": "calories", "rule": "kcal", "pipeline": pipeline}
    assert ctx.journal.notes == [("images", noted)]


@pytest.mark.req("A16")
async def test_a16_a_picture_without_words_is_of_no_special_intent() -> None:
    turn = await route_images(make_turn(make_event("", attached=(PICTURE,))), Context(Services()))

    assert isinstance(turn, Turn)
    assert turn.pending_images == PendingImages(intent="general", own=1)


@pytest.mark.req("A16")
async def test_a16_pictures_of_earlier_messages_are_looked_at_without_a_line_in_the_timeline() -> (
    None
):
    ctx = Context(Services())
    turn = msgspec.structs.replace(make_turn(make_event("kcal?")), history=(SHOWN,))

    routed = await route_images(turn, ctx)

    assert isinstance(routed, Turn)
    assert routed.pending_images == PendingImages(intent="general", own=0)
    assert ctx.journal.notes == []


@pytest.mark.req("A16")
@pytest.mark.parametrize(
    "history",
    [
        (SHOWN, *[said("assistant", "well")] * 20),
        (ChatMessage("user", (PICTURE, NotePart(NOTE_BEGINS))),),
        (ChatMessage("assistant", (PICTURE,)),),
    ],
    ids=["long-ago", "described-already", "the-models-own"],
)
async def test_a16_earlier_pictures_that_nobody_has_to_look_at(
    history: tuple[ChatMessage, ...],
) -> None:
    turn = msgspec.structs.replace(make_turn(), history=history)

    assert await route_images(turn, Context(Services())) is turn
