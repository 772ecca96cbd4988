"""The recall index of one person: vectors in pages of bytes, and the nearest of them.

A page holds some hundred vectors, each as bytes with a scale of its own: a quarter of the size of
float32, and the same neighbours. The store seals pages with their person's key and hands over
those of one person, so no search can cross people, and destroying the key destroys the index.
Pure: bytes in, bytes out; adding and dropping do without numpy.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from hermes.errors import ProviderUnavailable, StoreError
from hermes.ports.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAGE_SIZE = 512
"""The most vectors in a page."""

TAIL_SIZE = 64
"""The most vectors in the page that is rewritten with every addition."""

_MAGIC = b"HV1\n"
# Magic, bytes of the model's name, dimensions, vectors, bytes of the ids.
_HEADER = struct.Struct("<4sHHII")
_SEPARATOR = "\n"
_LARGEST = 127

Edits = dict[int, bytes | None]
"""Pages to write by their number; None is a page to delete."""


class VectorEntry(msgspec.Struct, frozen=True):
    """A vector of any length but zero, and the id of what it is the meaning of."""

    id: str
    vector: Sequence[float]


class PageInfo(msgspec.Struct, frozen=True):
    """What has to be known of a page to add to it: its number and how many vectors it holds."""

    number: int
    count: int


class Page(msgspec.Struct, frozen=True):
    """The vectors that one model made: `rows` and `scales` are those of `ids`, in their order."""

    model: str
    dimensions: int
    ids: tuple[str, ...]
    scales: bytes
    rows: bytes

    @classmethod
    def of(cls, entries: Sequence[VectorEntry], model: str) -> "Page":
        """Return a page of vectors; a model whose vectors cannot be compared is refused."""
        if not entries:
            return cls(model, 0, (), b"", b"")
        exact = _matrix(entries, model)
        norms = np.linalg.norm(exact, axis=1, keepdims=True)
        if not (np.isfinite(norms) & (norms > 0)).all():
            raise ProviderUnavailable(
                f"{model} made an embedding that is zero or not finite; none of them is used"
            )
        unit = exact / norms
        scales = np.abs(unit).max(axis=1) / np.float32(_LARGEST)
        rows = np.rint(unit / scales[:, None]).astype(np.int8)
        ids = tuple(entry.id for entry in entries)
        return cls(model, exact.shape[1], ids, scales.astype("<f4").tobytes(), rows.tobytes())

    @classmethod
    def unpack(cls, content: bytes) -> "Page":
        """Return the page that `content` was packed from."""
        try:
            magic, named, dimensions, count, listed = _HEADER.unpack_from(content)
        except struct.error:
            magic, named, dimensions, count, listed = b"", 0, 0, 0, 0
        ids = _HEADER.size + named
        scales = ids + listed
        rows = scales + 4 * count
        if magic != _MAGIC or len(content) != rows + dimensions * count:
            raise StoreError(
                f"a page of the recall index is damaged: {len(content)} bytes do not fit its"
                " header; it can be made again from the facts"
            )
        names = content[ids:scales].decode()
        return cls(
            content[_HEADER.size : ids].decode(),
            dimensions,
            tuple(names.split(_SEPARATOR)) if count else (),
            content[scales:rows],
            content[rows:],
        )

    def pack(self) -> bytes:
        """Return the page as bytes."""
        model = self.model.encode()
        ids = _SEPARATOR.join(self.ids).encode()
        header = _HEADER.pack(_MAGIC, len(model), self.dimensions, len(self.ids), len(ids))
        return b"".join((header, model, ids, self.scales, self.rows))

    def plus(self, other: "Page") -> "Page":
        """Return both pages as one; they are of the same model."""
        if not self.ids:
            return other
        return Page(
            self.model,
            self.dimensions,
            self.ids + other.ids,
            self.scales + other.scales,
            self.rows + other.rows,
        )

    def part(self, start: int, end: int) -> "Page":
        """Return the vectors from one place to another."""
        size = self.dimensions
        return Page(
            self.model,
            size,
            self.ids[start:end],
            self.scales[4 * start : 4 * end],
            self.rows[size * start : size * end],
        )

    def keep(self, is_kept: Callable[[str], bool]) -> "Page":
        """Return the page without some of its vectors."""
        kept = [place for place, name in enumerate(self.ids) if is_kept(name)]
        size = self.dimensions
        return Page(
            self.model,
            size,
            tuple(self.ids[place] for place in kept),
            b"".join(self.scales[4 * place : 4 * place + 4] for place in kept),
            b"".join(self.rows[size * place : size * (place + 1)] for place in kept),
        )

    def scores(self, query: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return the cosine of every vector with a query of unit length."""
        rows = np.frombuffer(self.rows, np.int8).reshape(len(self.ids), self.dimensions)
        found = rows.astype(np.float32) @ query
        found *= np.frombuffer(self.scales, "<f4")
        return found


