"""The stand-in of Slack: the official SDK speaks with it, and it refuses what Slack refuses."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from hermes.channels.slack.outbound import content_of
from hermes.message.markup.marks import Marks
from hermes.message.parts import Choice
from hermes.plugins.manifest import load_manifest
from hermes.testing.site import Rate
from hermes.testing.slack.platform import APP_TOKEN, BOT_TOKEN, BOT_USER, SlackStandIn
from hermes.testing.stand_in import PersonMessage

MARKS = Marks(load_manifest("hermes.channels.slack").markup)


@pytest.fixture
async def slack() -> AsyncIterator[SlackStandIn]:
    slack = SlackStandIn(resend_s=0.5)
    await slack.start()
    slack.town.open_chat("C0LAB00001", chat_type="channel")
    yield slack
    await slack.stop()


def web_client(slack: SlackStandIn, token: str = BOT_TOKEN) -> AsyncWebClient:
    return AsyncWebClient(token=token, base_url=slack.base_url + "/")


@pytest.mark.req("W9")
async def test_the_sdk_posts_edits_reads_and_shares(slack: SlackStandIn) -> None:
    sdk = web_client(slack)
    me = await sdk.auth_test()
    posted = await sdk.chat_postMessage(
        channel="C0LAB00001",
        text="*hi*",
        metadata={"event_type": "sdk", "event_payload": {"key": "k"}},
    )
    await sdk.chat_update(channel=posted["channel"], ts=posted["ts"], text="_edited_")
    history = await sdk.conversations_history(channel="C0LAB00001", include_all_metadata=True)
    reply = await sdk.chat_postMessage(channel="C0LAB00001", text="in it", thread_ts=posted["ts"])
    replies = await sdk.conversations_replies(channel="C0LAB00001", ts=posted["ts"])
    await sdk.files_upload_v2(channel="C0LAB00001", content="a file", filename="a.txt")
    await sdk.chat_delete(channel="C0LAB00001", ts=reply["ts"])

    assert me["user_id"] == BOT_USER
    assert history["messages"][0]["metadata"]["event_payload"] == {"key": "k"}
    assert [one["text"] for one in replies["messages"]] == ["_edited_", "in it"]
    posts = slack.posts("C0LAB00001")
    assert [(post.text, post.files, post.deleted) for post in posts] == [
        ("edited", (), False),
        ("in it", (), True),
        ("", ("a.txt",), False),
    ]
    assert slack.rejections == ()


@pytest.mark.req("W9")
async def test_the_sdks_socket_takes_its_envelopes(slack: SlackStandIn) -> None:
    heard: list[tuple[str, str]] = []

    async def listen(client: Any, request: SocketModeRequest) -> None:
        event = request.payload.get("event", request.payload)
        heard.append((request.type, event.get("text", "")))
        await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

    socket = SocketModeClient(APP_TOKEN, web_client=web_client(slack, APP_TOKEN))
    socket.socket_mode_request_listeners.append(listen)
    await socket.connect()
    try:
        await slack.say(PersonMessage(text="hello"))
        await slack.command(PersonMessage(text="there"))
        await slack.sockets.replace({"type": "disconnect", "reason": "refresh_requested"})
        await slack.say(PersonMessage(text="again"))
    finally:
        await socket.close()
        await socket.aiohttp_client_session.close()
        socket.message_processor.cancel()
        if socket.message_receiver is not None:
            socket.message_receiver.cancel()
        if socket.current_session_monitor is not None:
            socket.current_session_monitor.cancel()

    assert heard == [("events_api", "hello"), ("slash_commands", "there"), ("events_api", "again")]
    assert slack.rejections == ()


TS = "1700000000.000100"


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("method", "arguments", "code"),
    [
        ("chat.postMessage", {"text": "x"}, "invalid_arguments"),
        ("chat.postMessage", {"channel": "C0NOPE", "text": "x"}, "channel_not_found"),
        ("chat.postMessage", {"channel": "C0LAB00001"}, "no_text"),
        ("chat.postMessage", {"channel": "C0LAB00001", "text": "x" * 40_001}, "msg_too_long"),
        ("chat.postMessage", {"channel": "C0LAB00001", "text": "a & b"}, "invalid_arguments"),
        ("chat.postMessage", {"channel": "C0LAB00001", "text": "a < b"}, "invalid_arguments"),
        ("chat.postMessage", {"channel": "C0LAB00001", "text": 5}, "invalid_arguments"),
        ("chat.postMessage", {"channel": "C0LAB00001", "text": "x", "texxt": "x"}, "invalid_arguments"),
        ("chat.postMessage", {"channel": "C0LAB00001", "text": "x", "thread_ts": TS}, "message_not_found"),
        (
            "chat.postMessage",
            {"channel": "C0LAB00001", "text": "x", "blocks": [{"type": "divider"}] * 51},
            "invalid_blocks",
        ),
        (
            "chat.postMessage",
            {
                "channel": "C0LAB00001",
                "text": "x",
                "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}],
            },
            "invalid_blocks",
        ),
        (
            "chat.postMessage",
            {
                "channel": "C0LAB00001",
                "text": "x",
                "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3000}}] * 5,
            },
            "msg_blocks_too_long",
        ),
        (
            "chat.postMessage",
            {"channel": "C0LAB00001", "text": "x", "metadata": {"event_type": "x"}},
            "invalid_metadata_format",
        ),
        ("chat.update", {"channel": "C0LAB00001", "ts": TS, "text": "x"}, "message_not_found"),
        ("conversations.history", {"channel": "C0LAB00001"}, "invalid_arguments"),
        ("users.delete", {}, "unknown_method"),
        ("files.completeUploadExternal", {"files": [{"id": "F1"}]}, "file_not_found"),
    ],
)  # fmt: skip
async def test_it_refuses_what_slack_refuses(slack: SlackStandIn, method, arguments, code) -> None:
    with pytest.raises(SlackApiError) as refused:
        await web_client(slack).api_call(method, json=arguments)

    assert refused.value.response["error"] == code
    assert slack.rejections[0].startswith(f"{method}: {code}")


@pytest.mark.req("W10")
async def test_the_sdk_shows_buttons_and_reacts(slack: SlackStandIn) -> None:
    sdk = web_client(slack)
    content = content_of("Yes?", MARKS, (Choice("Yes", "v1", "good"), Choice("No", "v2")))
    posted = await sdk.chat_postMessage(channel="C0LAB00001", **content)
    place = {"channel": posted["channel"], "timestamp": posted["ts"]}
    await sdk.reactions_add(**place, name="eyes")
    codes = []
    for call in (sdk.reactions_add, sdk.reactions_remove, sdk.reactions_remove):
        try:
            await call(**place, name="eyes")
        except SlackApiError as refused:
            codes.append(refused.response["error"])

    assert codes == ["already_reacted", "no_reaction"]


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    "spoiled",
    [
        {"text": {"type": "plain_text", "text": "x" * 76}},
        {"text": {"type": "mrkdwn", "text": "x"}},
        {"value": "x" * 2001},
        {"style": "good"},
        {"action_id": None},
        {"colour": "red"},
        {"type": "static_select"},
    ],
)
async def test_it_refuses_buttons_that_slack_refuses(slack: SlackStandIn, spoiled) -> None:
    content = content_of("Yes?", MARKS, (Choice("Yes", "v1"),))
    button = content["blocks"][-1]["elements"][0]
    for elements in ([{**button, **spoiled}], [button] * 2, []):
        content["blocks"][-1]["elements"] = elements
        with pytest.raises(SlackApiError, match="invalid_blocks"):
            await web_client(slack).chat_postMessage(channel="C0LAB00001", **content)


@pytest.mark.req("W9")
async def test_tokens_and_scopes_are_checked(slack: SlackStandIn) -> None:
    codes = []
    for token in ("xoxb-wrong", APP_TOKEN):
        with pytest.raises(SlackApiError) as refused:
            await web_client(slack, token).chat_postMessage(channel="C0LAB00001", text="x")
        codes.append(refused.value.response["error"])

    assert codes == ["invalid_auth", "not_allowed_token_type"]


@pytest.mark.req("W9")
async def test_the_rate_limit_can_be_switched_on(slack: SlackStandIn) -> None:
    slack.rates = (Rate("chat", 1, 60.0),)
    sdk = web_client(slack)
    await sdk.chat_postMessage(channel="C0LAB00001", text="one")
    with pytest.raises(SlackApiError) as refused:
        await sdk.chat_postMessage(channel="C0LAB00001", text="two")

    response = refused.value.response
    assert (response.status_code, response["error"]) == (429, "ratelimited")
    assert response.headers["Retry-After"] == "60"


@pytest.mark.req("W9")
async def test_an_envelope_goes_to_one_connection_and_again_until_acknowledged(
    slack: SlackStandIn,
) -> None:
    heard: list[str] = []

    async def listen(name: str, client: Any, request: SocketModeRequest) -> None:
        heard.append(name)
        if len(heard) > 1:
            response = SocketModeResponse(envelope_id=request.envelope_id)
            await client.send_socket_mode_response(response)

    sockets = []
    for name in ("a", "b"):
        socket = SocketModeClient(APP_TOKEN, web_client=web_client(slack, APP_TOKEN))

        async def on_request(client: Any, request: SocketModeRequest, name: str = name) -> None:
            await listen(name, client, request)

        socket.socket_mode_request_listeners.append(on_request)
        await socket.connect()
        sockets.append(socket)
    await slack.say(PersonMessage(text="hello"))
    for socket in sockets:
        await socket.close()
        await socket.aiohttp_client_session.close()
        tasks = (socket.message_processor, socket.message_receiver, socket.current_session_monitor)
        for task in tasks:
            if task is not None:
                task.cancel()
        await asyncio.gather(*(task for task in tasks if task), return_exceptions=True)

    assert (len(heard), slack.sockets.sent) == (2, {"envelope-1": 2})
