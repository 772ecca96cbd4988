"""Keys of the callers of `/v1`: made, listed and revoked by the operator.

A secret is 256 random bits, shown once and kept only as its SHA-256; `/v1` finds keys by the same
digest. What a key used is read off the ledger.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Literal

import msgspec
import structlog

from hermes.calls.days import Calendar
from hermes.errors import BadRequest, NotFound
from hermes.message.ids import MakeId
from hermes.message.short_ids import find_short
from hermes.ports.clock import Clock
from hermes.ports.keys import BudgetPeriod, CallerKey, KeyStore
from hermes.ports.request_numbers import Quantity, WholeNumber
from hermes.ports.spend import Meter, SpendStore

_log = structlog.get_logger(__name__)

# The user behind the gateway's own token; no key can belong to it.
OPERATOR = "@operator"
# A public prefix lets secret scanners find a leaked key.
KEY_PREFIX = "hk_"
KeyState = Literal["active", "expired", "revoked"]
RandomBytes = Callable[[int], bytes]

_SECRET_BYTES = 32
_HINT_CHARS = 4
_LONGEST_NAME = 200
_KNOWN_SHOWN = 10
# The least and the most that each number of a key may be; the most fits the database's integers.
_BOUNDS = {
    "budget_usd": (0, 10**12),
    "budget_tokens": (0, 10**15),
    "requests_per_minute": (1, 10**6),
    "max_output_tokens": (1, 10**9),
    "lifetime_s": (1, 10**12),
}


class NewKey(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key as the operator wants it; what is None is not limited, a budget of 0 refuses all cost."""

    user: str
    label: str = ""
    models: tuple[str, ...] = ()
    budget_usd: Quantity | None = None
    budget_period: BudgetPeriod = "total"
    budget_tokens: WholeNumber | None = None
    requests_per_minute: WholeNumber | None = None
    max_output_tokens: WholeNumber | None = None
    store_responses: bool = False
    may_delegate: bool = False
    read_history: bool = False
    lifetime_s: Quantity | None = None
    by: str = ""


class KeyLine(CallerKey, frozen=True, kw_only=True):
    """A key, and what it used of its budget in the time that the budget counts now."""

    state: KeyState
    used_usd: float
    used_tokens: int


class MadeKey(msgspec.Struct, frozen=True, kw_only=True):
    """A new key with its secret, which nobody can read again; `address` is where it is good for."""

    secret: str
    address: str
    key: KeyLine


class KeysReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every key, the newest first."""

    keys: tuple[KeyLine, ...] = ()


class KeyEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish to revoke a key by its id, or by a beginning of it that no other key has."""

    id: str
    by: str = ""


class EndedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key that is revoked now; `changed` is false when it was before."""

    key: KeyLine
    changed: bool


def key_digest(secret: str) -> bytes:
    """Return the hash under which a key's secret is known."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


class KeyOperations:
    """Where operators' orders about keys arrive; `address` is where callers of `/v1` use them."""

    def __init__(
        self,
        keys: KeyStore,
        spend: SpendStore,
        *,
        calendar: Calendar,
        clock: Clock,
        make_id: MakeId,
        address: str,
        random_bytes: RandomBytes,
    ) -> None:
        self._keys = keys
        self._spend = spend
        self._calendar = calendar
        self._clock = clock
        self._make_id = make_id
        self._address = address
        self._random_bytes = random_bytes

    async def create(self, new: NewKey) -> MadeKey:
        """Make a key; its secret is told only now, and kept nowhere."""
        _check(new)
        at = self._clock.now()
        text = urlsafe_b64encode(self._random_bytes(_SECRET_BYTES)).rstrip(b"=").decode("ascii")
        secret = KEY_PREFIX + text
        wanted = CallerKey(
            id=self._make_id("k"),
            label=new.label,
            user=new.user,
            person_id="",
            hint=secret[-_HINT_CHARS:],
            created_at=at,
            models=new.models,
            budget_usd=new.budget_usd,
            budget_period=new.budget_period,
            budget_tokens=new.budget_tokens,
            requests_per_minute=new.requests_per_minute,
            max_output_tokens=new.max_output_tokens,
            store_responses=new.store_responses,
            may_delegate=new.may_delegate,
            read_history=new.read_history,
            expires_at=None if new.lifetime_s is None else at + new.lifetime_s,
        )
        key = await self._keys.add(wanted, digest=key_digest(secret), user=new.user)
        _log.info("key_created", key_id=key.id, person_id=key.person_id, by=new.by)
        return MadeKey(secret=secret, address=self._address, key=await self._line(key))

    async def list(self) -> KeysReport:
        """Return every key with what it used."""
        return KeysReport(keys=tuple([await self._line(key) for key in await self._keys.list()]))

    async def revoke(self, end: KeyEnd) -> EndedKey:
        """End a key at once."""
        key = _find(await self._keys.list(), end.id)
        changed = await self._keys.revoke(key.id, at=self._clock.now())
        if changed:
            _log.info("key_revoked", key_id=key.id, person_id=key.person_id, by=end.by)
        return EndedKey(
            key=await self._line(_find(await self._keys.list(), key.id)), changed=changed
        )

    async def _line(self, key: CallerKey) -> KeyLine:
        now = self._clock.now()
        day = self._calendar.day(now)
        period = {"day": day, "month": day[:7], "total": ""}[key.budget_period]
        return KeyLine(
            **msgspec.structs.asdict(key),
            state=_state(key, now),
            used_usd=await self._spend.total(Meter("key", key.id, "usd", period)),
            used_tokens=int(await self._spend.total(Meter("key", key.id, "tokens", period))),
        )


def _state(key: CallerKey, now: float) -> KeyState:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else "active"


def _check(new: NewKey) -> None:
    for what, text in (("user", new.user), ("label", new.label)):
        if len(text) > _LONGEST_NAME:
            raise BadRequest(
                f"The {what} of the key has {len(text)} characters; write at most {_LONGEST_NAME}."
            )
    if new.user.startswith(OPERATOR[0]):
        raise BadRequest(
            f"The user {new.user[:40]!r} begins with {OPERATOR[0]!r}, which is kept for the "
            "gateway itself: leave it out."
        )
    if not new.user.strip():
        raise BadRequest("The key has no user: name one, such as --user ann.")
    for name, (least, most) in _BOUNDS.items():
        number = getattr(new, name)
        if number is not None and not least <= number <= most:
            raise BadRequest(
                f"The key's {name} is {number}: expected a number from {least:,} to {most:,}."
            )


def _find(known: Sequence[CallerKey], name: str) -> CallerKey:
    found = find_short(name, {key.id: key for key in known}, label=_label)
    if found is not None:
        return found
    active = [key for key in known if key.revoked_at is None]
    told = f"The keys that are not revoked: {_named(active)}" if active else "There is no key"
    raise NotFound(f"No key is known as {name!r}. {told}. `hermes keys list` shows all.")


def _named(keys: Sequence[CallerKey]) -> str:
    names = [_label(key) for key in keys[:_KNOWN_SHOWN]]
    more = len(keys) - len(names)
    return ", ".join([*names, f"and {more} more"] if more else names)


def _label(key: CallerKey) -> str:
    return f"{key.id} ({key.label or key.user})"
