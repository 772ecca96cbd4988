"""What operators see of sends that failed, of a credential that was revoked, and of a resting platform."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import yaml
from rich.console import Console

from hermes.cli.channels import _print as show_channels
from hermes.cli.doctor_alone import examine_home
from hermes.cli.status import _print as show_status
from hermes.control.channels import ChannelsReport
from hermes.control.doctor import Check
from hermes.control.status import StatusReport
from hermes.testing.stand_in import Fault
from hermes.testing.telegram.platform import TelegramStandIn
from tests.contract.channels.cases import CASES
from tests.contract.channels.house import House

TELEGRAM = next(case for case in CASES if case.name == "telegram-poll")
NEW_TOKEN = "123456789:AAnewnewnewnewnewnewnewnewnewnewnew"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with House(TELEGRAM, tmp_path / "home") as made:
        yield made


@pytest.fixture
def platform(house: House) -> TelegramStandIn:
    assert isinstance(house.platform, TelegramStandIn)
    return house.platform


async def order(house: House, path: str, **body: str) -> dict[str, Any]:
    """Give the gateway an operator's order."""
    address = json.loads((house.home / "run" / "gateway.json").read_text())
    url = f"http://{address['host']}:{address['port']}/control/{path}"
    headers = {"authorization": f"Bearer {address['token']}"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, headers=headers, json=body or None) as answer,
    ):
        assert answer.status == 200, await answer.text()
        told: dict[str, Any] = await answer.json()
        return told


