"""J1 for webhooks: signed content counts once, whatever is changed of the headers around it."""

import asyncio
import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.channel_kit.proof import sign
from hermes.channels.webhook.channel import WebhookRoutes, make
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import HttpRequest
from hermes.ports.channel_state import PlatformState
from hermes.testing.setup_channel import channel_setup
from tests.contract.journal.rig import Rig, open_rig

pytestmark = pytest.mark.req("J1", "W9")

PROOFS = load_manifest("hermes.channels.webhook").rows.proofs
SECRET = "a secret of some length"
ROUTES: Mapping[str, Mapping[str, Any]] = {
    "hub": {"scheme": "github"},
    "lab": {"scheme": "gitlab"},
    "own": {"scheme": "hmac"},
    "builds": {"scheme": "github", "events": ["workflow_run"]},
    "each": {"scheme": "hmac", "equal_bodies": "each", "events": ["stop"]},
    "std": {"events": ["stop"]},
}
FIRST, OTHER = b'{"n": 1}', b'{"n": 2}'


def _standard(name: str, at: float, body: bytes) -> str:
    headers = {"webhook-id": name}
    post = HttpRequest(method="POST", path="", query={}, headers=headers, body=body)
    return sign(PROOFS["standard"], post, secret=SECRET, now=at).headers["webhook-signature"]


def signed(route: str, body: bytes, *, at: float = 0, **shown: str) -> dict[str, str]:
    """Return the headers of an authentic call: its signature, and an id and a kind if given."""
    mac = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    scheme = ROUTES[route].get("scheme", "standard")
    names = {
        "github": ("x-hub-signature-256", "x-github-delivery", "x-github-event"),
        "gitlab": ("x-gitlab-token", "x-gitlab-event-uuid", "x-gitlab-event"),
        "hmac": ("x-signature", "x-request-id", "x-event"),
        "standard": ("webhook-signature", "webhook-id", "webhook-event"),
    }[scheme]
    proof = {
        "github": f"sha256={mac}",
        "gitlab": SECRET,
        "hmac": mac,
        "standard": _standard(shown.get("id", ""), at, body),
    }[scheme]
    stamp = {"webhook-timestamp": str(int(at))} if scheme == "standard" else {}
    kept = (proof, shown.get("id"), shown.get("kind"))
    return stamp | {name: value for name, value in zip(names, kept, strict=True) if value}


async def connected(rig: Rig) -> WebhookRoutes:
    """Return the channel of a process that serves all routes."""
    channel = make(
        channel_setup(
            "hermes.channels.webhook",
            {"routes": {name: {"secret": SECRET, **table} for name, table in ROUTES.items()}},
            clock=rig.clock,
            state=PlatformState(rig.store.channel_state, "webhook"),
        )
    )
    await channel.connect(rig.core.inbox.accept)
    return channel


async def post(channel: WebhookRoutes, route: str, body: bytes, **shown: Any) -> dict[str, Any]:
    """Return the answer to an authentic call."""
    headers = signed(route, body, **shown)
    path = f"/webhooks/webhook/{route}"
    call = HttpRequest(method="POST", path=path, query={}, headers=headers, body=body)
    answer = await channel.webhook(call)
    return {"status": answer.status, **msgspec.json.decode(answer.body)}


@pytest.mark.parametrize("route", ["hub", "lab", "own"])
async def test_signed_content_is_one_message_under_every_id(tmp_path: Path, route: str) -> None:
    async with open_rig(tmp_path) as rig:
        channel = await connected(rig)
        first = await post(channel, route, FIRST, id="d1")
        again = [await post(channel, route, FIRST, id=f"evil{n}", kind="x") for n in range(3)]
        again.append(await post(channel, route, FIRST))
        other = await post(channel, route, OTHER, id="d2")

        assert first["duplicate"] is False
        assert again == [{**first, "duplicate": True}] * 4
        assert other["duplicate"] is False
        assert other["message_id"] != first["message_id"]


