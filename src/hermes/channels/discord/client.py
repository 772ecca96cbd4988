"""Discord's HTTP API: the token, what a used-up rate limit means, and files on Discord's own hosts."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from hermes.channel_kit.api import Api
from hermes.channel_kit.bounded_map import BoundedMap
from hermes.channel_kit.refusals import as_shape
from hermes.channels.discord.wire import PLATFORM
from hermes.errors import FailureClass, NotDelivered
from hermes.net.platform_call import PlatformAnswer
from hermes.ports.channel_setup import ChannelSetup

_GATEWAY_HOSTS: Final = ("discord.gg",)
_FILE_HOSTS: Final = ("cdn.discordapp.com", "media.discordapp.net")
_MOST_LIMITS: Final = 10_000
_LIMIT_S: Final = 60.0
T = TypeVar("T")


class DiscordApi:
    """The API of one bot. What a limit that is used up would refuse is not sent: refusals count, too."""

    def __init__(self, setup: ChannelSetup, *, on_refused: Any) -> None:
        self._setup = setup
        token = setup.settings["bot_token"]
        self.gateway = self._api(
            hosts=_GATEWAY_HOSTS,
            headers={"Authorization": f"Bot {token}", "User-Agent": "DiscordBot (hermes, 0.1)"},
            masked=(token,),
            on_refused=on_refused,
        )
        self._files = self._api(hosts=_FILE_HOSTS)
        self._until: BoundedMap[str, float] = BoundedMap(
            _MOST_LIMITS, lasts_s=_LIMIT_S, clock=setup.clock
        )

    def _api(self, **more: Any) -> Api:
        setup = self._setup
        return Api(
            setup.client,
            platform=PLATFORM,
            base_url=setup.settings["base_url"],
            make_id=setup.make_id,
            rows=setup.rows,
            **more,
        )

    # Any: each call of Discord has its own answer.
    async def call(self, method: str, path: str, *, limit: str = "", **options: Any) -> Any:
        """Return the answer of a successful call; `limit` names the limit that it counts for."""
        self._check(limit)
        said = await self.gateway.ask(method, path, **options)
        self._note(limit, said.headers)
        return self.gateway.success(said, path=path)

    async def get(self, path: str, shape: type[T]) -> T:
        """Return what is at a path, in its shape."""
        return as_shape(await self.call("GET", path), shape, platform=PLATFORM, method=path)

    def with_token(self, token: str) -> Api:
        """Return the API for calls that an interaction's token allows; it is in their addresses."""
        return self._api(masked=(token,))

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
