"""A gateway process for tests of the command line: the real server, instance and REST channel in
front of the in-memory door, and a real store for keys and money. Run it with a home folder; it
prints `ready` once it answers.

What is said decides: `slow` stands still after a first piece until it is stopped, `loud` answers
in Markdown, `fail` fails, `odd` holds terminal control codes, everything else is echoed.
"""

import asyncio
import os
import signal
import sys
from functools import partial
from pathlib import Path

from hermes import __version__
from hermes.app.make_courier import make_send_operations
from hermes.app.make_schedule import make_cron_operations, make_schedules
from hermes.calls.days import Calendar
from hermes.channels.rest.channel import RestChannel, RestSettings
from hermes.config import Settings, load
from hermes.control.audited import audited_for
from hermes.control.hooks import HooksReport
from hermes.control.mcp import McpOperations
from hermes.control.models import ModelsReport, RouteReport, models_report, route_report
from hermes.control.operations import Operations
from hermes.control.runtime import ReloadReport, RuntimeHandles
from hermes.control.status import ChannelStatus, ProviderStatus, StatusReport, StoreStatus
from hermes.control.tokens import SignInLink, SignInLinkOrder
from hermes.control.why import WhyAsk, WhyReport, WhySummary, WhyText
from hermes.control.why_call import CallStory, CallTry, WhyKey
from hermes.errors import NotFound, ProviderUnavailable
from hermes.http.same_origin import Origins
from hermes.message.ids import make_id
from hermes.message.reply import Usage
from hermes.ops.instance import GatewayAddress, acquire
from hermes.ports.access import Role
from hermes.ports.channel import Capabilities
from hermes.ports.clock import SystemClock
from hermes.ports.dreams import Dream
from hermes.ports.provider import ProviderInfo
from hermes.ports.spend import Account, KillSwitch, SpendEntry
from hermes.ports.store import Store
from hermes.routing.plan import CallNeeds, ProviderOffer
from hermes.server.app import build_app
from hermes.server.auth import StoredAccess
from hermes.server.control_routes import ControlGate, control_routes
from hermes.server.listen import HttpServer, ServeSettings, address_of, bind
from hermes.testing.access import MemoryAccessStore
from hermes.testing.gateway_api import Hold, MemoryGatewayApi, Note, Script
from hermes.tools.mcp.servers import McpServers
from tests.stores.opening import open_store

TOKEN = "local-token-of-the-stand-in-gateway"


def a_script() -> Script:
    script = Script()
    script.on("slow", "one moment", Hold(), "never reached")
    script.on("loud", Note("status", "loading the model"), "# Title\n\n", "some **bold** text")
    script.on("fail", ProviderUnavailable("no model is there"))
    script.on("odd", "before \x1b]0;taken over\x07 after")
    script.on("tool", Note("tool", "search"), "found it")
    return script


def a_status(home: Path, address: str) -> StatusReport:
    return StatusReport(
        running=True,
        state="connected",
        home=str(home),
        version=__version__,
        pid=os.getpid(),
        address=address,
        uptime_s=61.0,
        waiting_messages=2,
        running_turns=1,
        kill_switch=KillSwitch(is_on=True, at=1_700_000_000.0, by="olga", reason="a test\x1b[2J"),
        store=StoreStatus(
            writable=False, problem="the disk is full", details={"bytes": 12_345, "messages": {}}
        ),
        providers=(
            ProviderStatus(name="local", model="smollm2", available=True, demonstration=True),
        ),
        channels=(ChannelStatus(name="rest", state="connected"),),
    )


def the_offers() -> list[ProviderOffer]:
    """What this gateway knows and the command's own configuration does not."""
    info = ProviderInfo(
        name="far\x1b[2J", model="away-1", tools=True, vision=False, context_tokens=64_000
    )
    return [ProviderOffer(info, available=True)]


def a_story(name: str, *, include_text: bool) -> WhyReport:
    if name == "m_unknown":
        raise NotFound("No message is known as 'm_unknown'.")
    if name == "v_1":
        return a_call(name)
    return WhyReport(
        asked=name,
        kind="message",
        id="m_1",
        answer="Answered after 1.2 s by local:smollm2; 1 credit captured; delivered to rest.",
        platform="rest",
        external_id="x\x1b[2J",
        deployment="west\x1b[2J",
        summary=WhySummary(messages=12, is_summary=True),
        text=WhyText(message="hello", reply="world") if include_text else None,
    )


