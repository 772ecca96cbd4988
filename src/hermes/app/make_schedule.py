"""Scheduled jobs of a gateway: the scheduler and its worker, connected to the store and the
courier.
"""

from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from hermes.app.make_agents import make_roster
from hermes.app.make_keys import make_keys
from hermes.config import Settings, system_zone
from hermes.control.cron import CronOperations
from hermes.errors import Forbidden
from hermes.memory.facts import PeoplesFacts
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId, make_id
from hermes.message.target import parse_target
from hermes.plugins.manifest import load_capabilities
from hermes.ports.clock import Clock, SystemClock
from hermes.ports.cron import CronOrigin
from hermes.ports.sends import Courier
from hermes.ports.store import Store
from hermes.ports.upward import Wake
from hermes.schedule.cron_worker import CronWorker
from hermes.schedule.schedules import CheckTarget, RunsSkill, Schedules, ZoneOf

_ZONE_FACT = "time_zone"
# The channels whose callers may name chats themselves.
_PULLING = ("rest", "web")


class CronLayer(msgspec.Struct, frozen=True, kw_only=True):
    """What creates jobs, and what runs them."""

    schedules: Schedules
    worker: CronWorker


def make_cron_layer(
    store: Store,
    settings: Settings,
    *,
    facts: PeoplesFacts,
    courier: Courier,
    runs_skill: RunsSkill,
    admits: Callable[[MessageEvent], Awaitable[bool]],
    has_room: Callable[[], bool],
    wake: Wake,
    clock: Clock,
    make_id: MakeId,
) -> CronLayer:
    """Return the scheduler and its worker."""
    schedules = make_schedules(
        store,
        settings,
        zone_of=partial(_known_zone, facts),
        check_target=partial(_checked, courier=courier),
        runs_skill=runs_skill,
        wake=wake,
        clock=clock,
        make_id=make_id,
    )
    worker = CronWorker(
        store, admits=admits, has_room=has_room, wake=wake, clock=clock, make_id=make_id
    )
    return CronLayer(schedules=schedules, worker=worker)


async def _no_zone(_person_id: str) -> None:
    return None


async def _no_skill(_text: str, _origin: CronOrigin) -> bool:
    return False


async def _unchecked(to: str, _origin: CronOrigin, _is_operators: bool) -> str:
    return _parsed(to)


def make_schedules(
    store: Store,
    settings: Settings,
    *,
    clock: Clock | None = None,
    make_id: MakeId = make_id,
    zone_of: ZoneOf = _no_zone,
    check_target: CheckTarget = _unchecked,
    runs_skill: RunsSkill = _no_skill,
    wake: Wake | None = None,
) -> Schedules:
    """Return the scheduler; without a gateway it is unknown whether a target can be reached."""
    return Schedules(
        store,
        settings=settings.cron,
        zone=settings.time_zone or system_zone(),
        zone_of=zone_of,
        check_target=check_target,
        runs_skill=runs_skill,
        wake=wake,
        clock=clock or SystemClock(),
        make_id=make_id,
    )


def make_cron_operations(store: Store, settings: Settings, schedules: Schedules) -> CronOperations:
    """Return the functions for operators' orders about jobs."""
    own_chats = [
        name for name in _PULLING if load_capabilities(f"hermes.channels.{name}").own_chats
    ]
    keys = make_keys(store, settings, own_chats=own_chats)
    return CronOperations(store, schedules, roster=make_roster(store, settings), keys=keys)


async def _known_zone(facts: PeoplesFacts, person_id: str) -> str | None:
    return next((fact.value for fact in await facts.of(person_id) if fact.key == _ZONE_FACT), None)


def _parsed(to: str) -> str:
    wanted = parse_target(to)
    return "" if wanted.kind == "origin" else str(wanted)


async def _checked(to: str, origin: CronOrigin, is_operators: bool, *, courier: Courier) -> str:
    target = _parsed(to)
    if target:
        place = await courier.find(
            target, message_id="", person_id=origin.person_id, is_operators=is_operators
        )
        if place.reach == "admins" and not is_operators:
            raise Forbidden(
                f"{target} is not a chat of yours: this gateway's operator can schedule for it, "
                "with `hermes cron add --to`."
            )
        # A name may later mean another chat, so the resolved chat is stored.
        return place.name
    return target
