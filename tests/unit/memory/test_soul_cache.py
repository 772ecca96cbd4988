"""A11: what is told of a person is cached for an hour, and never beyond a change without an alarm."""

import pytest

from hermes.errors import StoreError
from hermes.memory.soul_cache import TTL_S, MemorySouls, SoulCache
from hermes.ports.memory import Decide, Fact, FactChange, KnownPerson
from hermes.testing.manual_time import ManualClock


class Facts:
    """A fact store whose only fact is a diet, and that counts how often it is asked."""

    def __init__(self) -> None:
        self.diet = "vegan"
        self.reads = 0

    async def of(self, person_id: str) -> tuple[Fact, ...]:
        self.reads += 1
        return (
            Fact(
                id="f",
                person_id=person_id,
                key="diet",
                value=self.diet,
                source="",
                at=1.0,
                updated_at=1.0,
                is_structural=True,
            ),
        )

    async def change(self, person_id: str, decide: Decide) -> FactChange:
        return decide(await self.of(person_id))

    async def some(self, person_id: str, ids: object) -> tuple[Fact, ...]:
        return ()

    async def has_loose(self, person_id: str) -> bool:
        return False

    async def people(self, *, limit: int) -> tuple[KnownPerson, ...]:
        return ()


class Broken(MemorySouls):
    """Fails to drop as often as it is told."""

    failures = 0

    async def drop(self, person_id: str) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreError("away")
        await super().drop(person_id)


class Rig:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.facts = Facts()
        self.backend = Broken(self.clock)
        self.slept: list[float] = []
        self.alerts: list[tuple[str, float]] = []
        self.cache = SoulCache(
            self.facts,
            self.backend,
            sleep=self.sleep,
            alert=lambda person, exposure: self.alerts.append((person, exposure)),
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def diet(self) -> str:
        return (await self.cache.of("p"))[0].rpartition(": ")[2]


@pytest.mark.req("A11")
async def test_it_is_made_once_an_hour_and_again_after_a_change() -> None:
    rig = Rig()
    assert [await rig.diet(), await rig.diet()] == ["vegan", "vegan"]
    assert rig.facts.reads == 1
    rig.clock.advance(TTL_S + 1)
    await rig.diet()
    assert rig.facts.reads == 2

    rig.facts.diet = "meat"
    assert await rig.diet() == "vegan"
    await rig.cache.invalidate("p")
    assert await rig.diet() == "meat"


@pytest.mark.req("A11")
async def test_the_time_and_the_tries_are_settable() -> None:
    rig = Rig()
    alerts: list[float] = []
    cache = SoulCache(
        rig.facts,
        rig.backend,
        sleep=rig.sleep,
        alert=lambda _person, exposure: alerts.append(exposure),
        ttl_s=60.0,
        pauses_s=(2.0,),
    )
    await cache.of("p")
    rig.facts.diet = "meat"
    rig.clock.advance(61)
    assert (await cache.of("p"))[0].endswith("meat")

    rig.backend.failures = 2
    await cache.invalidate("p")

    assert (rig.slept, alerts) == ([2.0], [60.0])


@pytest.mark.req("A11")
@pytest.mark.parametrize(
    ("failures", "slept", "alerts"),
    [
        (0, [], []),
        (1, [0.5], []),
        (2, [0.5, 1.0], []),
        (3, [0.5, 1.0], [("p", TTL_S)]),
    ],
)
async def test_a_drop_is_tried_three_times_before_operations_are_told(
    failures: int, slept: list[float], alerts: list[tuple[str, float]]
) -> None:
    rig = Rig()
    await rig.diet()
    rig.backend.failures = failures
    rig.facts.diet = "meat"

    await rig.cache.invalidate("p")

    assert (rig.slept, rig.alerts) == (slept, alerts)
    assert await rig.diet() == ("vegan" if alerts else "meat")
