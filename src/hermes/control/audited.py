"""The only way to run an operator order: check the role, write the audit row, run it, record the end.

The command line, REST and chat commands all end here. It knows no order in particular.
"""

import re
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

from hermes.control.operations import Operations
from hermes.control.order import Actor, AnyOrder, Order, Report, Request
from hermes.control.orders import BY_NAME
from hermes.errors import Forbidden, HermesError, Refused, TryLater
from hermes.message.ids import MakeId
from hermes.ports.access import allows
from hermes.ports.audit import AuditLimits, AuditRow, AuditState, AuditStore
from hermes.ports.clock import Clock
from hermes.ports.store import Store

_Result = TypeVar("_Result")
# Who stands behind a platform's user id, if anybody does.
PersonOf = Callable[[str, str], Awaitable[str | None]]
# What an id, a platform or a tier looks like; a secret is longer, and has capitals.
_SAFE_TO_LOG: Final = re.compile(
    r"[a-z0-9][a-z0-9_-]{0,39}(/[a-z0-9][a-z0-9_-]{0,31})?|true|false|-[0-9]{1,15}"
)
# What a model looks like; only one that a provider was found for gets as far as this.
_MODEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}")
# What the name of a secret looks like; only one that was found or stored gets as far as this.
_SECRET: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_PEOPLE: Final = frozenset({"user", "channel"})
# Any: reports are of many types; what comes back is of the same.
MaskReport = Callable[[Any], Awaitable[Any]]
_DIGEST_CHARS = 12
# More of one list is not kept: a request may be large, and whoever gives it must not fill the log.
_MOST_TARGETS: Final = 32
# One refusal of the same order to the same actor is on record in this time: refusals cost nothing
# to provoke, and must not push everything else out.
_REFUSALS_APART_S = 60.0
_MOST_REFUSALS = 10_000


class AuditedActions:
    """Runs operator orders: checks the role, writes the audit row, runs the work, records the end."""

    def __init__(
        self,
        audit: AuditStore,
        *,
        person_of: PersonOf,
        digest: Callable[[bytes], bytes],
        clock: Clock,
        make_id: MakeId,
        limits: AuditLimits | None = None,
    ) -> None:
        self._audit = audit
        self._person_of = person_of
        self._keyed = digest
        self._clock = clock
        self._make_id = make_id
        self._limits = limits or AuditLimits()
        self._refused: dict[tuple[str, str], float] = {}

    async def act(
        self,
        actor: Actor,
        order: AnyOrder,
        *,
        work: Callable[[], Awaitable[_Result]],
        request: object = None,
    ) -> _Result:
        """Run the work of an order if its actor may give it; raises `Forbidden` if not."""
        await self.admit(actor, order, request=request)
        if not order.is_audited:
            return await work()
        return await self._on_record(actor, order, work=work, request=request)

    async def admit(self, actor: Actor, order: AnyOrder, *, request: object = None) -> None:
        """Raise `Forbidden`, on record, if the actor may not give an order."""
        if allows(actor.role, order.least):
            return
        await self._refuse(actor, order, request)
        raise Forbidden(
            f"{order.name} needs the role {order.least}, and your token has the role "
            f"{actor.role}: make one with `hermes token create --role`."
        )

    async def by_chat(
        self, action: str, person_id: str, *, work: Callable[[], Awaitable[_Result]]
    ) -> _Result:
        """Run an order that a person gives in a chat; the settings say who may use its command."""
        return await self.act(Actor("chat", person_id, "operator"), BY_NAME[action], work=work)

    async def _on_record(
        self,
        actor: Actor,
        order: AnyOrder,
        *,
        work: Callable[[], Awaitable[_Result]],
        request: object,
    ) -> _Result:
        row = await self._row(actor, order, request)
        await self._audit.begin(row, limits=self._limits)
        try:
            result = await work()
        except (Refused, TryLater) as error:
            await self._end(row, "refused", error.code)
            raise
        except HermesError as error:
            await self._end(row, "failed", error.code)
            raise
        # Boundary of one order: whatever broke, the record says so; it is logged where it ends.
        except Exception:
            await self._end(row, "failed", "internal")
            raise
        targets = tuple(dict.fromkeys((*row.targets, *self._results(order, result))))
        await self._end(msgspec.structs.replace(row, targets=targets), "ok", "")
        return result

    def _results(self, order: AnyOrder, result: object) -> list[str]:
        """Return what the audit row keeps of a report."""
        ids = [self._safe(str(one)) for path in order.result_targets if (one := _at(result, path))]
        names = [str(one) for path in order.result_models if (one := _at(result, path))]
        secrets = [str(one) for path in order.result_names if (one := _at(result, path))]
        return [
            *ids,
            *(name if _MODEL.fullmatch(name) else self._digest(name) for name in names),
            *(name if _SECRET.fullmatch(name) else self._digest(name) for name in secrets),
        ]

    async def _refuse(self, actor: Actor, order: AnyOrder, request: object) -> None:
        now, key = self._clock.monotonic(), (actor.name, order.name)
        if now - self._refused.get(key, -_REFUSALS_APART_S) < _REFUSALS_APART_S:
            return
        if len(self._refused) >= _MOST_REFUSALS:
            self._refused.clear()
        self._refused[key] = now
        row = await self._row(actor, order, request)
        ended = msgspec.structs.replace(row, state="refused", code=Forbidden.code, ended_at=row.at)
        await self._audit.begin(ended, limits=self._limits)

    async def _end(self, row: AuditRow, state: AuditState, code: str) -> None:
        await self._audit.end(row.id, state, code=code, targets=row.targets, at=self._clock.now())

    async def _row(self, actor: Actor, order: AnyOrder, request: object) -> AuditRow:
        return AuditRow(
            id=self._make_id("a"),
            at=self._clock.now(),
            actor=actor.name,
            role=actor.role,
            action=order.name,
            targets=tuple(
                [
                    await self._target(field, one)
                    for field in order.targets
                    if (value := _at(request, field)) is not None
                    for one in _first_of(value)
                    if one != ""
                ]
            ),
        )

    # Any: a field of a request that the table names; requests are of many types.
    async def _target(self, field: str, value: Any) -> str:
        if field in _PEOPLE:
            return await self._person(str(value))
        return self._safe(str(value).lower() if isinstance(value, bool) else str(value))

    async def _person(self, name: str) -> str:
        """Return a person's id; for an unknown sender, a hash of the platform's id."""
        platform, separator, user_id = name.partition(":")
        if not separator:
            return self._safe(name) if name.startswith("p_") else self._digest(name)
        known = await self._person_of(platform, user_id)
        return known or f"{self._safe(platform)}:{self._digest(user_id)}"

    def _safe(self, value: str) -> str:
        """Return an id as it is, and anything else as what it is recognised by."""
        return value if _SAFE_TO_LOG.fullmatch(value) else self._digest(value)

    def _digest(self, value: str) -> str:
        content = value.encode("utf-8", "surrogatepass")
        return "#" + self._keyed(content).hex()[:_DIGEST_CHARS]


