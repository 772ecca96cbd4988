"""The life of a channel that hears by webhook: its door is open while the platform takes its credential.

Nothing holds a connection there, so that a revoked credential shows only when something is sent or asked.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from hermes.channel_kit.lifeline import Lifeline
from hermes.channel_kit.webhook_door import WebhookDoor
from hermes.errors import ConfigurationError, DeliveryError, DeliveryRejected
from hermes.message.channel_name import platform_of
from hermes.ports.channel import Accept


class WebhookLife:
    """Opens the door of one account once `check` succeeds, and ends when its credential is refused.

    `credential` is the setting with it.
    """

    def __init__(
        self,
        door: WebhookDoor,
        *,
        platform: str,
        credential: str,
        # Any: each platform answers the check with something else.
        check: Callable[[], Awaitable[Any]],
    ) -> None:
        self._door = door
        self._life = Lifeline(platform)
        self._setting = f"platforms.{platform_of(platform)}.{credential}"
        self._check = check

    async def connect(self, accept: Accept) -> Any:
        """Take calls, once the platform accepts the credential; return what it said."""
        await self.disconnect()
        self._life.begin()
        found = await self.probe()
        self._door.open(accept)
        return found

    async def disconnect(self) -> None:
        """Take no more calls; what was not answered is repeated, where the platform repeats."""
        await self._door.close()
        await self._life.close()

    async def lost(self) -> NoReturn:
        """Wait until the credential is refused; raise so."""
        await self._life.lost()

    async def probe(self) -> Any:
        """Return what the platform says of the account; raise if it does not take the credential."""
        try:
            return await self._check()
        except DeliveryRejected as error:
            raise self._wrong(error) from None

    def refused(self, error: DeliveryError) -> None:
        """End the life if a refused call says that the credential is not valid any more."""
        if isinstance(error, DeliveryRejected) and error.credential:
            self._life.end(self._wrong(error))

    def _wrong(self, error: DeliveryRejected) -> ConfigurationError:
        return ConfigurationError(f"{self._setting}: it is refused ({error}); set a valid one")
