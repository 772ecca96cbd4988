"""`answer_command` alone: which messages are commands of the lane, and who may use them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import pytest

from hermes.message.event import MessageEvent
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.message.source import Source
from hermes.pipeline.commands.plugin_commands import run_plugged
from hermes.pipeline.stages.answer_command import command_stage
from hermes.pipeline.turn import Turn
from hermes.ports.command import ChatCommand, CommandCall
from hermes.sessions.commands import CommandBook, CommandSpec, TypedCommand
from hermes.tools.mcp.chat_offers import ChatOffers
from tests.unit.calls.test_stream_timeout import pass_by, run
from tests.unit.pipeline.stage_parts import Context, make_event, make_turn


@dataclass(frozen=True)
class Access:
    allowed: bool = True

    def may_use(self, command: str, source: Source, *, admins: bool = False) -> bool:
        return self.allowed


@dataclass(frozen=True)
class Hooks:
    reply: Reply | None = None

    async def refusal(self, written: TypedCommand, turn: Turn, /) -> Reply | None:
        return self.reply


class Weather:
    """A plugin's command."""

    name = "weather"
    about = "the weather"
    use = "PLACE"
    beside = False

    async def run(self, call: CommandCall) -> str:
        if not call.argument:
            raise ValueError("no place")
        return f"sunny in {call.argument}"


@dataclass(frozen=True)
class Services:
    reception: Access = Access()
    hooks: Hooks | None = None
    plugged: Mapping[str, ChatCommand] = field(default_factory=lambda: {"weather": Weather()})
    commands: CommandBook = field(
        default_factory=lambda: CommandBook((CommandSpec(name="weather", about="the weather"),))
    )
    mcp: ChatOffers | None = None


async def _credits(turn: Turn, ctx: Context[Services], argument: str) -> Turn | Reply:
    return Reply(parts=(TextPart(f"credits of {turn.person_id} {argument}".strip()),))


async def _retry(turn: Turn, ctx: Context[Services], argument: str) -> Turn | Reply:
    return msgspec.structs.replace(turn, retry=1)


answer = command_stage({"credits": _credits, "retry": _retry})


@pytest.mark.req("W18")
async def test_a_command_is_answered_and_ends_the_turn() -> None:
    ctx = Context(Services())

    reply = await answer(make_turn(make_event("/credits ABC")), ctx)

    assert isinstance(reply, Reply)
    assert reply.text == "credits of p_ann ABC"
    assert ctx.journal.notes == [("command", {"name": "credits"})]


@pytest.mark.parametrize(
    "event",
    [
        make_event("hello"),
        make_event("/home/ann is my folder"),
        make_event("/nobody-knows-this"),
        make_event("/stop"),
        make_event("/credits", internal=True),
        make_event(""),
    ],
    ids=["words", "a-path", "unknown", "beside-the-lane", "a-subagents", "nothing"],
)
async def test_every_other_message_goes_on_untouched(event: MessageEvent) -> None:
    ctx = Context(Services())
    turn = make_turn(event)

    assert await answer(turn, ctx) is turn
    assert ctx.journal.notes == []


@pytest.mark.req("W18")
async def test_a_command_may_send_the_turn_on_to_the_model() -> None:
    turn = await answer(make_turn(make_event("/retry")), Context(Services()))

    assert isinstance(turn, Turn)
    assert turn.retry == 1


@pytest.mark.req("W32")
async def test_who_may_not_use_a_command_is_told_so_and_it_does_not_run() -> None:
    services = Services(reception=Access(allowed=False))

    reply = await answer(make_turn(make_event("/credits")), Context(services))

    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.code) == (Outcome.REFUSED, "forbidden")
    assert reply.text == "You may not use /credits here. /help lists what you may."


@pytest.mark.req("W36")
async def test_a_hook_can_refuse_what_the_settings_allow() -> None:
    refusal = Reply(parts=(TextPart("not today"),), outcome=Outcome.REFUSED)
    event = make_event("/credits")

    refused = await answer(make_turn(event), Context(Services(hooks=Hooks(refusal))))
    allowed = await answer(make_turn(event), Context(Services(hooks=Hooks())))

    assert refused is refusal
    assert isinstance(allowed, Reply)
    assert allowed.text == "credits of p_ann"


@pytest.mark.req("W18")
async def test_a_plugins_command_answers_and_its_fault_ends_the_command_alone() -> None:
    good = await answer(make_turn(make_event("/weather Rome")), Context(Services()))
    bad = await answer(make_turn(make_event("/weather")), Context(Services()))

    assert isinstance(good, Reply)
    assert isinstance(bad, Reply)
    assert good.text == "sunny in Rome"
    assert bad.text.startswith("/weather failed.")


class Endless(Weather):
    """A plugin's command that comes to no end."""

    async def run(self, call: CommandCall) -> str:
        await asyncio.Event().wait()
        return "too late"


@pytest.mark.req("W18")
@pytest.mark.parametrize(("beside", "limit_s"), [(False, 30), (True, 5)])
def test_a_command_of_a_plugin_that_takes_too_long_is_given_up(
    beside: bool, limit_s: float
) -> None:
    spec = CommandSpec(name="weather", about="the weather", beside=beside)

    async def story() -> None:
        written = TypedCommand("weather", "Oslo", spec)
        services = Services(plugged={"weather": Endless()})
        running = asyncio.create_task(run_plugged(written, make_turn(), services))
        await pass_by(0)
        await pass_by(limit_s - 1)
        assert not running.done()
        await pass_by(1)
        assert running.done()
        assert await running == f"/weather took longer than {limit_s} s, so I gave up on it."

    run(story)
