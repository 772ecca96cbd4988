"""A5 to A8 with a wallet: what cannot be paid for is never run, and no credit is spent twice."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes.control.why import explain
from hermes.ports.wallet import NewGrant, Wallet
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, equals, open_rig

DAY_S = 86_400.0


def wallet_of(start: int, **more: str) -> Mapping[str, str]:
    return {"CREDITS__POLICY": "wallet", "CREDITS__START_GRANT": str(start), **more}


async def ledger(rig: Rig, message_id: str) -> list[tuple[str, int]]:
    return [(line["kind"], line["amount"]) for line in (await rig.timeline(message_id)).ledger]


async def outcome(rig: Rig, message_id: str) -> str | None:
    message = (await rig.timeline(message_id)).message
    return None if message is None or message.outcome is None else message.outcome.value


async def error_code(rig: Rig, message_id: str) -> str | None:
    result = await rig.store.inbox.result(message_id)
    return None if result is None else result.code


async def wallet(rig: Rig, user: str = "ann") -> Wallet:
    person = await rig.store.people.find("rest", user)
    assert person is not None
    found = await rig.store.wallets.get(person.id)
    assert found is not None
    return found


async def said(rig: Rig, text: str, *, chat: str = "ann", user: str | None = None) -> str:
    """Say something and return the message once it has ended."""
    message_id = await rig.say(text, chat=chat, user=user)
    await rig.outcome(message_id)
    return message_id


async def check_books(rig: Rig) -> None:
    audit = await rig.store.wallets.audit(limit=10)
    assert audit.differences == ()


def code_of(found: Wallet) -> str:
    assert found.code is not None
    return f"{found.code[:5]}-{found.code[5:]}"


@pytest.mark.req("A5", "A8", "J10", "J11")
async def test_100_messages_at_once_spend_10_credits_on_10_answers(tmp_path: Path) -> None:
    settings = wallet_of(10, INBOX__MAX_WAITING_EACH="100")
    async with open_rig(tmp_path, settings=settings) as rig:
        chats = [f"chat{number}" for number in range(100)]

        messages = await asyncio.gather(
            *(rig.say("hello", chat=chat, user="ann") for chat in chats)
        )
        outcomes = Counter([await rig.outcome(message_id) for message_id in messages])

        assert outcomes == {"answered": 10, "refused": 90}
        assert len(rig.model.calls) == 10
        results = [await rig.store.inbox.result(message_id) for message_id in messages]
        told = [result for result in results if result is not None and result.code == "no_credits"]
        assert len(told) == 90
        assert all([code_of(await wallet(rig)) in result.text for result in told])
        lines = Counter([str(await ledger(rig, message_id)) for message_id in messages])
        assert lines == {"[('capture', -1)]": 10, "[]": 90}
        assert ((await wallet(rig)).balance, (await wallet(rig)).held) == (0, 0)
        await check_books(rig)


@pytest.mark.req("A5", "J11")
async def test_holds_of_running_turns_are_as_good_as_spent(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=wallet_of(2)) as rig:
        running = [await rig.say("[[hang]]", chat=chat, user="ann") for chat in ("one", "two")]
        await rig.until(lambda: len(rig.model.calls) == 2)

        refused = await said(rig, "hello", chat="three", user="ann")

        assert ((await wallet(rig)).balance, (await wallet(rig)).held) == (0, 2)
        assert await outcome(rig, refused) == "refused"
        assert [await ledger(rig, message_id) for message_id in running] == [[("hold", 1)]] * 2
        await check_books(rig)


@pytest.mark.req("A6", "A5", "J11")
async def test_a6_a_failed_model_call_gives_the_credit_back(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=wallet_of(1)) as rig:
        failed = await said(rig, "[[fail:503]]")
        assert (await ledger(rig, failed), (await wallet(rig)).balance) == ([], 1)

        answered = await said(rig, "hello")

        assert (await ledger(rig, answered), (await wallet(rig)).balance) == ([("capture", -1)], 0)
        await check_books(rig)


@pytest.mark.req("A6", "A8")
async def test_a_model_that_nobody_can_reach_is_told_of_without_a_credit(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=wallet_of(0)) as rig:
        rig.model.is_available = False
        failed = await said(rig, "hello")

        assert await outcome(rig, failed) == "failed"
        assert (await ledger(rig, failed), (await wallet(rig)).balance) == ([], 0)


@pytest.mark.req("A7", "A5", "J11")
async def test_a7_tool_output_without_a_last_word_is_paid_for(tmp_path: Path) -> None:
    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.tool_results:
            return ScriptedTurn(fault="status", status=500)
        return ScriptedTurn(tools=(ToolUse("look"),))

    async with open_rig(
        tmp_path, script=script, tools=(RunTool("look"),), settings=wallet_of(5)
    ) as rig:
        message_id = await said(rig, "look it up")

        assert await ledger(rig, message_id) == [("capture", -1)]
        assert (await wallet(rig)).balance == 4
        await check_books(rig)


@pytest.mark.req("A5", "A8", "J10")
async def test_a_refused_message_says_why_and_leaves_no_words_behind(tmp_path: Path) -> None:
    settings = wallet_of(
        0, CREDITS__UPGRADE_MESSAGE="Pay {price}, have {balance}: {referral_code}!"
    )
    async with open_rig(tmp_path, settings=settings) as rig:
        message_id = await said(rig, "hello")

        story = await explain(rig.store, message_id, now=rig.clock.now())
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert result.text == f"Pay 1, have 0: {code_of(await wallet(rig))}!"
        assert story.answer.startswith("Refused after ")
        assert (
            "because no credits are left for it: it costs 1, the balance is 0; nothing was charged"
        ) in story.answer
        assert await rig.kinds(message_id) == ["routed", "no_credits", "ended"]
        assert (await rig.store.transcripts.history(rig.lane(), epoch=0, head=9)).messages == ()
        assert rig.model.calls == []


@pytest.mark.req("A5", "A8")
async def test_the_upgrade_message_is_sent_where_replies_are_sent(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=wallet_of(0)) as rig:
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)
        await rig.until(equals(rig.store.outbox.waiting, 0))

        assert len(rig.push.texts("ann")) == 1
        assert "Your referral code is" in rig.push.texts("ann")[0]


@pytest.mark.req("A5", "J11")
async def test_the_start_grant_comes_once_over_restarts_and_settings(tmp_path: Path) -> None:
    clock = ManualClock()
    for start in (3, 3, 50):
        async with open_rig(tmp_path, clock=clock, settings=wallet_of(start)) as rig:
            await said(rig, "hello")
            await check_books(rig)

    async with open_rig(tmp_path, clock=clock, settings=wallet_of(3)) as rig:
        refused = await said(rig, "hello")

        assert await outcome(rig, refused) == "refused"
        lines = await rig.store.wallets.lines((await wallet(rig)).person_id, limit=9)
        assert [(line.kind, line.amount) for line in lines] == [
            *[("capture", -1)] * 3,
            ("grant", 3),
        ]


@pytest.mark.req("A5")
async def test_what_was_run_up_without_a_limit_is_forgiven_when_one_begins(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock) as rig:
        for _ in range(3):
            await said(rig, "hello")
        assert (await wallet(rig)).balance == -3

    async with open_rig(tmp_path, clock=clock, settings=wallet_of(2)) as rig:
        await said(rig, "hello")

        assert (await wallet(rig)).balance == 1
        await check_books(rig)
    async with open_rig(tmp_path, clock=clock) as rig:
        for _ in range(4):
            await said(rig, "hello")
        assert (await wallet(rig)).balance == -3

    async with open_rig(tmp_path, clock=clock, settings=wallet_of(2)) as rig:
        refused = await said(rig, "hello")

        assert await outcome(rig, refused) == "refused"
        await check_books(rig)


@pytest.mark.req("A5", "A19")
async def test_a_tier_has_its_own_policy_and_price(tmp_path: Path) -> None:
    free_is_limited = {"CREDITS__TIERS__FREE__POLICY": "wallet"}
    terms = {
        "CREDITS__TIERS__FREE__START_GRANT": "5",
        "CREDITS__TIERS__FREE__PRICE_PER_MESSAGE": "2",
    }
    async with open_rig(tmp_path, settings={**free_is_limited, **terms}) as rig:
        outcomes = [await outcome(rig, await said(rig, "hello")) for _ in range(3)]

        assert outcomes == ["answered", "answered", "refused"]
        assert (await wallet(rig)).balance == 1
    async with open_rig(
        tmp_path, settings={**wallet_of(0), "CREDITS__TIERS__FREE__POLICY": "unlimited"}
    ) as rig:
        assert await rig.answer("hello") == "#3 hello"


@pytest.mark.req("A5", "J14")
async def test_a_subagent_is_paid_by_its_parents_message(tmp_path: Path) -> None:
    ask = RunTool("ask", lambda context: context.run_child("small question", "main"))
    async with open_rig(tmp_path, tools=(ask,), settings=wallet_of(1)) as rig:
        message_id = await said(rig, "[[tool:ask]]")

        assert await ledger(rig, message_id) == [("capture", -1)]
        assert await ledger(rig, f"{message_id}.1") == []
        assert (ask.runs, len(rig.model.calls), (await wallet(rig)).balance) == (1, 3, 0)
        await check_books(rig)


@pytest.mark.req("A5", "J8", "J11")
async def test_a_turn_that_goes_on_after_a_crash_is_held_once_and_paid_once(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, settings=wallet_of(1)) as rig:
        message_id = await rig.say("[[hang:1]] hello")
        await rig.until(lambda: len(rig.model.calls) == 1)
        assert ((await wallet(rig)).balance, (await wallet(rig)).held) == (0, 1)

    def script(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text="back again")

    async with open_rig(tmp_path, clock=clock, script=script, settings=wallet_of(1)) as rig:
        assert await rig.outcome(message_id) == "answered"

        assert await ledger(rig, message_id) == [("capture", -1)]
        assert ((await wallet(rig)).balance, (await wallet(rig)).held) == (0, 0)
        await check_books(rig)


@pytest.mark.req("A5")
async def test_a_grant_lets_a_refused_person_go_on(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=wallet_of(0)) as rig:
        await said(rig, "hello")
        grant = NewGrant(
            id="g_1", person_id=(await wallet(rig)).person_id, amount=1, at=rig.clock.now()
        )
        await rig.store.wallets.grant(grant)

        assert await rig.answer("hello again") == "#1 hello again"
        assert "no credits left" in await rig.answer("and again")


@pytest.mark.req("A5")
async def test_a_newcomer_brings_a_code_in_the_chat_and_both_get_the_bonus_once(
    tmp_path: Path,
) -> None:
    settings = wallet_of(2, CREDITS__REFERRAL_BONUS="5")
    async with open_rig(tmp_path, settings=settings) as rig:
        await said(rig, "hello")
        rig.clock.advance(DAY_S)
        code = code_of(await wallet(rig))

        answers = [
            await rig.answer(text, chat="bob")
            for text in ("hello", f"/credits {code}", f"/credits {code.lower()}", "/credits")
        ]

        assert answers[1] == answers[2]
        assert answers[1].startswith(f"Welcome! The code {code} gives 5 credits to you")
        assert answers[3].startswith(
            "You have 6 credits; a message costs 1. Your referral code is "
        )
        assert ((await wallet(rig, "bob")).balance, (await wallet(rig)).balance) == (6, 6)
        assert ((await wallet(rig)).referred, (await wallet(rig, "bob")).referred_by) == (
            1,
            (await wallet(rig)).person_id,
        )
        assert len(rig.model.calls) == 2
        await check_books(rig)


@pytest.mark.req("A5")
async def test_ones_own_code_is_refused_and_so_is_that_of_a_later_person(tmp_path: Path) -> None:
    settings = wallet_of(2, CREDITS__REFERRAL_BONUS="5", CREDITS__REFERRAL_DAYS="7")
    async with open_rig(tmp_path, settings=settings) as rig:
        await said(rig, "hello")
        rig.clock.advance(DAY_S)
        await said(rig, "hello", chat="bob")

        own = await said(rig, f"/credits {code_of(await wallet(rig))}")
        later = await said(rig, f"/credits {code_of(await wallet(rig, 'bob'))}")
        rig.clock.advance(8 * DAY_S)
        late = await said(rig, f"/credits {code_of(await wallet(rig))}", chat="bob")
        wrong = await said(rig, "/credits 0O1IL")

        codes = [await error_code(rig, one) for one in (own, later, late, wrong)]
        assert codes == ["forbidden", "forbidden", "forbidden", "bad_request"]
        assert ((await wallet(rig)).balance, (await wallet(rig, "bob")).balance) == (1, 1)
        await check_books(rig)