@pytest.mark.parametrize("route", ["hub", "lab", "own"])
async def test_an_id_still_names_one_body_only(tmp_path: Path, route: str) -> None:
    async with open_rig(tmp_path) as rig:
        channel = await connected(rig)
        await post(channel, route, FIRST, id="d1")

        assert (await post(channel, route, OTHER, id="d1"))["status"] == 409


async def test_content_is_recognised_after_a_crash_and_by_another_process(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        first = await post(await connected(rig), "hub", FIRST, id="d1")
    async with open_rig(tmp_path) as rig:
        again = await post(await connected(rig), "hub", FIRST, id="d2")

        assert again == {**first, "duplicate": True}
        assert await rig.outcome(first["message_id"]) == "answered"
        assert len(rig.model.calls) == 1


async def test_of_calls_that_come_together_one_is_kept(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        channel = await connected(rig)
        calls = [post(channel, "hub", FIRST, id=f"d{number}") for number in range(20)]
        answers = await asyncio.gather(*calls)

        assert len({one["message_id"] for one in answers}) == 1
        assert sorted(one["duplicate"] for one in answers) == [False] + [True] * 19


async def test_content_is_recognised_for_eight_days(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        channel = await connected(rig)
        first = await post(channel, "hub", FIRST, id="d1")
        await rig.outcome(first["message_id"])

        rig.clock.advance(8 * 86_400 - 60)
        await rig.core.maintenance.upkeep.round()

        assert await post(channel, "hub", FIRST, id="d2") == {**first, "duplicate": True}


@pytest.mark.req("A28")
async def test_a_repeat_needs_no_room(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False, settings={"INBOX__MAX_WAITING": "1"}) as rig:
        channel = await connected(rig)
        first = await post(channel, "hub", FIRST, id="d1")

        assert await post(channel, "hub", FIRST, id="d2") == {**first, "duplicate": True}
        assert (await post(channel, "hub", OTHER, id="d3"))["status"] == 503


async def test_equal_bodies_are_two_events_where_the_route_says_so(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        channel = await connected(rig)
        other_kind = await post(channel, "each", FIRST, kind="start")
        answers = [await post(channel, "each", FIRST, kind="stop") for _ in range(2)]
        named = [await post(channel, "each", FIRST, kind="stop", id="7") for _ in range(2)]

        assert "ignored" in other_kind
        assert [one["duplicate"] for one in (*answers, *named)] == [False, False, False, True]
        assert len({one["message_id"] for one in (*answers, *named)}) == 3


async def test_a_kind_that_nobody_signed_does_not_make_an_ignored_call_count(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        ignored = await post(await connected(rig), "builds", FIRST, id="d1", kind="issues")
    async with open_rig(tmp_path) as rig:
        channel = await connected(rig)
        forged = await post(channel, "builds", FIRST, id="d2", kind="workflow_run")
        genuine = await post(channel, "builds", OTHER, id="d3", kind="workflow_run")
        kept = rig.store.inbox.waiting()

        assert ("ignored" in ignored, "ignored" in forged) == (True, True)
        assert (genuine["status"], genuine["duplicate"]) == (202, False)
        assert kept <= 1


async def test_a_standard_webhook_says_its_kind_in_the_signed_body(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        channel, at = await connected(rig), rig.clock.now()
        wanted, other = b'{"type": "stop"}', b'{"type": "start"}'
        forged = await post(channel, "std", other, id="1", kind="stop", at=at)
        genuine = await post(channel, "std", wanted, id="2", kind="start", at=at)
        by_header = await post(channel, "std", FIRST, id="3", kind="start", at=at)
        changed = await post(channel, "std", FIRST, id="3", kind="stop", at=at)
        equal_body = await post(channel, "std", FIRST, id="4", kind="stop", at=at)

        assert "ignored" in forged
        assert genuine["duplicate"] is False
        assert ("ignored" in by_header, "ignored" in changed) == (True, True)
        assert equal_body["duplicate"] is False
