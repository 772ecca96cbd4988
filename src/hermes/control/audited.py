"""The one way in which an operator's order is carried out: the role is checked, the order goes on
record, it is done, and what came of it goes on record too.

The command line, REST and chat commands all end here. It knows no order in particular.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeVar, cast

import msgspec

from hermes.control.actions import ACTIONS, AT_DESK, Action
from hermes.control.operations import Operations
from hermes.errors import Forbidden, HermesError, Refused, TryLater
from hermes.message.ids import MakeId
from hermes.ports.access import Role, allows
from hermes.ports.audit import AuditLimits, AuditRow, AuditState, AuditStore
from hermes.ports.clock import Clock
from hermes.ports.store import Store

_Result = TypeVar("_Result")
# Who stands behind a platform's user id, if anybody does.
PersonOf = Callable[[str, str], str | None]
# What an id, a platform or a tier looks like; a secret is longer, and has capitals.
_SPEAKABLE: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}|true|false|-[0-9]{1,15}")
# What a model looks like; only one that a provider was found for gets as far as this.
_MODEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}")
_PEOPLE: Final = frozenset({"user", "channel"})
_DIGEST_CHARS = 12
# One refusal of the same order to the same actor is on record in this time: refusals cost nothing
# to provoke, and must not push everything else out.
_REFUSALS_APART_S = 60.0
_MOST_REFUSALS = 10_000


class Actor(msgspec.Struct, frozen=True):
    """Who gives an order: this machine's command line, a token, a browser, or a person in a chat."""

    kind: Literal["local", "token", "browser", "chat"]
    id: str
    role: Role

    @property
    def name(self) -> str:
        """Who it is on record."""
        return f"{self.kind}:{self.id}" if self.id else self.kind

    @property
    def credential(self) -> str:
        """The id of the token or the session that they showed; the command line shows none."""
        return self.id if self.kind in ("token", "browser") else ""


def local_actor(name: str) -> Actor:
    """Return the owner at this machine's command line, by the name the machine has for them."""
    return Actor("local", name, "owner")


class AuditedActions:
    """Where every order passes."""

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
        name: str,
        *,
        work: Callable[[], Awaitable[_Result]],
        order: object = None,
    ) -> _Result:
        """Carry an order out if its actor may give it; raises `Forbidden` if not."""
        await self.admit(actor, name, order=order)
        action = ACTIONS[name]
        if not action.is_audited:
            return await work()
        return await self._on_record(actor, action, work=work, order=order)

    async def admit(self, actor: Actor, name: str, *, order: object = None) -> None:
        """Raise `Forbidden`, on record, for who may not give an order, whatever else it says."""
        action = ACTIONS[name]
        if allows(actor.role, action.least):
            return
        await self._refuse(actor, action, order)
        raise Forbidden(
            f"{name} needs the role {action.least}, and this is a {actor.role}'s: "
            "`hermes token create --role` makes a token that has it."
        )

    async def by_chat(
        self, action: str, person_id: str, *, work: Callable[[], Awaitable[_Result]]
    ) -> _Result:
        """Carry out what a person orders in a chat whom the settings let use the command for it."""
        return await self.act(Actor("chat", person_id, "operator"), action, work=work)

    async def _on_record(
        self,
        actor: Actor,
        action: Action,
        *,
        work: Callable[[], Awaitable[_Result]],
        order: object,
    ) -> _Result:
        row = self._row(actor, action, order)
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
        targets = tuple(dict.fromkeys((*row.targets, *self._given(action, result))))
        await self._end(msgspec.structs.replace(row, targets=targets), "ok", "")
        return result

    def _given(self, action: Action, result: object) -> list[str]:
        """Return what the record says of what came of an order."""
        ids = [self._speakable(str(one)) for path in action.gives if (one := _at(result, path))]
        names = [str(one) for path in action.names if (one := _at(result, path))]
        return [*ids, *(name if _MODEL.fullmatch(name) else self._digest(name) for name in names)]

    async def _refuse(self, actor: Actor, action: Action, order: object) -> None:
        now, key = self._clock.monotonic(), (actor.name, action.name)
        if now - self._refused.get(key, -_REFUSALS_APART_S) < _REFUSALS_APART_S:
            return
        if len(self._refused) >= _MOST_REFUSALS:
            self._refused.clear()
        self._refused[key] = now
        row = self._row(actor, action, order)
        ended = msgspec.structs.replace(row, state="refused", code=Forbidden.code, ended_at=row.at)
        await self._audit.begin(ended, limits=self._limits)

    async def _end(self, row: AuditRow, state: AuditState, code: str) -> None:
        await self._audit.end(row.id, state, code=code, targets=row.targets, at=self._clock.now())

    def _row(self, actor: Actor, action: Action, order: object) -> AuditRow:
        return AuditRow(
            id=self._make_id("a"),
            at=self._clock.now(),
            actor=actor.name,
            role=actor.role,
            action=action.name,
            targets=tuple(
                self._target(field, one)
                for field in action.tells
                if (value := order if isinstance(order, str) else _at(order, field)) is not None
                for one in (value if isinstance(value, tuple) else (value,))
                if one != ""
            ),
        )

    # Any: a field of an order that the table names; orders are of many types.
    def _target(self, field: str, value: Any) -> str:
        if field in _PEOPLE:
            return self._person(str(value))
        return self._speakable(str(value).lower() if isinstance(value, bool) else str(value))

    def _person(self, name: str) -> str:
        """Return a person's id; a platform's id of somebody unknown is only recognisable."""
        platform, separator, user_id = name.partition(":")
        if not separator:
            return self._speakable(name) if name.startswith("p_") else self._digest(name)
        known = self._person_of(platform, user_id)
        return known or f"{self._speakable(platform)}:{self._digest(user_id)}"

    def _speakable(self, value: str) -> str:
        """Return an id as it is, and anything else as what it is recognised by."""
        return value if _SPEAKABLE.fullmatch(value) else self._digest(value)

    def _digest(self, value: str) -> str:
        content = value.encode("utf-8", "surrogatepass")
        return "#" + self._keyed(content).hex()[:_DIGEST_CHARS]


