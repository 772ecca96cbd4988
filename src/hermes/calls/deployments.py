"""Which deployment of a provider serves a call, and which are left alone because they failed.

A provider is one deployment, or several keys and addresses of the same models that share its calls
by weight. Each model of each deployment has a circuit breaker; the states are behind a port.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from types import MappingProxyType

import msgspec
import structlog

from hermes.calls import circuits
from hermes.calls.agent_providers import providers_of
from hermes.config import BreakerSettings
from hermes.errors import ProviderCooling, ProviderError, ProviderRejected
from hermes.ports.circuits import Circuit, CircuitStates
from hermes.ports.clock import Clock
from hermes.ports.model_lists import ModelLister, ServedModel
from hermes.ports.provider import (
    Embedder,
    Embedding,
    ModelEvent,
    ModelRequest,
    Provider,
    ProviderInfo,
)
from hermes.routing.plan import Candidate, CoolingPeriod, clock_time

_log = structlog.get_logger(__name__)
# Returns a number from 0 up to 1, by chance.
Draw = Callable[[], float]
_NOTHING: Mapping[str, CoolingPeriod] = MappingProxyType({})


class Deployment(msgspec.Struct, frozen=True):
    """One key or address that serves a provider's models; a provider without several has no name."""

    name: str
    weight: int
    provider: Provider


