"""Whatever is posted to the doors of Slack, QQ and of webhooks: only what was signed, once, comes in."""

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hermes.channel_kit.proof import sign
from hermes.channels.webhook.channel import WebhookRoutes
from hermes.channels.webhook.channel import make as make_webhook
from hermes.errors import HermesError
from hermes.http.errors import error_response
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import HttpRequest, HttpResponse
from hermes.testing.setup_channel import channel_setup
from hermes.testing.slack.platform import BOT_USER
from tests.unit.channels.qq_rig import Rig as QqRig
from tests.unit.channels.qq_rig import qq_rig
from tests.unit.channels.slack_rig import Inbox, Rig, as_request, slack_rig

KINDS = ("application/json", "application/x-www-form-urlencoded")
SLACK_HEADERS = ("x-slack-signature", "x-slack-request-timestamp")
SECRET = "a secret of some length"
PROOFS = load_manifest("hermes.channels.webhook").rows.proofs
FUZZ = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["message", "app_mention", "reaction_added", "message_metadata_posted", "pin_added", ""]
        )
    },
    optional={
        "subtype": st.sampled_from(["file_share", "message_changed", "odd"]),
        "channel": st.sampled_from(["C1", "D1", "x"]) | JSON,
        "user": st.sampled_from(["U1", BOT_USER]) | JSON,
        "bot_id": st.sampled_from(["B1"]) | JSON,
        "text": st.text(max_size=30) | JSON,
        "ts": st.sampled_from(["1700000000.000100", "1.1"]) | JSON,
        "thread_ts": st.just("1.1") | JSON,
        "reaction": st.sampled_from(["+1", "parrot"]) | JSON,
        "item": st.just({"type": "message", "channel": "C1", "ts": "1.1"}) | JSON,
        "item_user": st.just(BOT_USER) | JSON,
        "event_ts": st.just("1.2") | JSON,
        "files": JSON,
        "metadata": st.just({"event_type": "hermes_delivery", "event_payload": {"key": "k"}})
        | JSON,
    },
)


QQ_KINDS = ["C2C_MESSAGE_CREATE", "GROUP_AT_MESSAGE_CREATE", "GROUP_MESSAGE_CREATE", "READY", ""]
QQ_AUTHORS = st.fixed_dictionaries(
    {},
    optional={
        "user_openid": st.sampled_from(["A1", "../x", "a" * 129, ""]) | JSON,
        "member_openid": st.sampled_from(["B2", "b/2"]) | JSON,
        "username": st.text(max_size=8) | JSON,
        "bot": st.booleans() | JSON,
    },
)
QQ_MESSAGES = st.fixed_dictionaries(
    {"id": st.text("ROBOT1._x", min_size=1, max_size=300), "author": QQ_AUTHORS | JSON},
    optional={
        "content": st.text(max_size=30) | JSON,
        "timestamp": st.sampled_from(["2026-07-21T10:00:00+08:00", "9999-99-99", ""]) | JSON,
        "group_openid": st.sampled_from(["G1", "g 1"]) | JSON,
        "attachments": JSON,
        "mentions": JSON,
    },
)
QQ_EVENTS = st.fixed_dictionaries(
    {"t": st.sampled_from(QQ_KINDS) | JSON, "d": QQ_MESSAGES | JSON},
    optional={"op": st.sampled_from([0, 1, 13]) | JSON, "s": st.just(1) | JSON, "id": JSON},
)
QQ_HEADERS = ("x-signature-ed25519", "x-signature-timestamp")


class Door(NamedTuple):
    """A channel with its inbox in a loop of its own."""

    runner: asyncio.Runner
    channel: Any
    inbox: Inbox
    rig: Rig | QqRig | None = None

    def post(self, call: HttpRequest) -> HttpResponse:
        """Return what the server answers for the channel."""
        try:
            return self.runner.run(self.channel.webhook(call))
        except HermesError as error:
            return error_response(error)


