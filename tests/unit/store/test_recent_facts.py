"""Facts as last read: never too many of them."""

import pytest

from hermes.ports.memory import Fact
from hermes.store.sql.facts import RecentFacts

pytestmark = pytest.mark.sqlite_only


def fact(person_id: str, name: str = "one") -> Fact:
    return Fact(
        id=f"f_{person_id}_{name}",
        person_id=person_id,
        key=name,
        value="x",
        source="m_1",
        at=1.0,
        updated_at=1.0,
    )


def test_what_is_kept_in_memory_is_bounded_by_people_and_by_facts() -> None:
    recent = RecentFacts(people=2, facts=3)
    for name in ("a", "b", "c"):
        recent.put(name, (fact(name),))
    assert [recent.get(name) is None for name in "abc"] == [True, False, False]

    recent.put("d", (fact("d"), fact("d", "two"), fact("d", "three")))

    assert [recent.get(name) is None for name in "abcd"] == [True, True, True, False]
