"""What background jobs use, and how they call a model: on the platform's account."""

from contextlib import aclosing

import msgspec

from hermes.calls.budgets import Payer
from hermes.calls.call_charge import SpendLog
from hermes.calls.events import FullAnswer
from hermes.calls.model_caller import CallSpec, ModelCaller
from hermes.calls.planner import Planner
from hermes.config import Settings
from hermes.errors import NoSummaryModel, ProviderRejected, ProviderUnavailable
from hermes.memory.facts import PeoplesFacts
from hermes.message.ids import MakeId
from hermes.message.parts import text_of
from hermes.ports.clock import Clock
from hermes.ports.compaction import CompactionStore
from hermes.ports.dreams import DreamStore
from hermes.ports.memory import JobStore
from hermes.ports.provider import Capability, ModelRequest
from hermes.ports.spend import PLATFORM, Account
from hermes.routing.fitness import AT_HOME
from hermes.routing.plan import CallNeeds, Plan


class JobServices(msgspec.Struct, frozen=True, kw_only=True):
    """The services that background jobs use."""

    jobs: JobStore
    dreams: DreamStore
    compactions: CompactionStore
    facts: PeoplesFacts
    planner: Planner
    calls: ModelCaller
    settings: Settings
    clock: Clock
    make_id: MakeId


async def plan_job(shop: JobServices, model: str | None, *, capability: Capability) -> Plan:
    """Return the plan of a job's call: by `model`, else the summary model, else what routing allows.

    Raises `NoSummaryModel` if a model could answer, and the settings keep summaries from it.
    """
    models = shop.settings.models
    named = model or models.summaries
    ask = CallNeeds(
        model=named,
        default_model=shop.planner.default_model or models.default,
        capability=capability,
    )
    try:
        return await shop.planner.plan(ask)
    except ProviderUnavailable as error:
        if named is None and capability in AT_HOME and await _could_answer(shop, ask):
            raise NoSummaryModel(str(error)) from error
        raise


async def _could_answer(shop: JobServices, ask: CallNeeds) -> bool:
    """Return whether a model would answer if this were no summary."""
    try:
        await shop.planner.plan(msgspec.structs.replace(ask, capability="chat"))
    except ProviderUnavailable:
        return False
    return True


async def ask_model(
    shop: JobServices,
    request: ModelRequest,
    *,
    kind: str,
    model: str | None,
    receipt: SpendLog,
    capability: Capability = "summarization",
) -> str:
    """Return a model's answer for a job of this kind, under the cap and the kill switch."""
    plan = await plan_job(shop, model, capability=capability)
    text, _ = await answer_of(shop, request, plan=plan, kind=kind, receipt=receipt)
    return text


async def answer_of(
    shop: JobServices, request: ModelRequest, *, plan: Plan, kind: str, receipt: SpendLog
) -> tuple[str, str]:
    """Return the answer by a plan for a job of this kind, and the model that gave it."""
    payer = Payer(account=Account(person_id=PLATFORM, channel=kind))
    spec = CallSpec(
        call_id=shop.make_id("c"), request=request, payer=payer, whole=True, hedges=True
    )
    async with aclosing(shop.calls.run(spec, plan, receipt=receipt)) as events:
        async for event in events:
            if isinstance(event, FullAnswer):
                return text_of(event.end.parts), f"{event.candidate.provider}:{event.end.model}"
    raise ProviderRejected(f"the model of the job {kind!r} gave no answer")