class DeployedProvider:
    """Fits `Provider` for several deployments of the same models."""

    def __init__(self, members: Sequence[Deployment]) -> None:
        self.members = tuple(members)

    @property
    def info(self) -> ProviderInfo:
        """What the deployments can do; they differ in their keys and addresses alone."""
        return self.members[0].provider.info

    async def available(self) -> bool:
        """Return whether a call to any deployment may be tried now."""
        for one in self.members:
            if await one.provider.available():
                return True
        return False

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Run one call at the first deployment; `Deployments` chooses for all other calls."""
        return self.members[0].provider.stream(request)

    async def embed(self, texts: tuple[str, ...], *, model: str) -> Embedding:
        """Return one vector for each text, from the first deployment that makes them."""
        problem: ProviderError = ProviderRejected(f"{self.info.name} makes no embeddings")
        for one in self.members:
            if isinstance(one.provider, Embedder):
                try:
                    return await one.provider.embed(texts, model=model)
                except ProviderError as error:
                    problem = error
        raise problem

    async def list_models(self) -> Mapping[str, ServedModel]:
        """Return the models of the first deployment that lists them.

        Raises `ProviderError` with what every deployment said, if none does.
        """
        problems: list[str] = []
        for one in self.members:
            if isinstance(one.provider, ModelLister):
                try:
                    return await one.provider.list_models()
                except ProviderError as error:
                    problems.append(f"{one.name}: {error}")
        raise ProviderRejected("; ".join(problems) or f"{self.info.name} has no list of its models")

    async def close(self) -> None:
        """Release what the deployments hold."""
        for one in self.members:
            await one.provider.close()


class Seat(msgspec.Struct, frozen=True):
    """The part of a call in one circuit: in everybody's, with its `payer`, or in the payer's own."""

    circuit: str
    payer: str = ""
    is_trial: bool = False


class CallPass(msgspec.Struct, frozen=True):
    """The right to make one call at a deployment; its end is reported to the circuits of its `seats`.

    One that `is_repeat` was made there before by the same caller: its failure says nothing new.
    """

    deployment: Deployment
    seats: tuple[Seat, ...]
    is_shared: bool = False
    is_repeat: bool = False

    @property
    def is_trial(self) -> bool:
        """Whether others wait for what this call says about its service."""
        return any(seat.is_trial for seat in self.seats)

    def after_trial(self) -> "CallPass":
        """Return the pass of a trial call whose service has begun to answer."""
        seats = tuple(msgspec.structs.replace(seat, is_trial=False) for seat in self.seats)
        return msgspec.structs.replace(self, seats=seats)


class DeploymentState(msgspec.Struct, frozen=True, kw_only=True):
    """One model of a deployment that has failed lately; `open_until` is None while it is called.

    A provider without several deployments has one without a name. With `people` it is left alone
    for so many of them, whose calls failed; the others' calls pass.
    """

    provider: str
    deployment: str
    model: str
    failures: int
    open_until: float | None
    reason: str
    people: int = 0

    @property
    def words(self) -> str:
        """Say until when it is not called, and why."""
        place = f"{self.deployment}: " if self.deployment else ""
        whom = ""
        if self.people:
            whom = "for one person " if self.people == 1 else f"for {self.people} people "
        return f"{place}not called {whom}until {clock_time(self.open_until or 0.0)}: {self.reason}"


class CoolingModels(Mapping[str, CoolingPeriod]):
    """The models of a provider that no deployment may be called for now, looked up on demand.

    Callers may name any model, so there may be many circuits, and every plan asks for a few.
    """

    def __init__(self, deployments: "Deployments", provider: str, agent: str) -> None:
        self._deployments = deployments
        self._provider = provider
        self._agent = agent

    def __getitem__(self, model: str) -> CoolingPeriod:
        found = self._deployments.cooling_of(self._provider, model, agent=self._agent)
        if found is None:
            raise KeyError(model)
        return found

    def __iter__(self) -> Iterator[str]:
        states = self._deployments.states()
        named = dict.fromkeys(one.model for one in states if one.provider == self._provider)
        return (model for model in named if model in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True


class Deployments:
    """The deployments of every provider, with the state of their circuits."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        *,
        states: CircuitStates,
        rules: BreakerSettings,
        trial_s: float,
        clock: Clock,
        draw: Draw,
    ) -> None:
        self._providers = providers
        self._states = states
        self._rules = rules
        self._trial_s = trial_s
        self._now = clock.now
        self._draw = draw

    def enter(
        self,
        candidate: Candidate,
        *,
        payer: str = "",
        agent: str = "",
        tried: frozenset[str] = frozenset(),
        waited: bool = False,
    ) -> CallPass:
        """Return the right to call a deployment; raises `ProviderCooling` while none may be called.

        An `agent` with a key of its own has a deployment of its own. A deployment that was not `tried` yet comes first. A call that has `waited` as long as it was
        asked to is not refused again. `payer` is the person who pays, or empty for nobody's call.
        """
        members = self.members_of(candidate.provider, agent)
        if not self._states.changed():
            chosen = self._choose(members, tried)
            return self._pass(candidate, chosen, payer=payer, count=len(members))
        now = self._now()
        free = [
            one for one in members if not self._is_blocked(candidate, one, payer=payer, now=now)
        ]
        if not free and not waited:
            raise self._cooling_error(candidate, members, payer=payer, now=now)
        chosen = self._choose(free or members, tried)
        entry = self._pass(candidate, chosen, payer=payer, count=len(members))
        if chosen.name in tried:
            return msgspec.structs.replace(entry, is_repeat=True)
        return self._on_trial(entry, now)

    def has_other(
        self, candidate: Candidate, tried: frozenset[str], *, payer: str = "", agent: str = ""
    ) -> bool:
        """Return whether a deployment that was not tried yet may be called now."""
        provider = providers_of(self._providers, agent).get(candidate.provider)
        if not isinstance(provider, DeployedProvider):
            return False
        now = self._now()
        return any(
            one.name not in tried and not self._is_blocked(candidate, one, payer=payer, now=now)
            for one in provider.members
        )

    def succeeded(self, entry: CallPass, *, rest_s: float = 0.0) -> None:
        """Report an answer; `rest_s` is how long its service takes no more calls, if it says so."""
        if not rest_s and not self._states.changed():
            return
        for seat in entry.seats:
            self._change(seat.circuit, partial(circuits.after_success, trial=seat.is_trial))
        if rest_s:
            rest = partial(circuits.resting, now=self._now(), rest_s=rest_s, rules=self._rules)
            self._change(entry.seats[0].circuit, rest)

    def failed(self, entry: CallPass, error: ProviderError) -> None:
        """Report a call that failed: to everybody's circuit, and to the payer's own."""
        if entry.is_repeat or not circuits.counts(error, is_shared=entry.is_shared):
            self.left(entry)
            return
        if circuits.concerns_all(error):
            self.left(entry)
            self._failed(msgspec.structs.replace(entry.seats[0], payer=""), error)
            return
        for seat in entry.seats:
            self._failed(seat, error)

    def _failed(self, seat: Seat, error: ProviderError) -> None:
        now, rules = self._now(), self._rules
        new = self._change(
            seat.circuit,
            lambda one: circuits.after_failure(
                one, now, error=error, trial=seat.is_trial, rules=rules, payer=seat.payer
            ),
        )
        if new.opened_at == now and new.open_until is not None:
            wait_s, payer, name = round(new.open_until - now, 1), *_owner(seat.circuit)
            _log.warning(
                "model_rests",
                deployment=name,
                wait_s=wait_s,
                person_id=payer or None,
                problem=new.reason,
            )

    def left(self, entry: CallPass) -> None:
        """Report a call that ended without saying anything about its service."""
        for seat in entry.seats:
            if seat.is_trial:
                self._change(seat.circuit, circuits.after_trial)

    def cooling(self, provider: str, agent: str = "") -> Mapping[str, CoolingPeriod]:
        """Return the models of a provider that no deployment may be called for now."""
        return CoolingModels(self, provider, agent) if self._states.changed() else _NOTHING

    def cooling_of(self, provider: str, model: str, *, agent: str = "") -> CoolingPeriod | None:
        """Return how long no deployment may be called for a model; None if one may be."""
        now, found = self._now(), list[Circuit]()
        for one in self.members_of(provider, agent):
            circuit = self._states.get(_name(provider, one.name, model))
            if not circuits.is_blocked(circuit, now):
                return None
            found.append(circuit)
        return _cooling(found, now, rules=self._rules)

    def states(self) -> list[DeploymentState]:
        """Return every model of a deployment that has failed lately, for all or for some people."""
        found: dict[tuple[str, bool], DeploymentState] = {}
        for full_name, circuit in self._states.changed().items():
            payer, name = _owner(full_name)
            provider, deployment, model = _parts(name)
            if provider not in self._providers:
                continue
            state = DeploymentState(
                provider=provider,
                deployment=deployment,
                model=model,
                failures=circuit.failures,
                open_until=circuit.open_until,
                reason=circuit.reason,
                people=1 if payer else 0,
            )
            found[name, bool(payer)] = _joined(found.get((name, bool(payer))), state)
        return list(found.values())

    def info_of(self, provider: str) -> ProviderInfo:
        """Return what a provider can do; raises `ProviderRejected` if it is unknown."""
        return self.members_of(provider)[0].provider.info

    def resting(self) -> list[DeploymentState]:
        """Return every model of a deployment that is left alone now, or waits for its trial call.

        Where it is left alone by all, the people who have met that do not matter.
        """
        found = [state for state in self.states() if state.open_until is not None]
        by_all = {(one.provider, one.deployment, one.model) for one in found if not one.people}
        return [
            one
            for one in found
            if not (one.people and (one.provider, one.deployment, one.model) in by_all)
        ]

    def members_of(self, provider: str, agent: str = "") -> tuple[Deployment, ...]:
        """Return the deployments of a provider; raises `ProviderRejected` if it is unknown."""
        found = providers_of(self._providers, agent).get(provider)
        if found is None:
            raise ProviderRejected(f"provider {provider} is no longer configured")
        if isinstance(found, DeployedProvider):
            return found.members
        return (Deployment("", 1, found),)

    def _pass(
        self, candidate: Candidate, chosen: Deployment, *, payer: str, count: int
    ) -> CallPass:
        name = _name(candidate.provider, chosen.name, candidate.model)
        own = (Seat(_own(name, payer)),) if payer else ()
        return CallPass(chosen, (Seat(name, payer), *own), count > 1)

    def _on_trial(self, entry: CallPass, now: float) -> CallPass:
        """Make a call to an open circuit its trial call."""
        seats = tuple(self._seat_on_trial(seat, now) for seat in entry.seats)
        return msgspec.structs.replace(entry, seats=seats)

    def _seat_on_trial(self, seat: Seat, now: float) -> Seat:
        if self._states.get(seat.circuit).open_until is None:
            return seat
        self._change(seat.circuit, lambda one: circuits.on_trial(one, now, trial_s=self._trial_s))
        return msgspec.structs.replace(seat, is_trial=True)

    def _choose(self, members: Sequence[Deployment], tried: frozenset[str]) -> Deployment:
        """Choose by weight among those that were not tried; a weight of 0 is the last resort."""
        if len(members) == 1:
            return members[0]
        fresh = [one for one in members if one.name not in tried] or members
        weighed = [one for one in fresh if one.weight] or fresh
        left = self._draw() * sum(one.weight or 1 for one in weighed)
        for one in weighed:
            left -= one.weight or 1
            if left < 0:
                return one
        return weighed[-1]

    def _is_blocked(self, candidate: Candidate, one: Deployment, *, payer: str, now: float) -> bool:
        found = self._circuits(candidate, one, payer)
        return any(circuits.is_blocked(circuit, now) for circuit in found)

    def _circuits(self, candidate: Candidate, one: Deployment, payer: str) -> tuple[Circuit, ...]:
        """Return everybody's circuit of a deployment, and the payer's own."""
        name = _name(candidate.provider, one.name, candidate.model)
        shared = self._states.get(name)
        return (shared, self._states.get(_own(name, payer))) if payer else (shared,)

    def _cooling_error(
        self, candidate: Candidate, members: Sequence[Deployment], *, payer: str, now: float
    ) -> ProviderCooling:
        free_at = partial(circuits.free_at, now=now, rules=self._rules)
        found = [
            max(
                (
                    circuit
                    for circuit in self._circuits(candidate, one, payer)
                    if circuits.is_blocked(circuit, now)
                ),
                key=free_at,
            )
            for one in members
        ]
        cooling = _cooling(found, now, rules=self._rules)
        return ProviderCooling(
            f"{candidate.provider}:{candidate.model} {cooling.words}",
            max(0.0, cooling.until - now),
            status=cooling.status,
        )

    def _change(self, name: str, change: Callable[[Circuit], Circuit]) -> Circuit:
        """Change a circuit; again if another process was faster."""
        while True:
            old = self._states.get(name)
            new = change(old)
            if new == old or self._states.swap(name, old=old, new=new):
                return new


