"""The tree under a list of messages: its shape depends on the messages alone."""

import math
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.graph.blob import Blob, freeze
from hermes.graph.chunk import LARGEST, SMALLEST
from hermes.graph.hasher import PLAIN, Hasher, keyed_hasher
from hermes.graph.reader import ObjectReader
from hermes.graph.roots import context_root, message_id
from hermes.graph.sequence import Sequence
from tests.unit.graph.said import user

READER = ObjectReader(None, PLAIN)
STORE = keyed_hasher(bytes(32))


def blob(number: int) -> Blob:
    return freeze(user(f"{number}"), PLAIN)


def sequence(numbers: Iterable[int]) -> Sequence:
    return Sequence.of((blob(number) for number in numbers), READER)


def ids(found: Sequence) -> list[bytes]:
    return [one.id for one in found.blobs()]


# Many equal messages, few, and none: runs are where cutting by content is hardest.
NUMBERS = st.lists(st.integers(0, 2) | st.integers(0, 9_999), max_size=400)


@pytest.mark.req("G1")
@settings(deadline=None, max_examples=150)
@given(before=NUMBERS, added=NUMBERS, data=st.data())
def test_equal_messages_have_equal_roots_whatever_led_to_them(
    before: list[int], added: list[int], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(before)))
    stop = data.draw(st.integers(start, len(before)))

    spliced = sequence(before).splice(start, stop, [blob(number) for number in added])

    after = [*before[:start], *added, *before[stop:]]
    assert ids(spliced) == [blob(number).id for number in after]
    assert spliced.root == sequence(after).root


@pytest.mark.req("G1")
@settings(deadline=None, max_examples=100)
@given(numbers=NUMBERS.filter(len), data=st.data())
def test_replacing_appending_and_cutting_give_the_same_tree(
    numbers: list[int], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(numbers) - 1))
    new = data.draw(st.integers(0, 20_000))
    grown = sequence(())
    for number in numbers:
        grown = grown.append(blob(number))

    replaced = grown.replace(index, blob(new))

    assert grown.root == sequence(numbers).root
    assert replaced.root == sequence([*numbers[:index], new, *numbers[index + 1 :]]).root
    assert grown.take(index).root == sequence(numbers[:index]).root


@pytest.mark.req("G1")
@settings(deadline=None, max_examples=100)
@given(shared=NUMBERS, one=NUMBERS, other=NUMBERS)
def test_the_common_prefix_is_found(shared: list[int], one: list[int], other: list[int]) -> None:
    mine, theirs = shared + one, shared + other
    expected = next((n for n, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None)

    found = sequence(mine).common_prefix(sequence(theirs))

    assert found == (min(len(mine), len(theirs)) if expected is None else expected)
    assert sequence(mine).starts_with(sequence(shared))
    assert sequence(shared).starts_with(sequence(mine)) == (not one)


@pytest.mark.req("G1")
def test_a_prefix_is_told_by_a_few_chunks() -> None:
    class Counting(ObjectReader):
        asked = 0

        def blobs(self, leaf):
            self.asked += 1
            return super().blobs(leaf)

    long = sequence(range(20_000))
    reader = Counting(None, PLAIN)

    assert Sequence(long.top, reader).starts_with(long.take(15_000))
    assert reader.asked <= 2


@pytest.mark.req("G1")
@pytest.mark.parametrize("numbers", [range(5_000), [7] * 5_000, [1, 2, 3] * 1_700])
def test_chunks_have_bounded_sizes_and_the_tree_is_low(numbers: Iterable[int]) -> None:
    found = sequence(numbers)
    sizes = [leaf.count for leaf in found.leaves()]

    assert max(sizes) <= LARGEST
    assert min(sizes[:-1]) >= SMALLEST
    assert found.top.level <= math.log(len(found), SMALLEST)


@pytest.mark.req("G1")
@pytest.mark.parametrize("edit", ["replace", "insert", "delete", "append"])
def test_an_edit_among_many_makes_few_chunks(edit: str) -> None:
    found, new = sequence(range(30_000)), [blob(-n) for n in range(1, 101)]
    made = []
    for n, place in enumerate(range(100, 30_000, 299)):
        splices = {
            "replace": (place, place + 1, [new[n]]),
            "insert": (place, place, [new[n]]),
            "delete": (place, place + 1, []),
            "append": (30_000, 30_000, [new[n]]),
        }
        made.append(fresh_chunks(found, found.splice(*splices[edit])))

    assert sum(made) / len(made) < 12
    assert max(made) < 60


def fresh_chunks(before: Sequence, after: Sequence) -> int:
    known, stack = set(), [before.top]
    while stack:
        chunk = stack.pop()
        known.add(id(chunk))
        stack.extend(READER.chunks(chunk) if chunk.level else ())
    fresh, stack = 0, [after.top]
    while stack:
        chunk = stack.pop()
        if id(chunk) not in known:
            fresh += 1
            stack.extend(READER.chunks(chunk) if chunk.level else ())
    return fresh


@pytest.mark.req("G1")
@given(bounds=st.tuples(st.integers(0, 2_000), st.integers(0, 2_000)))
def test_a_range_is_read_without_the_rest(bounds: tuple[int, int]) -> None:
    start, stop = sorted(bounds)

    assert list(LONG.blobs(start, stop)) == LONG_BLOBS[start:stop]


LONG_BLOBS = [blob(number) for number in range(1_900)]
LONG = Sequence.of(LONG_BLOBS, READER)


@pytest.mark.req("G1", "J24")
def test_roots_differ_by_content_order_length_and_key() -> None:
    lists = [[], [1], [1, 1], [1, 2], [2, 1], [1, 2, 3]]

    roots = {sequence(numbers).root for numbers in lists}
    keyed = Sequence.of([freeze(user("1"), STORE)], ObjectReader(None, STORE)).root

    assert len(roots | {keyed}) == len(lists) + 1
    assert all(one != other for one, other in pairwise(sorted(roots)))


@pytest.mark.req("G1", "G5")
@pytest.mark.parametrize(
    ("hasher", "message", "roots"),
    [
        (
            PLAIN,
            "c2b427bea87729f518358ab373b99e89d32c2848a6d1545f0623d8e5da995f4a",
            [
                "e22c794784dbf8b3aa3011d41c81fda04fe821b0e3ce9e113220e78e0199e1c3",
                "47518ceb19c6fbf980915963c6d188310a778e585f257733089aecd7de9aa418",
                "6764b291a96a5d86b9c5658d1ba94ea958a737532b3c0e6fb42347f224f3cc29",
            ],
        ),
        (
            keyed_hasher(bytes(range(32))),
            "de7d38b56d07563a451a5cafac2a7945",
            [
                "4d02775a2a86c3ba8b1e6e89c4cc6ff3",
                "8647a7e4d694380b3a2b13abc97c5b10",
                "7b8dccf7e7ad1c32a374794c9de32bf1",
            ],
        ),
    ],
    ids=["plain", "keyed"],
)
def test_names_and_roots_stay_what_stored_graphs_and_published_exports_have(
    hasher: Hasher, message: str, roots: list[str]
) -> None:
    lists = [[user(f"{number}") for number in range(length)] for length in (0, 3, 1_000)]

    assert message_id(user("hello"), hasher).hex() == message
    assert [context_root(one, hasher).hex() for one in lists] == roots
