"""Random edits on a graph against a plain list: the same reading at every step, and forever."""

import copy
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hermes.graph import MemoryStorage, Message, MessageGraph, context_root, keyed_hasher
from tests.unit.graph.said import assistant, pictured, thinking, tool_call, user

HASHER = keyed_hasher(b"a key of thirty-two bytes, dummy")
TEXTS = st.sampled_from(["a", "b", "ok", "", "ünï\n"])
MESSAGES = st.one_of(
    st.builds(user, TEXTS),
    st.builds(assistant, TEXTS | st.none()),
    st.builds(pictured, TEXTS),
    st.builds(thinking, TEXTS),
    st.builds(tool_call, st.sampled_from(["c1", "c2"])),
)
SOME = st.lists(MESSAGES, max_size=4) | st.builds(
    lambda m, n: [m] * n, MESSAGES, st.integers(0, 70)
)
INDEX = st.integers(-200, 200)


class Said:
    """One message at one place, and whether a call knows it."""

    def __init__(self, message: Message) -> None:
        self.message = copy.deepcopy(message)
        self.known = False


class GraphAgainstList(RuleBasedStateMachine):
    """The model: a list of what was said, all lists before, and what calls have seen."""

    @initialize(messages=SOME)
    def begin(self, messages: list[Message]) -> None:
        self.storage = MemoryStorage()
        self.graph = MessageGraph(messages, storage=self.storage, hasher=HASHER)
        self.said = [Said(message) for message in messages]
        self.past: list[list[Message]] = [self.plain()]
        self.states = [list(self.said)]
        self.parallel = [False]
        # Which states an undo goes back to.
        self.undoable: list[int] = []

    def plain(self) -> list[Message]:
        return [copy.deepcopy(one.message) for one in self.said]

    def become(self, said: list[Said]) -> None:
        """Take over a new state, unless it reads the same."""
        new = [one.message for one in said]
        if new == [one.message for one in self.said]:
            return
        self.parallel.append(changed_known(self.said, said))
        self.undoable.append(len(self.states) - 1)
        self.said = said
        self.states.append(list(said))
        self.past.append(self.plain())

    def spliced(self, where: slice, messages: list[Message]) -> None:
        start, stop, _ = where.indices(len(self.said))
        stop = max(start, stop)
        old, new = self.said[start:stop], [Said(message) for message in messages]
        if len(old) == len(new):
            new = [o if o.message == n.message else n for o, n in zip(old, new, strict=True)]
        else:
            head = 0
            while head < min(len(old), len(new)) and old[head].message == new[head].message:
                new[head] = old[head]
                head += 1
            tail = 1
            while tail <= min(len(old), len(new)) - head and old[-tail].message == new[-tail].message:  # fmt: skip
                new[-tail] = old[-tail]
                tail += 1
        self.become([*self.said[:start], *new, *self.said[stop:]])

    @rule(message=MESSAGES)
    def append(self, message: Message) -> None:
        self.graph.append(message)
        self.spliced(slice(len(self.said), None), [message])

    @rule(messages=SOME)
    def extend(self, messages: list[Message]) -> None:
        self.graph += messages
        self.spliced(slice(len(self.said), None), messages)

    @rule(index=INDEX, message=MESSAGES)
    def insert(self, index: int, message: Message) -> None:
        self.graph.insert(index, message)
        self.spliced(slice(index, index) if index != -1 else slice(len(self.said) - 1, len(self.said) - 1), [message])  # fmt: skip

    @precondition(lambda self: self.said)
    @rule(index=INDEX, message=MESSAGES)
    def set(self, index: int, message: Message) -> None:
        index = index % len(self.said) - (len(self.said) if index < 0 else 0)
        self.graph[index] = message
        place = index % len(self.said)
        self.spliced(slice(place, place + 1), [message])

    @precondition(lambda self: self.said)
    @rule(index=INDEX, text=TEXTS)
    def write_into(self, index: int, text: str) -> None:
        place = index % len(self.said)
        changed = copy.deepcopy(self.said[place].message)
        for message in (self.graph[place], changed):
            write(message, text)
        self.spliced(slice(place, place + 1), [changed])

    @precondition(lambda self: self.said)
    @rule(index=INDEX)
    def pop(self, index: int) -> None:
        place = index % len(self.said)
        assert self.graph.pop(place) == self.said[place].message
        self.spliced(slice(place, place + 1), [])

    @rule(start=INDEX, stop=INDEX, messages=SOME)
    def set_slice(self, start: int, stop: int, messages: list[Message]) -> None:
        self.graph[start:stop] = messages
        self.spliced(slice(start, stop), messages)

    @rule(start=INDEX, stop=INDEX)
    def delete_slice(self, start: int, stop: int) -> None:
        del self.graph[start:stop]
        self.spliced(slice(start, stop), [])

    @rule()
    def reverse(self) -> None:
        self.graph.reverse()
        turned = self.said[::-1]
        # What reads the same in the same place has not moved.
        pairs = zip(self.said, turned, strict=True)
        self.become([one if one.message == other.message else other for one, other in pairs])

    @rule()
    def call(self) -> None:
        for one in self.said:
            one.known = True
        self.graph.record_call(assistant("answered"), model="m")
        self.spliced(slice(len(self.said), None), [assistant("answered")])
        self.said[-1].known = True

    @precondition(lambda self: self.undoable)
    @rule()
    def undo(self) -> None:
        self.graph.undo()
        back = self.undoable.pop()
        before = self.said
        self.said = list(self.states[back])
        self.parallel.append(changed_known(before, self.said))
        self.states.append(list(self.said))
        self.past.append(self.plain())

    @rule()
    def save_and_open(self) -> None:
        self.graph.save()
        self.graph = MessageGraph.open("graph", self.storage, hasher=HASHER)

    @invariant()
    def reads_the_same(self) -> None:
        assert self.graph == self.plain()
        assert len(self.graph) == len(self.said)
        assert self.graph.version == len(self.past) - 1

    @invariant()
    def has_the_root_of_its_messages(self) -> None:
        assert self.graph.root == context_root(self.plain(), HASHER)

    @invariant()
    def knows_what_is_parallel(self) -> None:
        assert [version.parallel for version in self.graph.versions()] == self.parallel

    def teardown(self) -> None:
        if hasattr(self, "graph"):
            assert [self.graph.at(n).to_list() for n in range(len(self.past))] == self.past
            assert self.graph.verify().problems == ()


def changed_known(before: list[Said], after: list[Said]) -> bool:
    if len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return any(one.known and one.message != other.message for one, other in pairs)
    kept = {id(one) for one in after}
    return any(one.known and id(one) not in kept for one in before)


def write(message: Any, text: str) -> None:
    if isinstance(message.get("content"), list):
        message["content"][-1]["text"] = text
    elif "tool_calls" in message:
        message["tool_calls"][0]["function"]["arguments"] = text
    else:
        message |= {"content": text}


@pytest.mark.req("G1", "G2", "G3", "G7")
def test_random_edits_read_as_in_a_plain_list() -> None:
    run_state_machine_as_test(
        GraphAgainstList, settings=settings(max_examples=60, stateful_step_count=25, deadline=None)
    )