def _cooling(found: Sequence[Circuit], now: float, *, rules: BreakerSettings) -> CoolingPeriod:
    until, first = min(
        ((circuits.free_at(one, now, rules=rules), one) for one in found), key=itemgetter(0)
    )
    return CoolingPeriod(
        until=until,
        failures=first.failures,
        status=first.status,
        reason=first.reason,
    )


def _name(provider: str, deployment: str, model: str) -> str:
    return f"{provider}/{deployment}:{model}" if deployment else f"{provider}:{model}"


def _own(name: str, payer: str) -> str:
    """Return the name of a payer's own circuit; no person's id has a line break."""
    return f"{payer}\n{name}"


def _owner(name: str) -> tuple[str, str]:
    """Return whose circuit it is (empty: everybody's), and the name of everybody's.

    A model's name may have any character: its circuit begins with the provider, which has no line
    break.
    """
    first, found, rest = name.partition("\n")
    return (first, rest) if found and ":" not in first else ("", name)


def _joined(known: DeploymentState | None, state: DeploymentState) -> DeploymentState:
    """Return one state for several people: of the one who is to wait longest."""
    if known is None:
        return state
    last = max(known, state, key=lambda one: one.open_until or 0.0)
    people = known.people + (state.open_until is not None)
    return msgspec.structs.replace(last, people=max(1, people))


def _parts(name: str) -> tuple[str, str, str]:
    """Return the provider, the deployment and the model of a circuit."""
    place, _, model = name.partition(":")
    provider, _, deployment = place.partition("/")
    return provider, deployment, model
