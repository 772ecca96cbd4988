"""A12, J24: a fact that was learnt once is used where it matters, by its meaning, and by nobody else.

With the real embedder, on a real database.
"""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.control.gateway_reports import memory_status
from hermes.control.why import explain
from hermes.memory.recall import RECALLED
from hermes.message.parts import TextPart
from hermes.ports.vectors import Page
from hermes.providers.minilm.provider import MiniLmEmbedder
from hermes.providers.minilm.settings import MiniLmSettings
from hermes.providers.wordllama.embedder import WordLlamaEmbedder
from hermes.providers.wordllama.model import is_installed
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, open_rig

DAY_S = 86_400.0
PATIENT = {"MEMORY__RECALL_TIMEOUT_S": "60", "MEMORY__EARLIER_MESSAGES": "0"}
ANN = {
    "pet": "a golden retriever called Biscuit",
    "car": "drives an old blue Volvo",
    "sister": "Marta lives in Lisbon and paints",
    "piano": "plays Chopin on Sunday mornings",
}
BOB = {"pet": "a python called Nagini", "bike": "rides a red racing bike"}
QUESTION = "what should I feed my dog this evening?"


@pytest.fixture
async def embedder() -> AsyncIterator[MiniLmEmbedder]:
    made = MiniLmEmbedder(MiniLmSettings())
    yield made
    await made.close()


async def know(rig: Rig, user: str, facts: dict[str, str]) -> None:
    """Keep facts about somebody who writes for the first time."""
    await rig.answer("hello there", chat=f"monday-{user}", user=user)
    person = await rig.store.people.find("rest", user)
    assert person is not None
    for key, value in facts.items():
        await rig.core.memory.facts.set(person.id, key, value=value, source="m_monday")


def noted(rig: Rig) -> list[str]:
    """Return what the model was told beside the last message."""
    _, *notes = rig.model.calls[-1].request.messages[-1].parts
    return [line for part in notes if isinstance(part, TextPart) for line in part.text.split("\n")]


async def ask(rig: Rig, text: str, *, user: str, chat: str) -> str:
    """Ask something and return the id of the message."""
    message_id = await rig.say(text, chat=chat, user=user)
    assert await rig.outcome(message_id) == "answered"
    return message_id


@pytest.mark.req("A12", "J24", "J7")
async def test_what_was_learnt_on_monday_is_used_on_friday_by_its_meaning_and_only_for_its_person(
    tmp_path: Path, embedder: MiniLmEmbedder
) -> None:
    clock = ManualClock(1_700_000_000.0)
    async with open_rig(tmp_path, clock=clock, embedder=embedder, settings=PATIENT) as rig:
        await know(rig, "ann", ANN)
        await know(rig, "bob", BOB)
        assert not embedder.is_loaded
    clock.advance(4 * DAY_S)

    async with open_rig(tmp_path, clock=clock, embedder=embedder, settings=PATIENT) as rig:
        hers = await ask(rig, QUESTION, user="ann", chat="friday-ann")
        told_ann = noted(rig)
        await ask(rig, QUESTION, user="bob", chat="friday-bob")
        told_bob = noted(rig)
        await ask(rig, QUESTION, user="cy", chat="friday-cy")
        told_cy = noted(rig)

        assert RECALLED in told_ann
        assert told_ann[told_ann.index(RECALLED) + 1] == f"- pet: {ANN['pet']}"
        assert "- pet: a python called Nagini" in told_bob
        assert not {line for line in told_ann if "Nagini" in line or "racing" in line}
        assert not {
            line for line in told_bob for word in ("Biscuit", "Volvo", "Marta") if word in line
        }
        assert told_cy == []
        assert rig.core.memory.recall.counts == {"semantic_recall_used": 2}

        report = await explain(rig.store, hers, now=clock.now(), include_text=True)
        assert report.text is not None
        assert report.text.recalled[0] == f"- pet: {ANN['pet']}"
        assert report.interaction is not None
        assert report.interaction["semantic_recall_used"]
        bare = await explain(rig.store, hers, now=clock.now())
        (line,) = [line for line in bare.lines if line.what == "recall"]
        assert line.data["why"] == "recalled"
        assert "Biscuit" not in repr(bare)


@pytest.mark.req("A12")
async def test_small_talk_loads_nothing_and_is_counted(
    tmp_path: Path, embedder: MiniLmEmbedder
) -> None:
    async with open_rig(tmp_path, embedder=embedder, settings=PATIENT) as rig:
        await know(rig, "ann", ANN)
        thanks = await ask(rig, "thanks!", user="ann", chat="later")

        assert noted(rig) == []
        assert not embedder.is_loaded
        told = memory_status(rig.core.memory.recall, rig.core.settings.memory, parked_jobs=0)
        assert told.skipped_trivial == 1
        (event,) = [one for one in (await rig.timeline(thanks)).events if one.kind == "recall"]
        assert event.data["why"] == "trivial"


