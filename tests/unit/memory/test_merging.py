"""A14: duplicates merge, the newer value wins and keeps the older beside it, too much is cut."""

import pytest

from hermes.memory.fact_merge import LearntFact, merge
from hermes.ports.memory import EarlierValue, Fact, FactChange


def fact(key: str, value: str, *, at: float = 1.0, structural: bool = False) -> Fact:
    return Fact(
        id=f"f_{key}",
        person_id="p",
        key=key,
        value=value,
        source="m_1",
        at=at,
        updated_at=at,
        is_structural=structural,
    )


def merged(
    current: list[Fact],
    *learnt: LearntFact,
    forget: tuple[str, ...] = (),
    is_order: bool = False,
    most: int = 100,
) -> FactChange:
    ids = iter(f"new{number}" for number in range(100))
    return merge(
        current,
        learnt,
        person_id="p",
        at=2.0,
        make_id=lambda: next(ids),
        forget=forget,
        is_order=is_order,
        most=most,
    )


@pytest.mark.req("A14")
def test_something_new_is_a_fact_with_its_source_and_structural_keys_are_recognised() -> None:
    change = merged([], LearntFact("diet", "vegan", "m_2"), LearntFact("dog", "Rex", "m_3"))

    assert [(one.key, one.source, one.is_structural) for one in change.put] == [
        ("diet", "m_2", True),
        ("dog", "m_3", False),
    ]


@pytest.mark.req("A14")
def test_the_newer_value_wins_and_the_older_is_kept_with_its_source() -> None:
    change = merged([fact("dog", "Rex")], LearntFact("dog", "Max", "m_2"))

    (kept,) = change.put
    assert (kept.id, kept.value, kept.source, kept.at, kept.updated_at) == (
        "f_dog",
        "Max",
        "m_2",
        1.0,
        2.0,
    )
    assert kept.earlier == (EarlierValue("Rex", "m_1", 1.0),)


@pytest.mark.req("A14")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dog", "a dog called Rex"),
        ("dog", "A dog, called REX!"),
        ("dog", "called Rex, the dog"),
        ("pet", "a dog called rex"),
    ],
)
def test_the_same_in_other_words_changes_nothing(key: str, value: str) -> None:
    assert not merged([fact("dog", "a dog called Rex")], LearntFact(key, value, "m_2"))


@pytest.mark.req("A14")
def test_a_structural_key_and_an_order_stand_for_themselves() -> None:
    known = [fact("food", "vegan")]

    assert [one.key for one in merged(known, LearntFact("diet", "vegan", "m_2")).put] == ["diet"]
    order = merged(known, LearntFact("lunch", "vegan", "op"), is_order=True)
    assert [one.key for one in order.put] == ["lunch"]


@pytest.mark.req("A14")
def test_what_was_said_to_be_forgotten_goes_and_can_be_learnt_anew() -> None:
    known = [fact("dog", "Rex"), fact("home_city", "Bari", structural=True)]

    gone = merged(known, forget=("Home City", "cat"))
    anew = merged(known, LearntFact("dog", "Rex", "m_2"), forget=("dog",))

    assert gone == FactChange(forget=("f_home_city",))
    assert anew.forget == ("f_dog",)
    assert [(one.id, one.value) for one in anew.put] == [("new0", "Rex")]


@pytest.mark.req("A14")
def test_of_whom_too_much_is_known_the_oldest_goes_but_no_structural_fact() -> None:
    known = [fact("diet", "vegan", structural=True, at=0.0), fact("a", "1"), fact("b", "2", at=1.5)]

    change = merged(known, LearntFact("c", "3", "m_2"), most=2)

    assert change.forget == ("f_a",)
    assert [one.key for one in change.put] == ["c"]