def audited_for(
    store: Store, *, clock: Clock, make_id: MakeId, limits: AuditLimits | None = None
) -> AuditedActions:
    """Return the office that keeps its record in a store."""

    def person_of(platform: str, user_id: str) -> str | None:
        return store.users.standing(platform, user_id).person_id

    return AuditedActions(
        store.audit,
        person_of=person_of,
        digest=store.digest,
        clock=clock,
        make_id=make_id,
        limits=limits,
    )


def acting_desk(desk: Operations, actor: Actor, *, audited: AuditedActions) -> Operations:
    """Return the desk as somebody uses it who gives orders: each passes the office, or is none."""
    # Cast: it has the functions of the desk that are orders, with their types, and no others.
    return cast(Operations, _Acting(desk, "", act=_Act(audited, actor)))


class _Act(msgspec.Struct, frozen=True):
    audited: AuditedActions
    actor: Actor


class _Acting:
    """A desk, or a part of it, through which only orders can be reached."""

    def __init__(self, part: object, path: str, *, act: _Act) -> None:
        self._part = part
        self._path = path
        self._act = act

    # Any: whatever the desk has under that name; `acting_desk` gives it its type back.
    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}.{name}" if self._path else name
        action = AT_DESK.get(path)
        if action is not None:
            return _order(getattr(self._part, name), action, act=self._act)
        if any(known.startswith(f"{path}.") for known in AT_DESK):
            return _Acting(getattr(self._part, name), path, act=self._act)
        raise AttributeError(f"the desk has no order {path!r}; control/actions.py lists them")


# Any: an order of any type, and what it gives.
def _order(
    function: Callable[..., Awaitable[Any]], action: Action, *, act: _Act
) -> Callable[..., Awaitable[Any]]:
    async def ordered(*arguments: Any) -> Any:
        return await act.audited.act(
            act.actor,
            action.name,
            work=lambda: function(*arguments),
            order=arguments[0] if arguments else None,
        )

    return ordered


# Any: the value at the end of a path through reports of many types.
def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = getattr(value, name, None)
    return value