def nearest(
    query: Sequence[float], pages: Iterable[bytes], *, k: int, model: str
) -> list[tuple[str, float]]:
    """Return the ids of the `k` vectors that point most nearly where `query` does, and how nearly.

    Pages of another model are passed over: their numbers mean something else.
    """
    exact = np.asarray(query, np.float32)
    unit = exact / max(float(np.linalg.norm(exact)), 1e-12)
    opened = [page for page in map(Page.unpack, pages) if _fits(page, model, len(unit))]
    if not opened or k < 1:
        return []
    scores = np.concatenate([page.scores(unit) for page in opened])
    best = np.argpartition(-scores, k)[:k] if k < len(scores) else np.arange(len(scores))
    ids = [name for page in opened for name in page.ids]
    found = [(ids[place], float(scores[place])) for place in best.tolist()]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def added(new: Page, infos: Sequence[PageInfo], *, read: Callable[[int], bytes]) -> Edits:
    """Return the pages to write so that the vectors of one are added; two at most are read.

    `infos` are the pages of the same model. What is added must not be among them: whoever changes
    a fact drops its old vector first.
    """
    if not new.ids:
        return {}
    edits: Edits = {}
    pages = sorted(infos, key=lambda info: info.number)
    number = pages[-1].number + 1 if pages else 0
    if pages and pages[-1].count < TAIL_SIZE:
        number = pages.pop().number
        new = Page.unpack(read(number)).plus(new)
    if pages and len(new.ids) >= TAIL_SIZE and pages[-1].count + len(new.ids) <= PAGE_SIZE:
        edits[number] = None
        number = pages.pop().number
        new = Page.unpack(read(number)).plus(new)
    return edits | dict(enumerate(_parted(new), start=number))


def dropped(ids: Iterable[str], pages: Mapping[int, bytes]) -> Edits:
    """Return the pages to write so that some vectors are gone; `pages` are all by their number."""
    gone = frozenset(ids)
    edits: Edits = {}
    for number, content in pages.items():
        page = Page.unpack(content)
        if not gone.isdisjoint(page.ids):
            left = page.keep(lambda name: name not in gone)
            edits[number] = left.pack() if left.ids else None
    return edits


def is_scattered(infos: Sequence[PageInfo]) -> bool:
    """Return whether so much was dropped that the pages should be rebuilt."""
    needed = -(-sum(info.count for info in infos) // PAGE_SIZE)
    return len(infos) > 2 * needed + 2


def compacted(pages: Iterable[bytes], model: str) -> list[bytes]:
    """Return the same vectors in as few pages as can be; those of another model are left out."""
    whole = Page(model, 0, (), b"", b"")
    for page in map(Page.unpack, pages):
        if page.model == model:
            whole = whole.plus(page)
    return list(_parted(whole))


def count_of(content: bytes) -> int:
    """Return how many vectors a page holds."""
    return int(_HEADER.unpack_from(content)[3])


def _parted(page: Page) -> Iterator[bytes]:
    for start in range(0, len(page.ids), PAGE_SIZE):
        yield page.part(start, start + PAGE_SIZE).pack()


def _matrix(entries: Sequence[VectorEntry], model: str) -> "NDArray[np.float32]":
    sizes = {len(entry.vector) for entry in entries}
    if len(sizes) != 1:
        raise ProviderUnavailable(
            f"{model} made embeddings of {sorted(sizes)} numbers, expected as many in each; none of"
            " them is used"
        )
    return np.asarray([entry.vector for entry in entries], np.float32)


def _fits(page: Page, model: str, dimensions: int) -> bool:
    return bool(page.ids) and page.model == model and page.dimensions == dimensions