def a_call(name: str) -> WhyReport:
    tries = (
        CallTry(
            model="a:one",
            rule="tier pro, 1 of 2",
            problem="provider_timeout",
            status=504,
            deployment="east",
        ),
        CallTry(model="b:two\x1b[2J", rule="tier pro, 2 of 2", deployment="north"),
    )
    return WhyReport(
        asked=name,
        kind="call",
        id=name,
        answer="Answered after 1.2 s by b:two; 1 try failed.",
        platform="v1",
        accepted_at=1_700_000_000.0,
        model="b:two",
        deployment="north",
        usage=Usage(12, 3, unpriced=15),
        key=WhyKey(id="k_1", user="ann", label="build", hint="x7Qz"),
        call=CallStory(wanted="auto", outcome="answered", ms=1_200, key="k_1", attempts=tries),
    )


async def a_ledger(folder: Path) -> Store:
    """A store in which two models were called today: one has a price, the other has none."""
    store = await open_store(folder, clock=SystemClock())
    day = Calendar("UTC").day(SystemClock().now())
    account = Account(person_id="p_1", agent="main", channel="rest")
    priced = Usage(1_200, 34, cost_usd=0.25)
    unpriced = Usage(7, 3, unpriced=10)
    await store.spend.add(
        [
            SpendEntry(day=day, account=account, model="a:one", usage=priced),
            SpendEntry(
                day=day, account=account, model="b:odd\x1b[2J", usage=unpriced, assumed_usd=0.5
            ),
        ]
    )
    return store


class ToldOperations(Operations):
    """Operations that tell made-up stories of messages."""

    async def why(self, ask: WhyAsk, *, role: Role = "viewer") -> WhyReport:
        return a_story(ask.id, include_text=False)

    async def why_in_full(self, ask: WhyAsk) -> WhyReport:
        return a_story(ask.id, include_text=True)


async def main(home: Path) -> int:
    clock = SystemClock()
    instance = acquire(home)
    listener = bind("127.0.0.1", 0)
    address = address_of(listener)
    access = StoredAccess(MemoryAccessStore(), clock=clock, local_token=TOKEN)
    gateway_api = MemoryGatewayApi(
        a_script(), access=access, clock=clock, make_id=make_id, model="stand-in"
    )
    origins = Origins(bound_host="127.0.0.1")

    ledger = home / "ledger"
    ledger.mkdir(exist_ok=True)
    store = await a_ledger(ledger)

    async def dream_now(person_id: str) -> Dream | None:
        job = await store.dreams.begin(person_id, at=clock.now())
        made = Dream(at=clock.now(), insights=("runs\x1b[2J at dawn",), gaps=("how far",))
        await store.dreams.finish(job, made, covered=0, seen=(), spent=())
        return await store.dreams.of(person_id)

    again = partial(load, {}, home)
    mcp = McpOperations(McpServers(Settings().mcp, clock=clock), again(), reread=again)

    async def status() -> StatusReport:
        return a_status(home, address)

    async def models() -> ModelsReport:
        return models_report(Settings(), the_offers())

    async def route(ask: CallNeeds) -> RouteReport:
        return route_report(ask, the_offers(), settings=Settings())

    async def reload() -> ReloadReport:
        return ReloadReport()

    async def hooks() -> HooksReport:
        return HooksReport(running=True)

    async def link(_wish: SignInLinkOrder, _maker: str) -> SignInLink:
        return SignInLink(link=f"{address}/signin?code={await access.make_signin_code()}")

    operations = ToldOperations(
        store,
        calendar=Calendar("UTC"),
        clock=clock,
        make_id=make_id,
        address="http://far.example",
        dream_now=dream_now,
        sends=make_send_operations(
            store, Settings(time_zone="UTC"), home=home, clock=clock, make_id=make_id
        ),
        cron=make_cron_operations(
            store,
            Settings(time_zone="UTC"),
            make_schedules(store, Settings(time_zone="UTC"), clock=clock, make_id=make_id),
        ),
        handles=RuntimeHandles(
            status=status,
            models=models,
            route=route,
            reload=reload,
            hooks=hooks,
            link=link,
            mcp_status=mcp.status,
            mcp_reload=mcp.reload,
        ),
    )
    gate = ControlGate(
        gateway_api, audited_for(store, clock=clock, make_id=make_id), origins=origins
    )
    rest = RestChannel(
        RestSettings(),
        capabilities=Capabilities(delivery="pull"),
        origins=origins,
        clock=clock,
        make_id=make_id,
    )
    app = build_app(
        gateway_api,
        channels=[rest],
        webhooks={},
        control=control_routes(gate, operations),
        ready=lambda: (),
        origins=origins,
        make_id=make_id,
    )
    server = HttpServer(app, listener, settings=ServeSettings(stop_s=1.0))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
    serving = asyncio.create_task(server.serve())
    await server.wait_started()
    instance.publish(
        GatewayAddress(
            host="127.0.0.1",
            port=listener.getsockname()[1],
            token=TOKEN,
            version=__version__,
            started_at=clock.now(),
        )
    )
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await serving
    await gateway_api.close()
    await store.close()
    code = 0 if instance.take_planned_stop(clock.now()) else 75
    instance.release()
    return code


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