@pytest.fixture(scope="module")
def slack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with asyncio.Runner() as runner:
        opened = slack_rig(tmp_path_factory.mktemp("slack"), "http", look_up_names=False)
        rig = runner.run(opened.__aenter__())
        yield Door(runner, rig.channel, rig.inbox, rig)
        runner.run(opened.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def qq() -> Iterator[Door]:
    with asyncio.Runner() as runner:
        opened = qq_rig("webhook")
        rig = runner.run(opened.__aenter__())
        channel = rig.make()
        runner.run(channel.connect(rig.inbox.accept))
        yield Door(runner, channel, rig.inbox, rig)
        runner.run(channel.disconnect())
        runner.run(opened.__aexit__(None, None, None))


@pytest.fixture(scope="module", params=["standard", "github", "gitlab", "hmac"])
def hook(request: pytest.FixtureRequest) -> Iterator[tuple[str, Door]]:
    routes = {"r": {"secret": SECRET, "scheme": request.param}}
    channel = make_webhook(channel_setup("hermes.channels.webhook", {"routes": routes}))
    assert isinstance(channel, WebhookRoutes)
    inbox = Inbox()
    with asyncio.Runner() as runner:
        runner.run(channel.connect(inbox.accept))
        yield request.param, Door(runner, channel, inbox)


def signed_slack(door: Door, body: bytes, kind: str = KINDS[0]) -> dict[str, str]:
    assert isinstance(door.rig, Rig)
    return dict(door.rig.slack.push.signed(body, kind).headers)


def signed_qq(door: Door, body: bytes) -> HttpRequest:
    assert isinstance(door.rig, QqRig)
    return door.rig.qq.push.signed(body)


def signed_hook(scheme: str, body: bytes, *, name: str) -> HttpRequest:
    headers = {
        "webhook-id": name,
        "x-github-delivery": name,
        "x-gitlab-event-uuid": name,
        "x-request-id": name,
    }
    call = HttpRequest(
        method="POST", path="/webhooks/webhook/r", query={}, headers=headers, body=body
    )
    clock = channel_setup("hermes.channels.webhook", {"routes": {}}).clock
    return sign(PROOFS[scheme], call, secret=SECRET, now=clock.now())


def spoiled(text: str, place: int, char: str) -> str:
    """Return a text with one character replaced, taken out or put in, but not the same in value."""
    place %= len(text) + 1
    found = text[:place] + char + text[place + (len(char) or 1) :]
    assume(found.strip().lower() != text.strip().lower())
    return found


@pytest.mark.req("W9")
@given(
    part=st.sampled_from([*SLACK_HEADERS, "body"]),
    place=st.integers(0, 80),
    char=st.text("0123456789abcdefv=é ", max_size=1),
)
@FUZZ
def test_slack_with_one_character_spoiled_is_refused(
    slack: Door, part: str, place: int, char: str
) -> None:
    event = {
        "type": "message",
        "channel": "C1",
        "user": "U1",
        "text": "hi",
        "ts": "1700000000.0001",
    }
    body = msgspec.json.encode({"type": "event_callback", "event": event})
    headers = signed_slack(slack, body)
    if part == "body":
        body = spoiled(body.decode(), place, char).encode()
    else:
        headers[part] = spoiled(headers[part], place, char)
    before = len(slack.inbox.calls)

    assert slack.post(as_request(body, headers)).status == 401
    assert len(slack.inbox.calls) == before


@pytest.mark.req("W9", "J1")
@given(EVENTS | JSON, st.sampled_from(KINDS), st.binary(max_size=20))
@FUZZ
def test_what_slack_signed_is_taken_once_or_refused_for_good(
    slack: Door, event: Any, kind: str, rest: bytes
) -> None:
    try:
        body = msgspec.json.encode({"type": "event_callback", "event": event})
    except UnicodeEncodeError:
        return
    body += rest if kind == KINDS[1] else b""
    headers = signed_slack(slack, body, kind)
    before = len(slack.inbox.calls)

    first = slack.post(as_request(body, headers))
    taken = slack.inbox.calls[before:]
    again = slack.post(as_request(body, headers))

    assert first.status == 200 or (first.status, first.headers["x-slack-no-retry"]) == (400, "1")
    assert again.status == 401
    assert slack.inbox.calls[before:] == taken
    assert [one for one in taken if one.source.user_id == BOT_USER] == []


@pytest.mark.req("W9")
@given(
    part=st.sampled_from([*QQ_HEADERS, "body"]),
    place=st.integers(0, 140),
    char=st.text("0123456789abcdef é", max_size=1),
)
@FUZZ
def test_qq_with_one_character_spoiled_is_refused(
    qq: Door, part: str, place: int, char: str
) -> None:
    author = {"user_openid": "A1"}
    event = {
        "op": 0,
        "t": "C2C_MESSAGE_CREATE",
        "d": {"id": "1", "author": author, "content": "hi"},
    }
    call = signed_qq(qq, msgspec.json.encode(event))
    if part == "body":
        changed = spoiled(call.body.decode(), place, char).encode()
        call = msgspec.structs.replace(call, body=changed)
    else:
        headers = {**call.headers, part: spoiled(call.headers[part], place, char)}
        call = msgspec.structs.replace(call, headers=headers)
    before = len(qq.inbox.calls)

    assert qq.post(call).status == 401
    assert len(qq.inbox.calls) == before


@pytest.mark.req("W9", "J1")
@given(QQ_EVENTS | JSON | st.binary(max_size=60))
@FUZZ
def test_what_qq_signed_is_taken_or_refused_for_good(qq: Door, told: Any) -> None:
    try:
        body = told if isinstance(told, bytes) else msgspec.json.encode(told)
    except UnicodeEncodeError:
        return
    call = signed_qq(qq, body)
    before = len(qq.inbox.events)

    first, again = qq.post(call), qq.post(call)

    assert first.status == again.status
    assert first.status in {200, 400}
    assert len(qq.inbox.events) - before <= 1
    assert not [one for one in qq.inbox.events[before:] if "/" in one.source.chat_id]


@pytest.mark.req("W9")
@given(
    st.binary(max_size=200) | QQ_EVENTS.map(msgspec.json.encode) | JSON.map(repr).map(str.encode)
)
@FUZZ
def test_what_nobody_has_signed_for_qq_reaches_nothing(qq: Door, body: bytes) -> None:
    call = HttpRequest(method="POST", path="", query={}, headers={}, body=body)
    before = len(qq.inbox.calls)

    assert qq.post(call).status in {400, 401}
    assert len(qq.inbox.calls) == before


@pytest.mark.req("W9")
@given(
    place=st.integers(0, 80), char=st.text("0123456789abcdef=é ", max_size=1), body=st.booleans()
)
@FUZZ
def test_a_webhook_with_one_character_spoiled_is_refused(
    hook: tuple[str, Door], place: int, char: str, body: bool
) -> None:
    scheme, door = hook
    call = signed_hook(scheme, b'{"type": "push", "n": 1}', name="spoiled")
    row = PROOFS[scheme]
    is_signed = "body" in row.signs and row.kind != "shared"
    if body and is_signed:
        changed = spoiled(call.body.decode(), place, char).encode()
        call = msgspec.structs.replace(call, body=changed)
    else:
        name = row.at.partition(":")[2]
        # Base64 has letters of both cases, and the shared token is compared as it is.
        value = spoiled(call.headers[name], place, char)
        call = msgspec.structs.replace(call, headers={**call.headers, name: value})
    before = len(door.inbox.calls)

    assert door.post(call).status == 401
    assert len(door.inbox.calls) == before


@pytest.mark.req("W9", "J1")
@given(JSON | st.binary(max_size=60), st.text("abc-1é", max_size=220))
@FUZZ
def test_what_a_sender_signed_is_stored_or_refused(
    hook: tuple[str, Door], told: Any, name: str
) -> None:
    scheme, door = hook
    try:
        body = told if isinstance(told, bytes) else msgspec.json.encode(told)
    except UnicodeEncodeError:
        return
    call = signed_hook(scheme, body, name=name)

    first, again = door.post(call), door.post(call)

    assert first.status == again.status
    assert first.status in {202, 400, 401}
    assert (first.status == 401) == (scheme == "standard" and not name)
    if first.status == 202:
        assert msgspec.json.decode(again.body)["duplicate"] or not name
