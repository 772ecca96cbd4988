"""A34: Hermes speaks with each person in their language, also after a restart; models read English."""

import re
from pathlib import Path

import pytest

from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import PUSH, open_rig


@pytest.mark.req("A34")
async def test_a_person_chooses_a_language_for_all_channels_and_a_restart_keeps_it(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        told = await rig.answer("/language de")
        mine = await rig.answer("/memory forget")
        others = await rig.answer("/memory forget", chat="bob")
    async with open_rig(tmp_path) as rig:
        later = await rig.answer("/memory forget")
        back = await rig.answer("/language auto")

    assert told == "Ich spreche jetzt Deutsch mit dir."
    assert mine == later
    assert (others, back) == (
        "Say /memory to see what I know of you, or /memory forget KEY.",
        "I speak the language of your app again, if it tells me which one that is.",
    )
    assert "/memory forget" in mine
    assert mine != others


@pytest.mark.req("A34")
@pytest.mark.parametrize(
    ("language", "letters"), [("ru", "[а-я]{3}"), ("ar", "[\u0627-\u064a]{3}"), ("ja", "[ぁ-ん]")]
)
async def test_a_count_is_told_in_the_letters_of_the_language(
    tmp_path: Path, language: str, letters: str
) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("hello")
        await rig.answer(f"/language {language}")
        told = await rig.answer("/usage")

    assert re.search(letters, told)
    assert "since this conversation began" not in told


@pytest.mark.req("A34")
async def test_a_language_that_there_is_not_is_refused_with_those_that_there_are(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        told = await rig.answer("/language klingon")

    assert told.startswith("I do not speak 'klingon'. /language CODE changes that: en, id, es, fr,")


@pytest.mark.req("A34", "W21")
async def test_what_a_model_reads_is_the_same_in_every_language(tmp_path: Path) -> None:
    sent = []
    for language in ("en", "de"):
        folder = tmp_path / language
        folder.mkdir()
        async with open_rig(folder) as rig:
            await rig.answer(f"/language {language}", chat="ann")
            await rig.answer("/new", chat="ann")
            await rig.answer("hello", chat="ann")
            (request,) = rig.model.calls
            sent.append([(one.role, one.text) for one in request.request.messages])

    assert sent[0] == sent[1]


@pytest.mark.req("A34")
async def test_a_delivery_that_is_split_keeps_the_language_of_its_reply(tmp_path: Path) -> None:
    push = MemoryChannel(PUSH, name="push")
    settings = {"OUTBOX__MAX_MESSAGES": "1", "LANGUAGE": "de"}
    async with open_rig(tmp_path, push=push, settings=settings) as rig:
        await rig.answer("word " * 4_000, platform="push")
        await rig.as_time_passes(lambda: bool(rig.push.posts))
        (post,) = [one for one in rig.push.posts.values() if one.text]

    assert "Die Antwort ist" in post.text
