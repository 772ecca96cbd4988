"""QQ's HTTP API: the access token of the app, where the gateway is, and files on QQ's own hosts."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from hermes.channel_kit.access_token import AccessToken, IssuedToken
from hermes.channel_kit.api import Api
from hermes.channel_kit.opcode_gateway import GatewayTicket
from hermes.channel_kit.refusals import as_shape
from hermes.channel_kit.socket_wire import SocketMark
from hermes.channels.qq.wire import PLATFORM, WireGateway, WireToken
from hermes.errors import DeliveryError
from hermes.net.platform_call import PlatformAnswer
from hermes.ports.channel_setup import ChannelSetup

_HOSTS: Final = ("sgroup.qq.com", "bot.qq.com", "bots.qq.com")
_FILE_HOSTS: Final = ("qq.com", "qq.com.cn", "qpic.cn")
_ISSUE: Final = "/app/getAppAccessToken"


class QqApi:
    """The API of one app."""

    def __init__(self, setup: ChannelSetup, *, on_refused: Callable[[DeliveryError], None]) -> None:
        self._setup = setup
        given = setup.settings
        options: dict[str, Any] = {"masked": (given["app_secret"],), "on_refused": on_refused}
        self._token = AccessToken(self._issued, clock=setup.clock, prefix="QQBot ")
        self._issuer = Api.of(setup, given["token_url"], **options)
        self._calls = Api.of(setup, given["base_url"], hosts=_HOSTS, token=self._token, **options)
        self._files = Api.of(setup, given["base_url"], hosts=_FILE_HOSTS)
        self.call = self._calls.call

    async def _issued(self) -> IssuedToken:
        given = self._setup.settings
        body = {"appId": given["app_id"], "clientSecret": given["app_secret"]}
        said = await self._issuer.ask("POST", _ISSUE, json=body)
        # A refusal has the status of a success, and a code.
        said = msgspec.structs.replace(said, ok=said.ok and not said.code.strip("0"))
        found = as_shape(self._issuer.success(said, path=_ISSUE), WireToken, platform=PLATFORM)
        return IssuedToken(found.access_token, float(found.expires_in))

    async def ticket(self, mark: SocketMark | None) -> GatewayTicket:
        """Return where the gateway is, and the token for it."""
        if mark is not None:
            url = mark.address
        else:
            url = (await self._calls.get("/gateway/bot", WireGateway)).url
        proof = await self._token.headers()
        return GatewayTicket(self._calls.own_address(url), proof["Authorization"])

    async def download(self, url: str, *, limit: int) -> PlatformAnswer:
        """Return a file of a message; the app's token stays here."""
        return await self._files.download(self._files.own_address(url), limit=limit)
