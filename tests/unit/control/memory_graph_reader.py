"""The shelf's twin in memory: graphs under the names of sessions, as the store has them."""

from collections.abc import Sequence

from hermes.errors import NotFound
from hermes.graph import MemoryStorage, MessageGraph, Problem
from hermes.ports.graph_reader import GraphEntry
from hermes.ports.secrets import SecretValues

NOW = 1_700_000_000.0


class MemoryGraphReader:
    """Fits `ports.graphs.GraphReader`; graphs that `put` was given later were used later."""

    def __init__(self) -> None:
        self.storages: dict[str, MemoryStorage] = {}
        self.is_open = True
        # What a store would find wrong with its rows, by graph.
        self.wrong: dict[str, Sequence[Problem]] = {}
        self._entries: dict[str, GraphEntry] = {}

    def put(
        self,
        graph: MessageGraph,
        *,
        people: Sequence[str] = ("p_1",),
        may_train: bool = True,
        is_current: bool = True,
    ) -> MessageGraph:
        """Keep a graph that was saved in the storage of its name."""
        session, _, epoch = graph.name.rpartition("#")
        self._entries[graph.name] = GraphEntry(
            name=graph.name,
            session=session,
            epoch=int(epoch),
            is_current=is_current,
            messages=len(graph),
            calls=len(graph.calls()),
            branches=tuple(graph.branches()),
            people=tuple(people),
            may_train=may_train,
            used_at=NOW + len(self._entries),
        )
        return graph

    def storage(self, name: str) -> MemoryStorage:
        """Return where a graph of this name is kept."""
        return self.storages.setdefault(name, MemoryStorage())

    def graphs(self, session: str | None = None) -> Sequence[GraphEntry]:
        found = [one for one in self._entries.values() if session in (None, one.session)]
        return sorted(found, key=lambda entry: -entry.used_at)

    def open(self, name: str, *, branch: str = "main") -> MessageGraph:
        if name not in self._entries:
            raise NotFound(f"There is no graph {name!r}.")
        return MessageGraph.open(name, self.storages[name], branch=branch)

    def graph_of_call(self, call_id: str) -> str | None:
        for name, storage in self.storages.items():
            if any(call.id == call_id for call in storage.calls(name)):
                return name
        return None

    def check(self, name: str) -> Sequence[Problem]:
        return self.wrong.get(name, ())

    def orphans(self) -> Sequence[Problem]:
        return self.wrong.get("", ())

    def salt(self) -> bytes:
        return b"the salt of the twin of a shelf"

    def close(self) -> None:
        self.is_open = False

    def secret_values(self) -> SecretValues:
        """Return none: nobody has stored a secret."""
        return {}


def a_graph_reader() -> MemoryGraphReader:
    """A shelf with ann, who agreed and whose answer was rewritten, and bob, who has not agreed."""
    reader = MemoryGraphReader()
    old = _graph(reader, "agent:main:rest:dm:ann#0", "Hello.")
    reader.put(_answered(old, "Hi.", "m_1.1"), is_current=False)
    ann = _answered(_graph(reader, "agent:main:rest:dm:ann#1", "Name a colour."), "Blue.", "m_2.1")
    other = ann.branch("tea")
    other.append({"role": "user", "content": "Tea\x1b[2J!"})
    other.save()
    with ann.editing("olga", "it was wrong"):
        ann[1]["content"] = "Green."
    ann.append({"role": "user", "content": "Another."})
    reader.put(_answered(ann, "Red.", "m_3.1", temperature=0.2))
    bob = _graph(reader, "agent:main:rest:dm:bob#0", "What is 2+2?")
    reader.put(_answered(bob, "4", "m_4.1"), people=["p_2"], may_train=False)
    return reader


def _graph(reader: MemoryGraphReader, name: str, text: str) -> MessageGraph:
    said = {"role": "user", "content": text}
    return MessageGraph([said], name=name, storage=reader.storage(name), now=lambda: NOW)


def _answered(
    graph: MessageGraph, text: str, call_id: str, temperature: float = 0.7
) -> MessageGraph:
    context = graph.context(lead=[{"role": "system", "content": "Be brief."}])
    graph.record_call(
        {"role": "assistant", "content": text},
        model="openai:small-1",
        context=context,
        call_id=call_id,
        tools=[{"type": "function", "function": {"name": "look"}}],
        sampling={"temperature": temperature},
    )
    graph.save()
    return graph