async def why(house: House) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the story of the last message, and that of its reply."""
    seen = await house.control("interactions?limit=1")
    report = await house.control(f"why/{seen['interactions'][0]['message_id']}")
    return report, report["deliveries"][0]


async def waiting_reply(house: House, state: str) -> dict[str, Any]:
    """Return the reply to the last message once it stands so."""
    async with asyncio.timeout(20):
        while True:
            seen = await house.control("interactions?limit=1")
            if seen["interactions"]:
                _, reply = await why(house)
                if reply["state"] == state:
                    return reply
            await asyncio.sleep(0.01)


def set_token(house: House, token: str) -> None:
    path = house.home / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["platforms"]["telegram"]["extra"]["bot_token"] = token
    path.write_text(yaml.safe_dump(config))


async def channel(house: House) -> dict[str, Any]:
    """Return how the platform stands in the list of channels."""
    lines = (await house.control("channels"))["channels"]
    found: dict[str, Any] = next(one for one in lines if one["platform"] == "telegram")
    return found


async def doctor(house: House, status: str) -> list[str]:
    """Return what a doctor says of the channels."""

    def ask() -> tuple[Check, ...]:
        return examine_home(house.home, fix=False, call=False, show=lambda *_: None).checks

    checks = await asyncio.to_thread(ask)
    return [one.what for one in checks if one.name == "channels" and one.status == status]


@pytest.mark.req("A26", "A28", "J17")
async def test_every_send_that_failed_is_in_the_story_of_its_reply(
    house: House, platform: TelegramStandIn
) -> None:
    platform.plan(Fault(kind="server_error", times=2))
    platform.plan(Fault(kind="rate_limited", retry_after=0.0))
    platform.plan(Fault(kind="reset_after"))
    await house.say("try hard")
    await house.until(lambda: len(house.posts()) == 2)
    reply = await waiting_reply(house, "sent")

    tries = [(one["failure"], one.get("sent", True), one["then"]) for one in reply["tries"]]
    down, limited, lost, repeated = tries[0], tries[2], tries[3], tries[4]
    assert len(tries) == 5
    assert tries[1][:2] == down[:2] == ("service_unavailable", True)
    assert down[2].startswith("tried again at ")
    assert limited[:2] == ("rate_limited", True)
    assert lost == ("network_timeout", True, "it may have arrived")
    assert repeated[1:] == (False, "sent once more, marked as possibly a repeat")
    assert reply["tries"][0]["reason"] == "telegram: the platform failed (502 Bad Gateway)"
    assert "Too Many Requests" in reply["tries"][2]["reason"]
    assert reply["attempts"] == 5
    assert reply["how"].startswith("sent after 5 attempts, marked as possibly a repeat")
    report, _ = await why(house)
    lines = [one["what"] for one in report["lines"]]
    assert lines.count("send failed") == 4
    assert lines[-1] == "sent"
    assert "after 5 attempts" in report["answer"]


@pytest.mark.req("A28", "W10")
async def test_a_reply_that_goes_through_at_once_has_one_attempt_and_no_story(house: House) -> None:
    await house.answer("easy")

    reply = await waiting_reply(house, "sent")

    assert (reply["attempts"], reply["how"]) == (1, "sent")
    assert "tries" not in reply


@pytest.mark.req("A28")
async def test_a_dead_letter_tells_the_platforms_reason_the_chat_and_its_attempts(
    house: House, platform: TelegramStandIn
) -> None:
    platform.plan(Fault(kind="server_error"))
    platform.plan(Fault(kind="rejected"))
    await house.say("never")
    reply = await waiting_reply(house, "dead")

    (letter,) = await house.dead_letters()
    told = (await house.control(f"deadletters/letter?id={letter['id']}"))["letter"]

    assert (letter["failure"], letter["attempts"]) == ("invalid_recipient", 2)
    assert "403 Forbidden: bot was blocked by the user" in letter["reason"]
    assert letter["chat_id"] == platform.town.find_chat("chat-1").id
    assert [one["failure"] for one in told["tries"]] == ["service_unavailable", "invalid_recipient"]
    assert told["tries"][-1]["then"] == "given up"
    assert reply["how"].startswith("a dead letter after 2 attempts (invalid_recipient: telegram: ")


@pytest.mark.req("W2", "A28", "J18")
async def test_a_reply_waits_for_a_revoked_token_and_is_sent_with_the_new_one_after_a_reload(
    house: House, platform: TelegramStandIn
) -> None:
    await house.say("slowly [[slow:0.3]]")
    platform.revoke()
    note = await house.stands("fatal")
    reply = await waiting_reply(house, "pending")
    assert "bot_token" in note
    assert reply["how"].startswith("waiting to be sent")
    assert f"telegram is stopped because {note}".rstrip(".") in reply["how"]
    assert await house.dead_letters() == []
    assert [one for one in await doctor(house, "fail") if note in one] != []
    assert [one for one in await doctor(house, "ok") if "can be connected" in one] == []

    platform.renew(NEW_TOKEN)
    set_token(house, NEW_TOKEN)
    told = await order(house, "reload")

    assert told["applied"] == ["platforms.telegram.extra.bot_token"]
    assert [(one["name"], one["state"]) for one in told["channels"]] == [("telegram", "connected")]
    post = await house.until(lambda: next(iter(house.posts()), None))
    assert post.text.startswith("#1 slowly")
    assert (await house.answer("and on")).text == "#2 and on"
    assert platform.rejections == ()
    assert (await order(house, "reload"))["applied"] == []


@pytest.mark.req("W2", "J18")
async def test_a_stopped_channel_is_connected_again_by_resume(
    house: House, platform: TelegramStandIn
) -> None:
    platform.plan(Fault(kind="unauthorized"))
    await house.say("once refused")
    await house.stands("fatal")

    told = await order(house, "channels/resume", platform="telegram")

    assert (told["reconnected"], told["channel"]["state"]) == (True, "connected")
    await house.until(lambda: "#1 once refused" in house.texts())
    reply = await waiting_reply(house, "sent")
    assert (reply["attempts"], reply["tries"][0]["failure"]) == (2, "unauthorized")
    assert reply["tries"][0]["then"] == "waits for its channel"
    again = await order(house, "channels/resume", platform="telegram")
    assert (again["changed"], again["reconnected"]) == (False, False)


@pytest.mark.req("W2")
async def test_resume_with_a_token_that_is_still_bad_says_so(
    house: House, platform: TelegramStandIn
) -> None:
    platform.revoke()
    await house.stands("fatal")

    told = await order(house, "channels/resume", platform="telegram")

    assert (told["reconnected"], told["channel"]["state"]) == (True, "fatal")
    assert "bot_token" in told["channel"]["note"]


@pytest.mark.req("A28", "W2")
async def test_a_dead_letter_that_is_replayed_for_a_stopped_channel_says_that_it_waits(
    house: House, platform: TelegramStandIn
) -> None:
    platform.plan(Fault(kind="rejected"))
    await house.say("hello")
    await waiting_reply(house, "dead")
    (letter,) = await house.dead_letters()
    platform.revoke()
    await house.stands("fatal")

    told = await order(house, "deadletters/replay", id=letter["id"])

    said = "will be sent when telegram is connected: it is stopped because platforms.telegram"
    assert told["note"].startswith(said)
    assert (await waiting_reply(house, "pending"))["tries"][-1][
        "then"
    ] == "sent again by an operator"


class SoonTired(House):
    """A house whose platform rests after three failures."""

    def _settings(self, url: str) -> dict[str, Any]:
        settings = super()._settings(url)
        breaker = {"breaker_failures": 3, "later_delays_s": [300.0]}
        return {**settings, "outbox": {**settings["outbox"], **breaker}}


@pytest.mark.req("A27")
async def test_a_platform_that_rests_after_failures_is_shown_so_everywhere(tmp_path: Path) -> None:
    async with SoonTired(TELEGRAM, tmp_path / "home") as house:
        house.platform.plan(Fault(kind="server_error", times=3))
        await house.say("hello")
        async with asyncio.timeout(20):
            while not (line := await channel(house))["failures"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await waiting_reply(house, "retry")
        report, reply = await why(house)
        status = await house.control("status")
        (told,) = (one for one in status["channels"] if one["name"] == "telegram")

        at = datetime.fromtimestamp(line["rests_until"], UTC).strftime("%H:%M UTC")
        resting = f"not sending until {at} after 3 failures"
        assert (line["failures"], told["failures"]) == (3, 3)
        assert told["rests_until"] == line["rests_until"]
        assert reply["how"] == f"waiting to be sent, after 3 attempts: telegram is {resting}"
        assert resting in report["waiting_for"]
        assert await doctor(house, "warn") == [f"telegram is {resting}"]
        shown = io.StringIO()
        show_channels(
            msgspec.convert(await house.control("channels"), ChannelsReport),
            Console(file=shown, width=400),
        )
        show_status(msgspec.convert(status, StatusReport), Console(file=shown, width=400))
        assert shown.getvalue().count(f"connected, {resting}") == 2


async def test_a_replay_on_a_platform_that_rests_waits_until_it_can_send_again(
    tmp_path: Path,
) -> None:
    async with SoonTired(TELEGRAM, tmp_path / "home") as house:
        house.platform.plan(Fault(kind="rejected"))
        await house.say("hello")
        await waiting_reply(house, "dead")
        (letter,) = await house.dead_letters()
        house.platform.plan(Fault(kind="server_error", times=3))
        await house.say("hello again")
        async with asyncio.timeout(20):
            while not (await channel(house))["failures"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

        told = await order(house, "deadletters/replay", id=letter["id"])

        assert told["note"].startswith("will be sent when telegram can send again: it is not")