def audited_for(
    store: Store, *, clock: Clock, make_id: MakeId, limits: AuditLimits | None = None
) -> AuditedActions:
    """Return what runs orders and keeps their audit rows in a store."""

    async def person_of(platform: str, user_id: str) -> str | None:
        return (await store.users.channel_access(platform, user_id)).person_id

    return AuditedActions(
        store.audit,
        person_of=person_of,
        digest=store.digest,
        clock=clock,
        make_id=make_id,
        limits=limits,
    )


class Operator:
    """Gives orders as one actor: each order is checked, audited and run.

    `mask` returns a report without stored secrets.
    """

    def __init__(
        self,
        operations: Operations,
        actor: Actor,
        *,
        audited: AuditedActions,
        mask: MaskReport | None = None,
    ) -> None:
        self._operations = operations
        self._actor = actor
        self._audited = audited
        self._mask = mask

    async def give(self, order: Order[Request, Report], request: Request) -> Report:
        """Give an order and return its report; raises `Forbidden` if the actor may not give it."""
        report = await self._audited.act(
            self._actor,
            order,
            work=lambda: order.run(self._operations, request, self._actor),
            request=request,
        )
        return report if self._mask is None else await self._mask(report)

    async def act(
        self, order: Order[Any, Report], work: Callable[[Operations], Awaitable[Report]]
    ) -> Report:
        """Give an order, but run `work` for it, such as one that reports its progress."""
        return await self._audited.act(self._actor, order, work=lambda: work(self._operations))


# Any: a field of a request that the table names.
def _first_of(value: Any) -> tuple[Any, ...]:
    """Return what a field names: itself, or the first different ones of its list."""
    if not isinstance(value, tuple):
        return (value,)
    return tuple(islice(dict.fromkeys(value), _MOST_TARGETS))


# Any: the value at the end of a path through reports of many types.
def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = getattr(value, name, None)
    return value
