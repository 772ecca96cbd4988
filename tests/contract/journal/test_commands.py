"""W18, J6: the chat commands, as a person meets them while a turn runs and while none does."""

from pathlib import Path

import pytest

from hermes.ports.command import CommandCall
from tests.contract.journal.rig import Rig, RunTool, open_rig

GATED = {
    "ACCESS__PLATFORMS__REST__COMMANDS__DM__ADMINS": '["root"]',
    "ACCESS__PLATFORMS__REST__COMMANDS__DM__ALLOWED": '["stop"]',
}


class Weather:
    """A plugin's command."""

    name, about, use = "weather", "how it is outside", "PLACE"

    def __init__(self, *, beside: bool = True, fails: bool = False) -> None:
        self.beside = beside
        self.fails = fails
        self.calls: list[CommandCall] = []

    async def run(self, call: CommandCall) -> str:
        self.calls.append(call)
        if self.fails:
            raise RuntimeError("no satellite")
        return f"It rains in {call.argument}."


async def busy(rig: Rig) -> str:
    """Start a turn that does not end by itself."""
    message_id = await rig.say("[[hang]]")
    await rig.until(lambda: bool(rig.model.calls))
    return message_id


@pytest.mark.req("W18")
async def test_help_lists_what_one_may_use_and_explains_each(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        listed = await rig.answer("/help")
        one = await rig.answer("/help schedule")
        none = await rig.answer("/help sotp")

    assert all(f"/{name}:" in listed for name in ("new", "stop", "model", "schedule", "memory"))
    assert "/schedule [WHEN: WHAT" in one
    assert "/schedule every weekday at 9" in one
    assert "Did you mean /stop?" in none


@pytest.mark.req("W18", "W32")
async def test_where_commands_are_restricted_help_shows_only_ones_own(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=GATED) as rig:
        listed = await rig.answer("/help")
        refused = await rig.say("/new")
        await rig.outcome(refused)

        assert "/stop:" in listed
        assert "/new:" not in listed
        assert (await rig.store.inbox.get(refused)).outcome == "refused"  # type: ignore[union-attr]
        assert "/new:" in await rig.answer("/help", chat="root")


@pytest.mark.req("W18", "J6")
async def test_an_unknown_command_is_told_the_nearest_while_a_turn_runs(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await busy(rig)

        said = await rig.answer("/sttop")

        assert (
            said
            == "I do not know the command /sttop. Did you mean /stop? /help lists the commands."
        )
        assert len(rig.model.calls) == 1


@pytest.mark.req("W18", "J6")
@pytest.mark.parametrize("command", ["/help", "/whoami", "/status", "/usage", "/memory", "/queue"])
async def test_a_command_that_only_tells_is_answered_while_a_turn_runs(
    tmp_path: Path, command: str
) -> None:
    async with open_rig(tmp_path) as rig:
        running = await busy(rig)

        assert await rig.answer(command)
        assert (await rig.store.inbox.get(running)).state == "running"  # type: ignore[union-attr]


@pytest.mark.req("W18")
async def test_queue_waits_its_turn_and_interrupts_nobody(tmp_path: Path) -> None:
    settings = {"BUSY__PLATFORMS__REST": "interrupt"}
    async with open_rig(tmp_path, settings=settings) as rig:
        running = await busy(rig)
        queued = [await rig.say(f"/queue number {n}") for n in range(3)]
        waiting = await rig.answer("/queue")
        assert waiting == "1. number 0\n2. number 1\n3. number 2"

        await rig.answer("/stop")
        assert await rig.outcome(running) == "interrupted"
        assert [await rig.outcome(one) for one in queued] == ["answered"] * 3

        asked = [call.request.messages[-1].text for call in rig.model.calls]
        assert asked == ["[[hang]]", "number 0", "number 1", "number 2"]
        assert (await rig.answer("/queue")).startswith("Nothing is waiting.")


@pytest.mark.req("W18", "J13")
async def test_steer_joins_the_running_turn(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(RunTool("look"),)) as rig:
        first = await rig.say("[[tool:look]] go")
        second = await rig.say("/steer keep it short")
        outcomes = {await rig.outcome(first), await rig.outcome(second)}

        assert outcomes <= {"answered", "merged"}
        said = [m.text for call in rig.model.calls for m in call.request.messages]
        assert "keep it short" in said
        assert not any("/steer" in text for text in said)
        assert (await rig.answer("/steer")).startswith("Write /steer")


@pytest.mark.req("W18", "W20")
async def test_usage_counts_what_the_conversation_took_until_it_starts_afresh(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        assert "nothing yet" in await rig.answer("/usage")
        for _ in range(3):
            await rig.answer("hello")
        await rig.answer("/model")
        told = await rig.answer("/usage")
        known = await rig.store.sessions.usage(rig.lane())

        assert told.startswith("3 messages")
        assert known.turns == 3
        assert known.usage.tokens_in > 0
        assert known.usage.tokens_out > 0
        await rig.answer("/new")
        assert "nothing yet" in await rig.answer("/usage")


@pytest.mark.req("W18", "P1")
async def test_a_chosen_model_answers_until_the_conversation_starts_afresh(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        assert "scripted:scripted-1" in await rig.answer("/model")
        wrong = await rig.say("/model nobody:none")
        await rig.outcome(wrong)
        assert (await rig.store.inbox.get(wrong)).outcome == "refused"  # type: ignore[union-attr]
        assert "answers here" in await rig.answer("/model scripted:scripted-1")

        assert (await rig.store.turns.view(rig.lane())).choices.model == "scripted:scripted-1"
        assert "Model: scripted:scripted-1." in await rig.answer("/status")
        await rig.answer("hello")
        await rig.answer("/new")
        assert (await rig.store.turns.view(rig.lane())).choices.model is None


@pytest.mark.req("W18")
async def test_reasoning_reaches_the_model_from_the_next_message_on(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("one")
        assert "high" in await rig.answer("/reasoning HIGH")
        await rig.answer("two")
        assert "use low, medium" in await rig.answer("/reasoning extreme")
        await rig.answer("/reasoning off")
        await rig.answer("three")

        assert [call.request.reasoning for call in rig.model.calls] == [None, "high", None]


@pytest.mark.req("W18", "J10")
async def test_a_choice_outlives_a_restart(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("/reasoning low")
    async with open_rig(tmp_path) as rig:
        await rig.answer("hello")

        assert rig.model.calls[-1].request.reasoning == "low"


@pytest.mark.req("W18")
async def test_stop_may_end_the_conversation_too(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={"BUSY__STOP_SUSPENDS": "true"}) as rig:
        await rig.answer("my cat is Tom")
        running = await rig.say("[[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 2)
        assert "starts a new conversation" in await rig.answer("/stop")
        assert await rig.outcome(running) == "interrupted"

        after = await rig.say("hello")
        await rig.outcome(after)
        result = await rig.store.inbox.result(after)
        assert result is not None
        assert "You stopped me" in result.notices[0]
        assert [m.text for m in rig.model.calls[-1].request.messages] == ["hello"]


@pytest.mark.req("W18")
@pytest.mark.parametrize("beside", [True, False])
async def test_a_plugin_s_command_is_one_like_any_other(tmp_path: Path, beside: bool) -> None:
    weather = Weather(beside=beside)
    async with open_rig(tmp_path, plugged=(weather,)) as rig:
        assert "/weather: how it is outside" in await rig.answer("/help")
        assert await rig.answer("/weather Oslo") == "It rains in Oslo."

        assert not rig.model.calls
        (call,) = weather.calls
        assert (call.session, call.source.user_id) == (rig.lane(), "ann")


@pytest.mark.req("W18")
async def test_a_plugin_s_command_that_fails_ends_alone(tmp_path: Path) -> None:
    async with open_rig(tmp_path, plugged=(Weather(fails=True),)) as rig:
        assert "/weather failed" in await rig.answer("/weather Oslo")
        assert (await rig.answer("hello")).endswith("hello")


@pytest.mark.req("W18", "J1")
async def test_the_same_queued_message_twice_is_one(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        first = await rig.say("/queue hello", name="x1")
        again = await rig.say("/queue hello", name="x1")
        await rig.outcome(first)

        assert first == again
        # A second turn would have come before this one.
        await rig.answer("bye")
        assert [call.request.messages[-1].text for call in rig.model.calls] == ["hello", "bye"]
