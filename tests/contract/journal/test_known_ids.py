"""Which ids and names others learn: viewers those that they name, and the owner's shell all."""

from pathlib import Path

import msgspec
import pytest

from hermes.app.make_agents import make_agent_operations
from hermes.calls.days import Calendar
from hermes.config import Settings
from hermes.control.audited import Operator, audited_for
from hermes.control.ids import IdsAsk
from hermes.control.models import ModelsReport, models_report
from hermes.control.operations import Operations
from hermes.control.order import Actor
from hermes.control.orders import MESSAGES_READ, MESSAGES_WHY
from hermes.control.runtime import RuntimeHandles
from hermes.control.why import WhyAsk
from hermes.errors import BadRequest, Forbidden
from hermes.message.ids import make_id
from hermes.ports.access import Role
from hermes.routing.plan import ProviderOffer
from hermes.testing.scripted_model import SCRIPTED_INFO
from tests.contract.journal.rig import Rig, open_rig


def desk_of(rig: Rig, role: Role) -> Operator:
    operations = Operations(
        rig.store,
        calendar=Calendar("UTC"),
        clock=rig.clock,
        make_id=make_id,
        address="http://127.0.0.1",
    )
    audited = audited_for(rig.store, clock=rig.clock, make_id=make_id)
    return Operator(operations, Actor("token", "t_1", role), audited=audited)


@pytest.mark.req("W7")
async def test_viewers_are_not_told_the_ids_that_an_ambiguous_part_fits(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        ids = [await rig.say("hello"), await rig.say("again")]
        for one in ids:
            await rig.outcome(one)
        part, ask = ids[0][:4], WhyAsk(id=ids[0][:4])
        viewer, operator = desk_of(rig, "viewer"), desk_of(rig, "operator")

        with pytest.raises(BadRequest) as refused:
            await viewer.give(MESSAGES_WHY, ask)
        with pytest.raises(BadRequest, match=f"several ids: {ids[1]}, {ids[0]}"):
            await operator.give(MESSAGES_WHY, ask)
        with pytest.raises(BadRequest, match=f"several ids: {ids[1]}, {ids[0]}"):
            await operator.give(MESSAGES_READ, ask)
        with pytest.raises(Forbidden):
            await viewer.give(MESSAGES_READ, ask)

        assert str(refused.value) == (
            f"{part!r} is short for several ids. Write more of the one you mean."
        )
        assert (await viewer.give(MESSAGES_WHY, WhyAsk(id=ids[0][-6:]))).id == ids[0]


@pytest.mark.req("W1", "W7")
async def test_shells_get_the_names_of_agents_and_models_and_what_waits(tmp_path: Path) -> None:
    async def models() -> ModelsReport:
        infos = [msgspec.structs.replace(SCRIPTED_INFO, name=name) for name in ("house", "far")]
        offers = [ProviderOffer(info, available=True) for info in infos]
        return models_report(Settings(), offers)

    async with open_rig(tmp_path) as rig:
        operations = Operations(
            rig.store,
            calendar=Calendar("UTC"),
            clock=rig.clock,
            make_id=make_id,
            address="http://127.0.0.1",
            agents=make_agent_operations(rig.store, Settings(), clock=rig.clock, make_id=make_id),
            handles=RuntimeHandles(models=models),
        )

        async def found(kinds: str, part: str = "") -> tuple[str, ...]:
            return (await operations.ids.find(IdsAsk(kinds=kinds, part=part))).ids

        model = f"house:{SCRIPTED_INFO.model}"
        assert await found("agent", "ma") == ("main",)
        assert await found("model", "house") == (model,)
        assert await found("agent,model", "nothing") == ()
        assert await found("approval,answer,session,token") == ()
        with pytest.raises(BadRequest, match="'agents' is not a kind of id: expected message, "):
            await found("agents")
