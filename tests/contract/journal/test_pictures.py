"""A16: pictures are described to a model that cannot see, once; special ones go to their pipeline."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from hermes.control.why import explain
from hermes.control.why_pictures import pictures_text
from hermes.errors import ProviderError
from hermes.message.parts import ImagePart, Media, NotePart, Part, TextPart
from hermes.ports.provider import ModelRequest, ProviderInfo
from hermes.ports.spend import KillSwitch
from hermes.ports.vision import VisionRequest
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation
from hermes.testing.scripted_model import ScriptedProvider
from tests.contract.journal.rig import Rig, has, open_rig

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
EYE = ProviderInfo(name="eye", model="eye-1", tools=False, vision=True, context_tokens=8_000)
NAMED = {
    f"PROVIDERS__{name}__{key}": value
    for name in ("SCRIPTED", "EYE")
    for key, value in (("KIND", "openai"), ("BASE_URL", "http://127.0.0.1:9/v1"))
}
BLIND = {**NAMED, "MODELS__DEFAULT": "scripted:scripted-1"}
"""The blind model is the configured one: nobody else answers, whoever could see."""
SEEN_BY_EYE = {**NAMED, "VISION__MODEL": "eye:eye-1"}


def picture(name: str = "a") -> ImagePart:
    data = base64.b64encode(PNG + name.encode()).decode()
    return ImagePart(Media("image/png", url=f"data:image/png;base64,{data}"))


def says(text: str) -> Script:
    return lambda _seen, _number: ScriptedTurn(text=text)


def eye(script: Script | None = None) -> ScriptedProvider:
    return ScriptedProvider(script or says("A red bicycle.\n- city: Rome"), info=EYE)


def told(model: ScriptedProvider, call: int = -1) -> str:
    """What the last user message of a call said, notes as text."""
    return model.calls[call].request.messages[-1].text


def shown(request: ModelRequest) -> list[ImagePart]:
    return [part for one in request.messages for part in one.parts if isinstance(part, ImagePart)]


async def steps(rig: Rig, message_id: str) -> list[tuple[str, str]]:
    return [(step.kind, step.state) for step in (await rig.timeline(message_id)).steps]


async def reply(rig: Rig, message_id: str) -> str:
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return result.text


async def entries(rig: Rig) -> list[tuple[str, tuple[Part, ...]]]:
    view = await rig.store.turns.view(rig.lane())
    said = await rig.store.transcripts.history(rig.lane(), epoch=view.epoch, head=view.head)
    return [(message.role, message.parts) for message in said.messages]


@pytest.mark.req("A16")
async def test_a_model_that_sees_gets_the_picture_itself_in_no_more_steps(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("what is it", attached=(picture(),))
        assert await rig.outcome(message_id) == "answered"

        assert shown(rig.model.calls[0].request) == [picture()]
        assert await steps(rig, message_id) == [("prepared", "done"), ("model", "done")]
        why = await explain(rig.store, message_id, now=rig.clock.now())
        assert why.pictures is not None
        assert pictures_text(why.pictures) == "1 (general); shown to the model"


@pytest.mark.req("A16", "J7")
async def test_a_blind_model_is_told_what_another_one_saw(tmp_path: Path) -> None:
    sees = eye()
    async with open_rig(tmp_path, blind=True, settings=BLIND, beside={"eye": sees}) as rig:
        message_id = await rig.say("what is it", attached=(picture("a"), picture("b")))
        assert await rig.outcome(message_id) == "answered"

        # One look at both, with the person's question.
        assert [shown(call.request) for call in sees.calls] == [[picture("a"), picture("b")]]
        assert "what is it" in told(sees)
        # What was seen is quoted, so that it never reads as a fact that Hermes tells.
        assert "Pictures 1, 2:\n> A red bicycle.\n> - city: Rome" in told(rig.model)
        # The transcript holds the pictures and exactly what the model was told.
        role, parts = (await entries(rig))[0]
        assert role == "user"
        assert [type(part) for part in parts] == [TextPart, ImagePart, ImagePart, NotePart]
        # No answer, no reply, no cost is different from any other turn.
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert result.text.startswith("#1 what is it")
        assert "could not" not in result.text
        assert result.model == "scripted:scripted-1"
        assert await steps(rig, message_id) == [
            ("prepared", "done"),
            ("sight", "done"),
            ("look", "done"),
            ("model", "done"),
        ]
        spent = (await rig.timeline(message_id)).steps
        assert result.usage.tokens_in == sum(step.usage.tokens_in for step in spent) > 0
        why = await explain(rig.store, message_id, now=rig.clock.now())
        assert why.pictures is not None
        assert pictures_text(why.pictures) == "2 (general); 2 of 2 described with eye:eye-1"

        # The next turn sees the same bytes, and nobody looks again.
        before = rig.model.calls[0].request.messages
        await rig.answer("and the wheels?")
        assert rig.model.calls[1].request.messages[: len(before)] == before
        assert len(sees.calls) == 1


@pytest.mark.req("A16", "J8")
async def test_after_a_crash_the_description_is_not_bought_twice(tmp_path: Path) -> None:
    clock = ManualClock()
    hangs: Script = lambda _seen, _number: ScriptedTurn(text="x", fault="hang")  # noqa: E731
    first = eye()
    async with open_rig(
        tmp_path, script=hangs, clock=clock, blind=True, settings=BLIND, beside={"eye": first}
    ) as rig:
        message_id = await rig.say("what is it", attached=(picture(),))
        await rig.until(lambda: len(rig.model.calls) == 1)
        frozen = rig.model.calls[0].request

    second = eye(says("Something else."))
    async with open_rig(
        tmp_path, clock=clock, blind=True, settings=BLIND, beside={"eye": second}
    ) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert (len(first.calls), len(second.calls)) == (1, 0)
        assert rig.model.calls[0].request == frozen
        assert await steps(rig, message_id) == [
            ("prepared", "done"),
            ("sight", "done"),
            ("look", "done"),
            ("model", "lost"),
            ("model", "done"),
        ]
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        paid = [step for step in (await rig.timeline(message_id)).steps if step.payer == "person"]
        assert result.usage.tokens_out == sum(step.usage.tokens_out for step in paid)
        assert [
            (one["kind"], one["amount"]) for one in (await rig.timeline(message_id)).ledger
        ] == [("capture", -1)]


@pytest.mark.req("A16", "J8")
async def test_a_look_that_a_crash_cut_off_is_made_again_at_the_platforms_cost(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    hangs: Script = lambda _seen, _number: ScriptedTurn(text="x", fault="hang")  # noqa: E731
    first = eye(hangs)
    async with open_rig(
        tmp_path, clock=clock, blind=True, settings=BLIND, beside={"eye": first}
    ) as rig:
        message_id = await rig.say("what is it", attached=(picture(),))
        await rig.until(lambda: len(first.calls) == 1)

    async with open_rig(
        tmp_path, clock=clock, blind=True, settings=BLIND, beside={"eye": eye()}
    ) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert await steps(rig, message_id) == [
            ("prepared", "done"),
            ("sight", "lost"),
            ("look", "lost"),
            ("sight", "done"),
            ("look", "done"),
            ("model", "done"),
        ]
        assert "A red bicycle" in told(rig.model)
        payers = {step.ordinal: step.payer for step in (await rig.timeline(message_id)).steps}
        assert payers[2] == "platform"


@pytest.mark.req("A16")
@pytest.mark.parametrize("model", ["auto", "off"])
async def test_where_nobody_sees_the_model_knows_and_the_person_is_told(
    tmp_path: Path, model: str
) -> None:
    beside = {"eye": eye()} if model == "off" else {}
    settings = {"VISION__MODEL": model, **(BLIND if beside else {})}
    async with open_rig(tmp_path, blind=True, settings=settings, beside=beside) as rig:
        message_id = await rig.say("what is it", attached=(picture(),))

        assert await rig.outcome(message_id) == "answered"
        assert "do not guess" in told(rig.model)
        assert "no model here can look at pictures" in told(rig.model)
        text = await reply(rig, message_id)
        assert text.startswith("#1 what is it")
        assert text.endswith("(I cannot look at pictures here: no model that can is available.)")
        why = await explain(rig.store, message_id, now=rig.clock.now())
        assert why.pictures is not None
        assert pictures_text(why.pictures) == "1 (general); nobody could look at them"


@pytest.mark.req("A16")
@pytest.mark.parametrize("status", [400, 503])
async def test_a_look_that_fails_ends_nothing(tmp_path: Path, status: int) -> None:
    fails: Script = lambda _seen, _number: ScriptedTurn(fault="status", status=status)  # noqa: E731
    async with open_rig(tmp_path, blind=True, settings=BLIND, beside={"eye": eye(fails)}) as rig:
        message_id = await rig.say("what is it", attached=(picture(),))

        assert await rig.outcome(message_id) == "answered"
        assert "Picture 1: not seen, looking at it failed just now." in told(rig.model)
        assert "(I could not look at your picture: looking at it failed just now.)" in await reply(
            rig, message_id
        )
        assert ("look", "failed") in await steps(rig, message_id)
        assert "look_failed" in await rig.kinds(message_id)


@pytest.mark.req("A16")
async def test_one_bad_picture_does_not_spoil_the_others(tmp_path: Path) -> None:
    def picky(seen: SeenConversation, number: int) -> ScriptedTurn:
        # The service refuses any request with the picture at the address.
        if any(
            one.media.url == "https://pictures.example/b.png"
            for one in shown(sees.calls[-1].request)
        ):
            return ScriptedTurn(fault="status", status=400)
        return ScriptedTurn(text=f"Thing {number}.")

    sees = eye(picky)
    large = tmp_path / "large.png"
    with large.open("wb") as file:
        file.write(PNG)
        file.truncate(20_000_001)
    (tmp_path / "text.png").write_text("hello, I am no picture")
    bad = tuple(
        ImagePart(Media("image/png", path=str(tmp_path / name)))
        for name in ("gone.png", "large.png", "text.png")
    )
    at = ImagePart(Media("image/png", url="https://pictures.example/b.png"))
    async with open_rig(tmp_path, blind=True, settings=BLIND, beside={"eye": sees}) as rig:
        message_id = await rig.say("these", attached=(*bad, picture("a"), at, picture("c")))

        assert await rig.outcome(message_id) == "answered"
        note = told(rig.model)
        assert "Picture 1: not seen, it is gone.\n" in note
        assert "Picture 2: not seen, it is too large.\n" in note
        assert "Picture 3: not seen, it is broken, or of a kind that cannot be read.\n" in note
        assert "Picture 4:\n> Thing 2.\n" in note
        assert "Picture 5: not seen, looking at it failed just now.\n" in note
        assert "Picture 6:\n> Thing 4." in note
        assert "(I could not look at 4 of your 6 pictures: it is gone," in await reply(
            rig, message_id
        )


@pytest.mark.req("A16")
async def test_no_more_pictures_are_looked_at_than_the_settings_allow(tmp_path: Path) -> None:
    sees = eye()
    settings = {**BLIND, "VISION__MAX_PICTURES": "2"}
    async with open_rig(tmp_path, blind=True, settings=settings, beside={"eye": sees}) as rig:
        message_id = await rig.say("", attached=tuple(map(picture, "abc")))

        assert await rig.outcome(message_id) == "answered"
        assert shown(sees.calls[0].request) == [picture("b"), picture("c")]
        assert "Picture 1: not seen, it was one too many." in told(rig.model)


@pytest.mark.req("A16")
async def test_a_picture_of_an_earlier_turn_is_described_once_when_a_blind_model_takes_over(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock) as rig:
        await rig.outcome(await rig.say("look", attached=(picture(),)))

    sees = eye()
    async with open_rig(
        tmp_path, clock=clock, blind=True, settings=BLIND, beside={"eye": sees}
    ) as rig:
        message_id = await rig.say("what colour was it?")
        assert await rig.outcome(message_id) == "answered"
        assert shown(sees.calls[0].request) == [picture()]
        assert "Picture 1 (of earlier messages):\n> A red bicycle." in told(rig.model)
        assert "could not" not in await reply(rig, message_id)

        await rig.answer("and now?")
        assert len(sees.calls) == 1
        assert "[Pictures" not in told(rig.model)


@pytest.mark.req("A16")
async def test_a_stop_ends_a_look_and_the_next_turn_looks_again(tmp_path: Path) -> None:
    def hangs_once(_: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text="A cat.", fault="hang" if number == 1 else None)

    sees = eye(hangs_once)
    async with open_rig(tmp_path, blind=True, settings=BLIND, beside={"eye": sees}) as rig:
        message_id = await rig.say("what is it", attached=(picture(),))
        await rig.until(lambda: len(sees.calls) == 1)
        await rig.say("/stop")

        assert await rig.outcome(message_id) == "interrupted"
        assert sees.cancelled == 1
        assert rig.model.calls == []
        assert (await steps(rig, message_id))[1:] == [("sight", "failed"), ("look", "failed")]
        assert [one["kind"] for one in (await rig.timeline(message_id)).ledger] == []

        await rig.answer("sorry, go on")
        assert "Picture 1 (of earlier messages):\n> A cat." in told(rig.model)


@pytest.mark.req("A16", "A8")
async def test_a_look_is_on_the_persons_account(tmp_path: Path) -> None:
    async with open_rig(tmp_path, blind=True, settings=BLIND, beside={"eye": eye()}) as rig:
        message_id = await rig.say("what is it", attached=(picture(),))
        await rig.outcome(message_id)

        models = await rig.store.spend.report("model", first_day="0", last_day="9999")
        assert {(row.name, row.calls) for row in models} == {
            ("eye:eye-1", 1),
            ("scripted:scripted-1", 1),
        }
        payers = await rig.store.spend.report("person", first_day="0", last_day="9999")
        message = (await rig.timeline(message_id)).message
        assert message is not None
        assert [(row.name, row.calls) for row in payers] == [(message.person_id, 2)]


@pytest.mark.req("A16")
async def test_a_stopped_gateway_looks_at_nothing(tmp_path: Path) -> None:
    sees = eye()
    async with open_rig(tmp_path, blind=True, settings=BLIND, beside={"eye": sees}) as rig:
        await rig.store.spend.set_kill_switch(KillSwitch(is_on=True))
        message_id = await rig.say("what is it", attached=(picture(),))

        assert await rig.outcome(message_id) == "failed"
        assert "switched off" in await reply(rig, message_id)
        assert (sees.calls, rig.model.calls) == ([], [])


class Scan:
    """A pipeline made of a function; fits `ports.vision.VisionPipeline`."""

    intent = "calorie_scan"
    words = ("food diary",)

    def __init__(self, act: Callable[[VisionRequest], Awaitable[str]]) -> None:
        self._act = act

    async def answer(self, asked: VisionRequest) -> str:
        return await self._act(asked)


async def count_them(asked: VisionRequest) -> str:
    food = await asked.look("Which food is it?")
    grams = await asked.look(f"How many grams of {food} are there?", pictures=asked.pictures[:1])
    return f"{food}, {grams}: 250 kcal"


def weigh(seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text="80 g" if "grams" in seen.last_text else "rice")


@pytest.mark.req("A16")
@pytest.mark.parametrize("caption", ["how many calories?", "for my food diary"])
async def test_a_special_intent_is_answered_by_its_pipeline_alone(
    tmp_path: Path, caption: str
) -> None:
    sees = eye(weigh)
    async with open_rig(
        tmp_path, beside={"eye": sees}, visions=(Scan(count_them),), settings=SEEN_BY_EYE
    ) as rig:
        message_id = await rig.say(caption, attached=(picture(),))

        assert await rig.outcome(message_id) == "answered"
        assert await reply(rig, message_id) == "rice, 80 g: 250 kcal"
        assert rig.model.calls == []
        assert await steps(rig, message_id) == [
            ("prepared", "done"),
            ("sight", "done"),
            ("look", "done"),
            ("look", "done"),
        ]
        why = await explain(rig.store, message_id, now=rig.clock.now())
        assert why.pictures is not None
        assert "answered by the pipeline calorie_scan with eye:eye-1" in pictures_text(why.pictures)
        assert [
            (one["kind"], one["amount"]) for one in (await rig.timeline(message_id)).ledger
        ] == [("capture", -1)]
        # The model of the next turn knows what was said.
        assert await rig.answer("thanks") == "#2 thanks"
        before = rig.model.calls[0].request.messages
        assert [one.role for one in before] == ["user", "assistant", "user"]
        assert before[1].text == "rice, 80 g: 250 kcal"


@pytest.mark.req("A16", "J8")
async def test_a_pipeline_that_a_crash_cut_off_asks_nothing_twice(tmp_path: Path) -> None:
    clock = ManualClock()

    def hangs_at_grams(seen: SeenConversation, number: int) -> ScriptedTurn:
        fault = "hang" if "grams" in seen.last_text else None
        return msgspec.structs.replace(weigh(seen, number), fault=fault)

    first, second = eye(hangs_at_grams), eye(weigh)
    settings = SEEN_BY_EYE
    scan = (Scan(count_them),)
    async with open_rig(
        tmp_path, clock=clock, beside={"eye": first}, visions=scan, settings=settings
    ) as rig:
        message_id = await rig.say("calories?", attached=(picture(),))
        await rig.until(lambda: len(first.calls) == 2)

    async with open_rig(
        tmp_path, clock=clock, beside={"eye": second}, visions=scan, settings=settings
    ) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert await reply(rig, message_id) == "rice, 80 g: 250 kcal"
        assert ["grams" in told(second, number) for number in range(len(second.calls))] == [True]


async def _raise(_: VisionRequest) -> str:
    raise ValueError("no scale")


async def _decline(_: VisionRequest) -> str:
    return ""


async def _wait(_: VisionRequest) -> str:
    await asyncio.Event().wait()
    return "never"


async def _no_text(_: VisionRequest) -> str:
    return 7  # type: ignore[return-value]


@pytest.mark.req("A16")
@pytest.mark.parametrize(
    ("act", "problem"),
    [
        (_raise, "ValueError"),
        (_decline, None),
        (_wait, "no result within 0.01 s (vision.timeout_s)"),
        (_no_text, "expected a text, found int"),
    ],
)
async def test_a_pipeline_that_fails_or_declines_leaves_the_message_to_the_model(
    tmp_path: Path, act: Callable[[VisionRequest], Awaitable[str]], problem: str | None
) -> None:
    settings = {"VISION__TIMEOUT_S": "0.01"}
    async with open_rig(tmp_path, visions=(Scan(act),), settings=settings) as rig:
        message_id = await rig.say("calories?", attached=(picture(),))

        assert await rig.outcome(message_id) == "answered"
        assert await reply(rig, message_id) == "#1 calories?"
        assert shown(rig.model.calls[0].request) == [picture()]
        failures = [
            e.data for e in (await rig.timeline(message_id)).events if e.kind == "vision_failed"
        ]
        assert [one["problem"] for one in failures] == ([] if problem is None else [problem])


@pytest.mark.req("A16")
async def test_a_stop_ends_a_pipeline_wherever_it_is(tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def waits(_: VisionRequest) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with open_rig(tmp_path, visions=(Scan(waits),)) as rig:
        message_id = await rig.say("calories?", attached=(picture(),))
        await rig.until(has(lambda: steps(rig, message_id), ("sight", "started")))
        await rig.say("/stop")

        assert await rig.outcome(message_id) == "interrupted"
        assert ended.is_set()


@pytest.mark.req("A16")
async def test_a_pipeline_hears_of_a_look_that_fails(tmp_path: Path) -> None:
    async def tries(asked: VisionRequest) -> str:
        try:
            return await asked.look("what?")
        except ProviderError as error:
            return f"no look: {error.code}"

    settings = {"VISION__MODEL": "off"}
    async with open_rig(tmp_path, visions=(Scan(tries),), settings=settings) as rig:
        message_id = await rig.say("calories?", attached=(picture(),))

        assert await rig.outcome(message_id) == "answered"
        assert await reply(rig, message_id) == "no look: provider_unavailable"


@pytest.mark.req("A16")
@pytest.mark.parametrize(("said", "is_scanned"), [("calorie_scan.", True), ("none", False)])
async def test_a_model_decides_where_the_caption_says_nothing_if_that_is_configured(
    tmp_path: Path, said: str, is_scanned: bool
) -> None:
    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text=said if "sent for" in seen.last_text else "a bowl")

    async def scan(asked: VisionRequest) -> str:
        return f"scanned {await asked.look('what?')}"

    settings = {**SEEN_BY_EYE, "VISION__ASK_MODEL": "true"}
    sees = eye(script)
    async with open_rig(
        tmp_path, beside={"eye": sees}, visions=(Scan(scan),), settings=settings
    ) as rig:
        message_id = await rig.say("hm", attached=(picture(),))

        assert await rig.outcome(message_id) == "answered"
        assert await reply(rig, message_id) == ("scanned a bowl" if is_scanned else "#1 hm")
        # Not asked where the words tell it.
        asked = len(sees.calls)
        await rig.outcome(await rig.say("kcal?", attached=(picture(),)))
        assert len(sees.calls) == asked + 1


@pytest.mark.req("A16")
async def test_a_turn_without_pictures_has_no_more_steps_than_before(tmp_path: Path) -> None:
    async with open_rig(tmp_path, blind=True, visions=(Scan(count_them),)) as rig:
        message_id = await rig.say("how many calories has an apple?")
        await rig.outcome(message_id)

        assert await steps(rig, message_id) == [("prepared", "done"), ("model", "done")]
        assert "images" not in await rig.kinds(message_id)


@pytest.mark.req("A16", "J11")
async def test_one_credit_buys_one_of_two_looks_at_once(tmp_path: Path) -> None:
    sees = eye()
    settings = {**BLIND, "CREDITS__POLICY": "wallet", "CREDITS__START_GRANT": "1"}
    async with open_rig(tmp_path, blind=True, settings=settings, beside={"eye": sees}) as rig:
        both = [
            await rig.say("what is it", chat=chat, user="ann", attached=(picture(),))
            for chat in ("one", "two")
        ]

        assert sorted([await rig.outcome(one) for one in both]) == ["answered", "refused"]
        assert (len(sees.calls), len(rig.model.calls)) == (1, 1)
