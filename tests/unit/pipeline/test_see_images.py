"""`see_images` alone: who deals with the pictures, what is kept of that, and that no failure ends the turn."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import msgspec
import pytest

from hermes.calls.call_charge import SpendLog
from hermes.calls.events import CallEvent, CallStart
from hermes.calls.model_caller import CallSpec
from hermes.config import Settings
from hermes.errors import HermesError, NoCredits, ProviderUnavailable
from hermes.message.chat import ChatMessage
from hermes.message.outcome import Outcome
from hermes.message.parts import NotePart, TextPart
from hermes.message.reply import Reply, Usage
from hermes.pipeline.stages.see_images import see_images
from hermes.pipeline.turn import PendingImages, Turn
from hermes.ports.steps import Step
from hermes.ports.vision import VisionRequest
from tests.unit.pipeline.model_parts import (
    PLAN,
    SMALL,
    Caller,
    ModelServices,
    Planner,
    Script,
    answers,
)
from tests.unit.pipeline.stage_parts import (
    PICTURE,
    Context,
    KeptJournal,
    make_event,
    make_turn,
    said,
)

A_CAT = answers(TextPart("A cat."))


class Plugin:
    """A vision pipeline that asks for one look and answers with it, or fails."""

    intent = "calories"
    words = ()

    def __init__(self, answer: str = "{}", *, error: Exception | None = None) -> None:
        self._answer = answer
        self._error = error
        self.asked: list[VisionRequest] = []

    async def answer(self, asked: VisionRequest) -> str:
        self.asked.append(asked)
        if self._error is not None:
            raise self._error
        return self._answer.format(await asked.look("How many?")) if self._answer else ""


def fails(error: HermesError) -> Script:
    async def run(spec: CallSpec, receipt: SpendLog) -> AsyncGenerator[CallEvent, None]:
        yield CallStart(SMALL)
        raise error

    return run


def pictured(intent: str = "general", *, rule: str = "", blind: bool | None = None) -> Turn:
    turn = make_turn(make_event("what is it?", attached=(PICTURE,)))
    user = ChatMessage("user", turn.event.parts)
    pending_images = PendingImages(intent=intent, rule=rule, own=1, blind=blind)
    return msgspec.structs.replace(turn, user=user, pending_images=pending_images)


def context(
    *scripts: Script, services: ModelServices | None = None, steps: tuple[Step, ...] = ()
) -> Context[ModelServices]:
    services = replace(services or ModelServices(), calls=Caller(*scripts))
    return Context(services, KeptJournal(*steps))


def blind_services(*, settings: Settings | None = None) -> ModelServices:
    """Return services whose model cannot see, and whose other model can look for it."""
    planner = Planner(PLAN, PLAN, sees_pictures=False)
    return ModelServices(planner=planner, settings=settings or Settings())


async def see(turn: Turn, ctx: Context[ModelServices]) -> Turn:
    seen = await see_images(turn, ctx)
    assert isinstance(seen, Turn)
    return seen


@pytest.mark.req("A16")
async def test_a16_a_model_that_can_see_gets_the_pictures_as_they_are() -> None:
    ctx, turn = context(), pictured()

    seen = await see(turn, ctx)

    assert (seen.pending_images, seen.user, seen.plan) == (None, turn.user, PLAN)
    assert (ctx.services.calls.specs, ctx.journal.started) == ([], [])


@pytest.mark.req("W17")
async def test_w17_for_a_model_that_cannot_see_another_one_describes_them() -> None:
    ctx = context(A_CAT, services=blind_services())

    seen = await see(pictured(), ctx)

    assert seen.user is not None
    note = seen.user.parts[-1]
    assert isinstance(note, NotePart)
    assert note.text.endswith("Picture 1:\n> A cat.")
    assert (seen.pending_images, seen.unseen) == (None, "")
    assert seen.usage == Usage(tokens_in=10, tokens_out=2)
    assert [one.request.max_output_tokens for one in ctx.services.calls.specs] == [1_000]
    assert [(one.kind, one.state) for one in ctx.journal.ended] == [
        ("look", "done"),
        ("sight", "done"),
    ]
    assert ctx.journal.notes[-1] == ("described", {"count": 1, "seen": 1, "by": "house:small"})


@pytest.mark.req("W17", "A8")
async def test_a8_pictures_that_nobody_could_look_at_are_said_to_be_unseen() -> None:
    ctx = context(fails(ProviderUnavailable("502")), services=blind_services())

    seen = await see(pictured(), ctx)

    assert seen.pending_images is None
    assert seen.unseen == "I could not look at your picture: looking at it failed just now."


@pytest.mark.req("W17")
async def test_w17_where_looking_is_switched_off_no_model_is_asked() -> None:
    settings = Settings.model_validate({"vision": {"model": "off"}})
    ctx = context(services=blind_services(settings=settings))

    seen = await see(pictured(), ctx)

    assert ctx.services.calls.specs == []
    assert seen.unseen == "I cannot look at pictures here: no model that can is available."


@pytest.mark.req("A16")
async def test_a16_a_plugin_for_the_intent_answers_instead_of_the_model() -> None:
    plugin = Plugin("About 300: {}")
    ctx = context(A_CAT, services=ModelServices(visions={"calories": plugin}))

    seen = await see(pictured("calories", rule="kcal"), ctx)

    assert seen.exchanged[-1].message == said("assistant", "About 300: A cat.")
    assert seen.model == "house:small"
    assert [one.pictures for one in plugin.asked] == [(PICTURE,)]
    assert ctx.journal.notes[-1] == (
        "vision_answered",
        {"pipeline": "calories", "model": "house:small"},
    )


@pytest.mark.req("A16", "A8")
@pytest.mark.parametrize("plugin", [Plugin(""), Plugin(error=ValueError("a fault"))])
async def test_a16_a_plugin_that_has_no_answer_leaves_the_pictures_to_the_model(
    plugin: Plugin,
) -> None:
    ctx = context(services=ModelServices(visions={"calories": plugin}))
    turn = pictured("calories", rule="kcal")

    seen = await see(turn, ctx)

    assert (seen.pending_images, seen.exchanged, seen.user) == (None, (), turn.user)
    assert len(plugin.asked) == 1


@pytest.mark.req("A16")
async def test_a16_a_plugin_of_another_intent_is_not_asked() -> None:
    plugin = Plugin()
    ctx = context(services=ModelServices(visions={"calories": plugin}))

    seen = await see(pictured("general"), ctx)

    assert (seen.pending_images, plugin.asked) == (None, [])


@pytest.mark.req("A16")
async def test_a16_where_no_rule_tells_a_model_may_be_asked_what_the_picture_is_for() -> None:
    plugin = Plugin("About 300.")
    settings = Settings.model_validate({"vision": {"ask_model": True}})
    services = ModelServices(visions={"calories": plugin}, settings=settings)
    services = replace(services, planner=Planner(PLAN, PLAN, PLAN))
    ctx = context(answers(TextPart("`Calories`.")), A_CAT, services=services)

    seen = await see(pictured("general"), ctx)

    assert seen.exchanged[-1].message == said("assistant", "About 300.")
    assert ("image_intent", {"intent": "calories", "by": "house:small"}) in ctx.journal.notes


@pytest.mark.req("W17")
async def test_w17_where_no_model_sees_and_answers_one_that_cannot_see_will_do() -> None:
    planner = Planner(ProviderUnavailable("none can see"), PLAN, PLAN, sees_pictures=False)
    ctx = context(A_CAT, services=ModelServices(planner=planner))

    seen = await see(pictured(), ctx)

    assert seen.plan == PLAN
    assert [ask.images for ask in planner.asked] == [True, False, True]


@pytest.mark.req("A8")
async def test_a8_where_no_model_can_answer_at_all_the_turn_ends_in_words() -> None:
    none = ProviderUnavailable("nothing is configured")
    ctx = context(services=ModelServices(planner=Planner(none, none)))

    reply = await see_images(pictured(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.reason) == (Outcome.FAILED, "nothing is configured")


@pytest.mark.req("A5")
async def test_a5_credits_that_are_gone_meanwhile_end_the_turn_with_the_upgrade() -> None:
    ctx = context(fails(NoCredits(balance=0, price=1)), services=blind_services())

    reply = await see_images(pictured(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.code) == (Outcome.REFUSED, "no_credits")


@pytest.mark.req("J12")
async def test_j12_stopped_while_it_looks_the_turn_ends_and_says_by_whom() -> None:
    async def waits(spec: CallSpec, receipt: SpendLog) -> AsyncGenerator[CallEvent, None]:
        yield CallStart(SMALL)
        asyncio.get_running_loop().call_soon(ctx.interrupt.press, "m_2")
        await asyncio.Event().wait()

    ctx = context(waits, services=blind_services())

    reply = await see_images(pictured(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.reason) == (Outcome.INTERRUPTED, "stopped by m_2")


@pytest.mark.req("J8")
async def test_j8_a_look_that_was_made_before_a_crash_is_not_paid_twice() -> None:
    first = context(A_CAT, services=blind_services())
    await see(pictured(), first)
    again = context(services=blind_services(), steps=(first.journal.ended[0],))

    seen = await see(pictured(), again)

    assert again.services.calls.specs == []
    assert seen.user is not None
    assert "> A cat." in str(seen.user.parts[-1])


@pytest.mark.req("J8")
async def test_j8_a_look_that_failed_before_a_crash_fails_again_without_a_call() -> None:
    first = context(fails(ProviderUnavailable("502")), services=blind_services())
    await see(pictured(), first)
    again = context(services=blind_services(), steps=(first.journal.ended[0],))

    seen = await see(pictured(), again)

    assert again.services.calls.specs == []
    assert seen.unseen.startswith("I could not look at your picture")


@pytest.mark.req("J8")
async def test_j8_a_turn_whose_model_was_chosen_keeps_it_and_what_it_can_see() -> None:
    turn = msgspec.structs.replace(pictured(blind=True), plan=PLAN)
    ctx = context(A_CAT)

    seen = await see(turn, ctx)

    assert seen.user is not None
    assert "> A cat." in str(seen.user.parts[-1])
    assert [ask.capability for ask in ctx.services.planner.asked] == ["vision"]
