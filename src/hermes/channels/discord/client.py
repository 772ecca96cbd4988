"""Discord's HTTP API: the token, what a used-up rate limit means, and files on Discord's own hosts."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hermes.channel_kit.api import Api
from hermes.channel_kit.bounded_map import BoundedMap
from hermes.errors import DeliveryError, FailureClass, NotDelivered
from hermes.net.platform_call import PlatformAnswer
from hermes.ports.channel_setup import ChannelSetup

_GATEWAY_HOSTS: Final = ("discord.gg",)
_FILE_HOSTS: Final = ("cdn.discordapp.com", "media.discordapp.net")
_MOST_LIMITS: Final = 10_000
_LIMIT_S: Final = 60.0


class DiscordApi:
    """The API of one bot. What a limit that is used up would refuse is not sent: refusals count, too."""

    def __init__(self, setup: ChannelSetup, *, on_refused: Callable[[DeliveryError], None]) -> None:
        self._setup = setup
        token, self._url = setup.settings["bot_token"], setup.settings["base_url"]
        self.gateway = Api.of(
            setup,
            self._url,
            hosts=_GATEWAY_HOSTS,
            headers={"Authorization": f"Bot {token}", "User-Agent": "DiscordBot (hermes, 0.1)"},
            masked=(token,),
            on_refused=on_refused,
        )
        self.get = self.gateway.get
        self._files = Api.of(setup, self._url, hosts=_FILE_HOSTS)
        self._until: BoundedMap[str, float] = BoundedMap(
            _MOST_LIMITS, lasts_s=_LIMIT_S, clock=setup.clock
        )

    # Any: each call of Discord has its own answer.
    async def call(self, method: str, path: str, *, limit: str = "", **options: Any) -> Any:
        """Return the answer of a successful call; `limit` names the limit that it counts for."""
        self._check(limit)
        said = await self.gateway.ask(method, path, **options)
        self._note(limit, said.headers)
        return self.gateway.success(said, path=path)

    def with_token(self, token: str) -> Api:
        """Return the API for calls that an interaction's token allows; it is in their addresses."""
        return Api.of(self._setup, self._url, masked=(token,))

    async def download(self, url: str, *, limit: int) -> PlatformAnswer:
        """Return a file of a message; the bot's token stays here."""
        return await self._files.download(self._files.own_address(url), limit=limit)

    def _check(self, limit: str) -> None:
        until = self._until.get(limit) if limit else None
        if until is not None and (wait_s := until - self._setup.clock.monotonic()) > 0:
            raise NotDelivered(
                f"discord: the rate limit of this channel is used up for {wait_s:.1f} s; it is sent "
                "again later",
                FailureClass.RATE_LIMITED,
                retry_after=wait_s,
            )

    def _note(self, limit: str, headers: Mapping[str, str]) -> None:
        found = {name.lower(): value for name, value in headers.items()}
        if not limit or found.get("x-ratelimit-remaining") != "0":
            return
        try:
            seconds = float(found.get("x-ratelimit-reset-after", ""))
        except ValueError:
            return
        if 0 < seconds <= _LIMIT_S:
            self._until.put(limit, self._setup.clock.monotonic() + seconds, lasts_s=seconds)