@pytest.mark.req("A12")
async def test_an_embedder_that_fails_is_told_by_why_and_the_message_is_answered(
    tmp_path: Path, embedder: MiniLmEmbedder
) -> None:
    async with open_rig(tmp_path, embedder=embedder, settings=PATIENT) as rig:
        await know(rig, "ann", ANN)
        await embedder.close()

        asked = await ask(rig, QUESTION, user="ann", chat="later")

        (event,) = [one for one in (await rig.timeline(asked)).events if one.kind == "recall"]
        assert event.data["why"] == "failed"
        assert noted(rig) == []


@pytest.mark.req("A12")
async def test_another_model_makes_the_pages_anew(tmp_path: Path, embedder: MiniLmEmbedder) -> None:
    async with open_rig(tmp_path, embedder=embedder, settings=PATIENT) as rig:
        await know(rig, "ann", ANN)
        await ask(rig, QUESTION, user="ann", chat="before")
        person = await rig.store.people.find("rest", "ann")
        assert person is not None
        ann, old = person.id, "minilm:all-minilm-l6-v2/384"
        assert len(await rig.store.vectors.pages(ann, old)) == 1

    other = MiniLmEmbedder(MiniLmSettings(name="other"))
    async with open_rig(tmp_path, embedder=other, settings=PATIENT) as rig:
        await ask(rig, QUESTION, user="ann", chat="after")
        await other.close()

        assert f"- pet: {ANN['pet']}" in noted(rig)
        assert await rig.store.vectors.pages(ann, old) == ()
        assert len(await rig.store.vectors.pages(ann, "other:all-minilm-l6-v2/384")) == 1
        assert await rig.store.vectors.waiting(ann, limit=9) == ()


@pytest.mark.req("A12")
@pytest.mark.skipif(not is_installed(), reason="no package for this machine")
async def test_the_embedder_of_recall_takes_over_from_a_provider_and_searches_its_own_vectors(
    tmp_path: Path, embedder: MiniLmEmbedder
) -> None:
    # given ann, whose vectors a provider made
    async with open_rig(tmp_path, embedder=embedder, settings=PATIENT) as rig:
        await know(rig, "ann", ANN)
        await ask(rig, QUESTION, user="ann", chat="before")

    # when the next gateway has an embedder of its own
    own = WordLlamaEmbedder()
    async with open_rig(tmp_path, embedder=embedder, own_embedder=own, settings=PATIENT) as rig:
        await ask(rig, QUESTION, user="ann", chat="after")
        await own.close()
        person = await rig.store.people.find("rest", "ann")
        assert person is not None

        # then her facts have its vectors alone, and the question finds what it is about
        assert f"- pet: {ANN['pet']}" in noted(rig)
        old = await rig.store.vectors.pages(person.id, "minilm:all-minilm-l6-v2/384")
        (page,) = await rig.store.vectors.pages(person.id, f"{own.model}/256")
        assert old == ()
        assert len(Page.unpack(page).ids) == len(ANN)


@pytest.mark.req("A12", "J22", "J24")
async def test_nothing_of_who_was_erased_is_recalled(
    tmp_path: Path, embedder: MiniLmEmbedder
) -> None:
    async with open_rig(tmp_path, embedder=embedder, settings=PATIENT) as rig:
        await know(rig, "ann", ANN)
        await ask(rig, QUESTION, user="ann", chat="before")
        assert noted(rig) != []
        person = await rig.store.people.find("rest", "ann")
        assert person is not None

        await rig.store.people.erase(person.id, at=rig.clock.now())
        await ask(rig, QUESTION, user="ann", chat="after")

        assert noted(rig) == []


def die_while_placing(home: Path, side: str) -> bytes:
    """Run a gateway until it is killed; returns the key file of its store."""
    command = [sys.executable, "-m", "tests.contract.journal.recall_kill", str(home), side]
    ended = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-2000:]
    return (home / "store.keys").read_bytes()


@pytest.mark.req("A12", "J1")
@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_fact_whose_vector_a_kill_took_is_found_after_the_next_start(
    tmp_path: Path, embedder: MiniLmEmbedder, side: str
) -> None:
    # given a gateway that dies by kill -9 around the writing of ann's vectors
    keys = die_while_placing(tmp_path, side)

    # when she asks the next one
    async with open_rig(tmp_path, embedder=embedder, settings=PATIENT, keys=keys) as rig:
        person = await rig.store.people.find("rest", "ann")
        assert person is not None
        left = len(await rig.store.vectors.waiting(person.id, limit=9))
        await ask(rig, QUESTION, user="ann", chat="after")

        # then nothing was lost, and nothing is there twice
        assert left == (len(ANN) if side == "before" else 0)
        assert f"- pet: {ANN['pet']}" in noted(rig)
        (page,) = await rig.store.vectors.pages(person.id, "minilm:all-minilm-l6-v2/384")
        assert sorted(Page.unpack(page).ids) == sorted(
            one.id for one in await rig.store.facts.of(person.id)
        )
        assert await rig.store.vectors.waiting(person.id, limit=9) == ()
