"""Authentication of `/v1`: a caller's key, or this gateway's own token.

A key is sent as `Authorization: Bearer KEY` or, by Anthropic's clients, as `x-api-key`. Cookies are
not accepted here.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

import msgspec

from hermes.calls.budgets import Payer
from hermes.control.keys import KEY_PREFIX, OPERATOR, key_digest
from hermes.errors import BadRequest, Forbidden, RateLimited, Refused, Unauthenticated
from hermes.ports.clock import Clock
from hermes.ports.gateway_api import GatewayApi
from hermes.ports.keys import CallerKey, KeyStore
from hermes.ports.spend import PLATFORM, Account
from hermes.server.v1.rate_headers import KeyRate
from hermes.tools.programs.run_keys import RUN_KEY, RunKey, RunKeys

_AGENT = "agent:"
_MINUTE_S = 60.0
_MOST_BUCKETS = 10_000
_UNKNOWN = "Unknown key: copy it again, or create one with `hermes keys create`."


class ApiCaller(msgspec.Struct, frozen=True, kw_only=True):
    """The caller; without a key it is the operator, who has no limits.

    `rate` is what is left of the key's own request rate, if it has one. `credential` is the id of the
    key or of the token that was shown; `token` is that of the token alone.
    """

    user: str
    credential: str = ""
    token: str = ""
    key: CallerKey | None = None
    may_delegate: bool = False
    rate: KeyRate | None = None
    # Set if the caller is a program that answers for an agent.
    run: RunKey | None = None

    def payer(self, agent: str = "") -> Payer:
        """Return who pays for the caller's calls."""
        if self.run is not None:
            return _payer_of(self.run)
        person = PLATFORM if self.key is None else self.key.person_id
        key_id = "" if self.key is None else self.key.id
        account = Account(person_id=person, agent=agent, channel="v1", key=key_id)
        return Payer(
            account=account, key=self.key, tier=None if self.key is None else self.key.tier
        )

    def may_use(self, *names: str) -> bool:
        """Return whether the key allows a model, given all names of the model."""
        if self.run is not None:
            # Another agent is not for a program to call: it has rules of its own.
            return not any(name.startswith(_AGENT) for name in names)
        patterns = () if self.key is None else self.key.models
        if not patterns:
            return True
        return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


class Callers:
    """Checks credentials, and the request rate of each key."""

    def __init__(
        self, keys: KeyStore, *, gateway_api: GatewayApi, clock: Clock, runs: RunKeys | None = None
    ) -> None:
        self._keys = keys
        self._runs = runs or RunKeys()
        self._gateway_api = gateway_api
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    async def check(self, headers: Mapping[str, str]) -> ApiCaller:
        """Return the caller; raise `Unauthenticated`, or `RateLimited` above the key's rate."""
        secret = _secret_in(headers)
        if secret.startswith(RUN_KEY):
            return self._program(secret)
        if not secret.startswith(KEY_PREFIX):
            try:
                own = await self._gateway_api.authenticate({"authorization": f"Bearer {secret}"})
            except Unauthenticated:
                raise Unauthenticated(_UNKNOWN) from None
            may = own.may_delegate
            return ApiCaller(user=OPERATOR, credential=own.sender, token=own.id, may_delegate=may)
        key = await self._keys.find(key_digest(secret))
        if key is None:
            raise Unauthenticated(_UNKNOWN)
        self._check_life(key)
        rate = self._check_rate(key)
        may = key.may_delegate
        return ApiCaller(user=key.user, credential=key.id, key=key, rate=rate, may_delegate=may)

    async def is_valid(self, headers: Mapping[str, str]) -> bool:
        """Return whether a credential is valid, without taking from the rate of its key."""
        secret = _secret_in(headers)
        try:
            if not secret.startswith(KEY_PREFIX):
                await self._gateway_api.authenticate({"authorization": f"Bearer {secret}"})
                return True
            key = await self._keys.find(key_digest(secret))
            if key is None:
                return False
            self._check_life(key)
        except Refused:
            return False
        return True

    def _program(self, secret: str) -> ApiCaller:
        run = self._runs.find(secret)
        if run is None:
            raise Unauthenticated("The program with this key has ended.")
        return ApiCaller(user=run.person_id, key=_key_of(run, self._clock.now()), run=run)

    def _check_life(self, key: CallerKey) -> None:
        if key.revoked_at is not None:
            raise Unauthenticated("This key was revoked: ask the operator for a new one.")
        if key.expires_at is not None and key.expires_at <= self._clock.now():
            raise Unauthenticated("This key has expired: ask the operator for a new one.")

    def take_more(self, caller: ApiCaller, calls: int) -> ApiCaller:
        """Take the rate of further calls of one request; raise `RateLimited` if it has too little.

        Raises `BadRequest` for a request that needs more than a whole minute of the key.
        """
        key = caller.key
        if key is None or key.requests_per_minute is None or calls < 1:
            return caller
        if calls >= key.requests_per_minute:
            raise BadRequest(
                f"n is {calls + 1}, which counts as {calls + 1} requests, and this key may be used "
                f"{key.requests_per_minute} times a minute: ask for fewer answers at once."
            )
        return msgspec.structs.replace(caller, rate=self._check_rate(key, calls=calls))

    def _check_rate(self, key: CallerKey, *, calls: int = 1) -> KeyRate | None:
        most = key.requests_per_minute
        if most is None:
            return None
        now = self._clock.monotonic()
        left, at = self._buckets.get(key.id, (float(most), now))
        left = min(float(most), left + (now - at) * most / _MINUTE_S)
        if left < calls:
            wait = (calls - left) * _MINUTE_S / most
            error = RateLimited(f"This key may be used {most} times a minute.", wait)
            error.per_minute = most
            raise error
        if len(self._buckets) >= _MOST_BUCKETS:
            self._buckets.clear()
        left -= calls
        self._buckets[key.id] = (left, now)
        reset_s = (most - left) * _MINUTE_S / most
        return KeyRate(most, int(left), reset_s, self._clock.now())


def _key_of(run: RunKey, now: float) -> CallerKey:
    """Return the key of a program; what it has stored is its agent's, and no other caller's."""
    return CallerKey(
        id=f"program:{run.agent}:{run.person_id}",
        label=run.agent,
        user=run.person_id,
        person_id=run.person_id,
        hint="",
        created_at=now,
        tier=run.tier,
    )


def _payer_of(run: RunKey) -> Payer:
    account = Account(person_id=run.person_id, agent=run.agent, channel=run.platform)
    return Payer(account=account, tier=run.tier, agent_day_usd=run.budget_day_usd)


def check_model(caller: ApiCaller, *names: str) -> None:
    """Raise `Forbidden` if the caller's key does not allow a model."""
    if not caller.may_use(*names):
        assert caller.key is not None
        if caller.run is not None:
            raise Forbidden(f"A program may not call {names[0][:80]!r}.")
        allowed = ", ".join(caller.key.models)
        raise Forbidden(f"This key may not use {names[0][:80]!r}; it may use: {allowed}.")


def _secret_in(headers: Mapping[str, str]) -> str:
    own = headers.get("x-api-key")
    if own:
        return own.strip()
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and secret.strip():
        return secret.strip()
    raise Unauthenticated(
        "No key was sent: add the header 'Authorization: Bearer KEY' or 'x-api-key: KEY'. "
        "`hermes keys create` creates one."
    )
