"""The model layer over the real store and scripted models."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from random import Random

import msgspec

from hermes.app.make_models import ModelLayer, make_model_layer
from hermes.calls.budgets import Payer
from hermes.calls.call_charge import SpendLog
from hermes.calls.deployments import Draw
from hermes.calls.events import CallEvent, FullAnswer
from hermes.calls.model_caller import CallSpec
from hermes.message.chat import user_text
from hermes.message.ids import make_id
from hermes.ports.provider import ModelRequest, Provider, ProviderInfo
from hermes.ports.spend import Account, SpendCounters, SpendEntry
from hermes.ports.store import Store
from hermes.routing.plan import Candidate, Plan
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import Script, ScriptedTurn, answer_by_text
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider
from tests.contract.journal.rig import AS_SHIPPED, settings_of
from tests.stores.opening import open_store

# A dollar for each token read, two for each token written: sums that the eye can check.
PRICES = {
    f"PROVIDERS__{name}__{what}": value
    for name in ("ONE", "TWO", "THREE")
    for what, value in (
        ("BASE_URL", "http://models.example.com/v1"),
        ("API_KEY", "not-a-real-key"),
        ("MODEL", f"{name.lower()}-1"),
        ("PRICE_IN_PER_MILLION", "1000000"),
        ("PRICE_OUT_PER_MILLION", "1000000"),
    )
}


def model(
    name: str, script: Script | list[ScriptedTurn] = answer_by_text, **more: object
) -> ScriptedProvider:
    """Return a scripted model that is a provider of this name."""
    info = msgspec.structs.replace(SCRIPTED_INFO, name=name, model=f"{name}-1", **more)
    assert isinstance(info, ProviderInfo)
    return ScriptedProvider(script, info=info)


async def until_called(one: ScriptedProvider) -> None:
    """Let the loop run until a model was called."""
    async with asyncio.timeout(30):
        while not one.calls:  # noqa: ASYNC110  the call runs in a task of its own
            await asyncio.sleep(0)


def plan_of(*names: str) -> Plan:
    """Return the plan that tries these providers, in order."""
    return Plan(tuple(Candidate(name, f"{name}-1", "test") for name in names))


class Story:
    """What a listener heard of one call."""

    def __init__(self) -> None:
        self.events: list[CallEvent] = []
        self.spent: tuple[SpendEntry, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """The names of the events, in order."""
        return [type(event).__name__ for event in self.events]

    @property
    def answer(self) -> FullAnswer:
        """The answer."""
        last = self.events[-1]
        assert isinstance(last, FullAnswer)
        return last


class CallRig:
    """One model layer."""

    def __init__(self, layer: ModelLayer, store: Store, *, clock: ManualClock) -> None:
        self.layer = layer
        self.store = store
        self.clock = clock

    async def call(
        self,
        text: str | ModelRequest,
        *names: str,
        story: Story | None = None,
        payer: Payer | None = None,
        **spec: object,
    ) -> Story:
        """Run one call to its end and return what was heard; it is heard also when it fails."""
        story = story or Story()
        request = text if isinstance(text, ModelRequest) else ask(text)
        receipt = SpendLog()
        wanted = CallSpec(
            call_id=make_id("v"),
            request=request,
            payer=payer or payer_for("ann"),
            **spec,  # type: ignore[arg-type]
        )
        run = self.layer.calls.run(wanted, plan_of(*names), receipt=receipt)
        try:
            async with aclosing(run) as events:
                async for event in events:
                    story.events.append(event)
        finally:
            story.spent = receipt.take()
        return story


def ask(text: str, **more: object) -> ModelRequest:
    """Return a request that asks one thing."""
    return ModelRequest(model="", messages=(user_text(text),), **more)  # type: ignore[arg-type]


def payer_for(person: str, **more: object) -> Payer:
    """Return a person's purse."""
    return Payer(account=Account(person_id=person, agent="main", channel="rest"), **more)  # type: ignore[arg-type]


@asynccontextmanager
async def open_calls(
    home: Path,
    *models: Provider,
    settings: Mapping[str, str] | None = None,
    clock: ManualClock | None = None,
    counter: SpendCounters | None = None,
    draw: Draw | None = None,
) -> AsyncIterator[CallRig]:
    """Open the model layer on the database in `home`."""
    clock = clock or ManualClock()
    store = await open_store(home, clock=clock, options=AS_SHIPPED)
    await store.fleet.join(make_id("n"))
    layer = make_model_layer(
        store,
        settings_of(home, {**PRICES, "TIME_ZONE": "UTC", **(settings or {})}),
        providers={one.info.name: one for one in models},
        clock=clock,
        counter=counter,
        draw=draw or Random(1).random,
    )
    try:
        yield CallRig(layer, store, clock=clock)
    finally:
        await layer.ledger.close()
        await store.close()
