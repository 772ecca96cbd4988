"""Where alerts go: to webhooks in the format of Slack, Discord or others, and to chats.

A sink raises a `HermesError` if it cannot deliver; its owner decides what to do then.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from hermes.errors import NetError
from hermes.message.target import parse_target
from hermes.net.client import HttpClient
from hermes.ops.alert_windows import Alert
from hermes.ports.channel import Target
from hermes.ports.sends import Courier, FoundTarget, Parcel

Style = Literal["auto", "slack", "discord", "json"]
Sink = Callable[[Alert], Awaitable[None]]
# Returns the person who owns the deliveries of alerts: everything stored has an owner.
Sender = Callable[[], Awaitable[str]]

_TIMEOUT_S = 10.0
_ANSWER_BYTES = 65_536
_MOST_DISCORD = 2_000
_ACCOUNT = "default"
_HOSTS: Mapping[str, Style] = {
    "hooks.slack.com": "slack",
    "discord.com": "discord",
    "discordapp.com": "discord",
}


def words(alert: Alert) -> str:
    """Return the text of an alert."""
    times = f" ({alert.count} times)" if alert.count > 1 else ""
    return f"[Hermes {alert.severity}] {alert.kind}{times}: {alert.text}"


def webhook(client: HttpClient, address: str, *, style: Style = "auto") -> Sink:
    """Return a sink that posts alerts to an address of the configuration."""
    host = urlsplit(address).hostname or ""
    chosen = _HOSTS.get(host, "json") if style == "auto" else style

    async def send(alert: Alert) -> None:
        async with client.request(
            "alert",
            "POST",
            address,
            headers={"Content-Type": "application/json"},
            body=msgspec.json.encode(_body(alert, chosen)),
            timeout_s=_TIMEOUT_S,
            trusted=True,
        ) as answer:
            await answer.read(_ANSWER_BYTES)
            if answer.status >= 300:
                raise NetError(
                    f"the webhook at {host} answered with status {answer.status}; look at "
                    "alerts.webhooks"
                )

    return send


def _body(alert: Alert, style: Style) -> dict[str, Any]:
    """Return the body in the service's format; text from elsewhere must not mention anyone."""
    if style == "discord":
        return {"content": words(alert)[:_MOST_DISCORD], "allowed_mentions": {"parse": []}}
    if style == "slack":
        text = words(alert).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return {"text": text}
    told: dict[str, Any] = msgspec.to_builtins(alert)
    return {**told, "count": alert.count, "summary": words(alert)}


def chats(courier: Courier, targets: Sequence[str], *, sender: Sender) -> list[Sink]:
    """Return a sink that sends alerts to the configured chats, as `sender`."""
    return [_chat(courier, target, sender=sender) for target in targets]


def _chat(courier: Courier, target: str, *, sender: Sender) -> Sink:
    async def send(alert: Alert) -> None:
        parcel = Parcel(
            id=f"{alert.id}.{target}",
            message_id=alert.id,
            person_id=await sender(),
            text=words(alert),
            purpose="notice",
        )
        await courier.send(parcel, await _place(courier, target))

    return send


async def _place(courier: Courier, target: str) -> FoundTarget:
    wanted = parse_target(target)
    if wanted.kind != "chat":
        return await courier.find(target, message_id="", person_id="")
    # The configuration's author needs no permission.
    chat = Target(
        platform=wanted.platform,
        account=_ACCOUNT,
        chat_id=wanted.chat_id,
        thread_id=wanted.thread_id,
    )
    return FoundTarget(name=target, reach="own", target=chat)
