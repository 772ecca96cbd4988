"""Slack's Web API, and what Socket Mode's frames mean: envelopes, acknowledged by id."""

from collections.abc import Callable
from typing import Final

import msgspec

from hermes.channel_kit.api import Api
from hermes.channel_kit.socket_wire import Meaning, SocketFrame, SocketMark
from hermes.channels.slack.settings import SlackSettings
from hermes.channels.slack.wire import Frame, decode
from hermes.errors import (
    ConfigurationError,
    ConnectFailed,
    DeliveryError,
    DeliveryRejected,
    FailureClass,
)
from hermes.ports.channel_setup import ChannelSetup

_HOSTS: Final = ("slack.com", "slack-edge.com", "slack-files.com")

_SWITCHED_OFF: Final = (
    "platforms.slack: Slack ended the socket for good: Socket Mode was switched off, or the app was "
    "removed or its tokens revoked; look at the app's page, or set mode to http"
)


def make_api(
    setup: ChannelSetup,
    settings: SlackSettings,
    *,
    token: str,
    on_refused: Callable[[DeliveryError], None] | None = None,
) -> Api:
    """Return the Web API with one of the app's tokens."""
    return Api.of(
        setup,
        settings.base_url,
        headers={"Authorization": f"Bearer {token}"},
        masked=(token,),
        hosts=_HOSTS,
        on_refused=on_refused,
    )


class SlackSocketWire:
    """Fits `SocketWire`; `api` has the app-level token. A new connection needs a ticket each time."""

    likeness = ""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def address(self, mark: SocketMark | None) -> str:
        """Return the address of a new connection; each is valid once."""
        try:
            found = await self._api.call("POST", "apps.connections.open", form={})
        except DeliveryRejected as error:
            if error.failure is not FailureClass.UNAUTHORIZED:
                raise
            raise ConfigurationError(
                f"platforms.slack.app_token: Slack refused it ({error}); set the app-level token "
                "(xapp-...) with the scope connections:write, and switch Socket Mode on"
            ) from error
        url = found.get("url")
        if not isinstance(url, str):
            raise ConnectFailed("slack: apps.connections.open named no address")
        return self._api.own_address(url)

    def read(self, data: bytes) -> SocketFrame:
        """Return what a frame means; the payload of an event is the whole frame."""
        frame = decode(data, Frame)
        if frame.type == "hello":
            return SocketFrame(meaning="hello")
        if frame.type == "disconnect":
            is_final = frame.reason == "link_disabled"
            meaning: Meaning = "final" if is_final else "renew"
            return SocketFrame(meaning=meaning, hint=_SWITCHED_OFF if is_final else "")
        if frame.envelope_id is None:
            return SocketFrame(meaning="other")
        return SocketFrame(meaning="event", id=frame.envelope_id, payload=data)

    def begin(self, mark: SocketMark | None) -> None:
        """Slack wants no first frame."""

    def beat(self, number: int | None) -> str:
        """Return nothing: Slack asks for no heartbeats but the socket's own pings."""
        return ""

    def kept(self, frame: SocketFrame) -> str:
        """Return the acknowledgement of an envelope."""
        return msgspec.json.encode({"envelope_id": frame.id}).decode()
