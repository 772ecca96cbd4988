"""What a turn recalled of its person, for `hermes why`: the timeline has ids, the store the words."""

from hermes.memory.soul import fact_line
from hermes.ports.records import Timeline
from hermes.ports.store import Store

_RECALL = "recall"


def recalled_lines(store: Store, timeline: Timeline) -> tuple[str, ...]:
    """Return the facts that a message was answered with, as far as they are still known."""
    event = next((one for one in reversed(timeline.events) if one.kind == _RECALL), None)
    if event is None or timeline.message is None:
        return ()
    ids = event.data.get("facts")
    names = [one for one in ids if isinstance(one, str)] if isinstance(ids, list | tuple) else []
    facts = store.facts.some(timeline.message.person_id, names)
    return tuple(fact_line(fact.key, fact.value) for fact in facts)
