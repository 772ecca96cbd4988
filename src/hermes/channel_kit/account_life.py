"""The life of one account: its credential is checked, then messages come in by its webhook or its socket.

A credential that is refused ends it, whichever call finds out. Where nothing holds a connection, that
shows only when something is sent or asked.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from hermes.channel_kit.lifeline import Lifeline
from hermes.channel_kit.refusals import final_error
from hermes.channel_kit.socket_session import SocketSession
from hermes.channel_kit.socket_wire import SocketWire, Take
from hermes.channel_kit.webhook_door import WebhookDoor
from hermes.errors import ConnectFailed, DeliveryError, HermesError
from hermes.ports.channel import Accept
from hermes.ports.channel_rows import SocketRow
from hermes.ports.channel_setup import ChannelSetup

Account = TypeVar("Account")
Result = TypeVar("Result")


class AccountLife(Lifeline, Generic[Account]):
    """A lifeline that knows its credential, the webhook's door and the socket.

    `credential` is the setting with it, and `check` asks the platform for the account that it is of. A
    channel without anything to add gives `connect`, `disconnect`, `lost` and `probe` out as its own.
    """

    def __init__(
        self,
        setup: ChannelSetup,
        door: WebhookDoor | None = None,
        *,
        credential: str,
        check: Callable[[], Awaitable[Account]],
    ) -> None:
        super().__init__(setup.name)
        self._setup = setup
        self._door = door
        self._setting = f"platforms.{setup.platform}.{credential}"
        self._check = check
        self._session: SocketSession | None = None
        self._hears_by_socket = False

    async def start(self) -> Account:
        """Begin a life, after the end of the one before; return the account."""
        await self.disconnect()
        self.begin()
        return await self.proven(self._check())

    async def connect(self, accept: Accept) -> None:
        """Take calls of the webhook, once the platform accepts the credential."""
        await self.start()
        self.open_door(accept)

    def open_door(self, accept: Accept) -> None:
        """Take calls of the webhook from now on, if there is one."""
        if self._door is not None:
            self._door.open(accept)

    async def open_socket(
        self, wire: SocketWire, take: Take, *, row: SocketRow | None = None
    ) -> None:
        """Open the socket; return once its session has begun or goes on. Its end ends the life."""
        setup = self._setup
        self._hears_by_socket = True
        self._session = SocketSession(
            setup.client,
            wire,
            row or setup.rows.socket or SocketRow(),
            platform=setup.name,
            state=setup.state,
            take=take,
        )
        await self._session.open()
        self.run(self._session.lost(), "socket")

    async def disconnect(self) -> None:
        """Stop receiving; what was not kept comes again, where the platform repeats or resumes."""
        if self._door is not None:
            await self._door.close()
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        await self.close()

    async def probe(self) -> None:
        """Return if the platform still accepts the credential and the socket, if one is used, is open."""
        await self.proven(self._check())
        if self._hears_by_socket and (self._session is None or not self._session.is_open):
            raise ConnectFailed(f"{self._setup.name}: the socket is closed; no message can come in")

    async def proven(self, work: Awaitable[Result]) -> Result:
        """Return what a call returns; raise which setting is wrong if it refuses the credential."""
        failure: HermesError
        try:
            return await work
        except DeliveryError as error:
            failure = final_error(error, setting=self._setting)
        # Outside of the handler: what is raised must not lead back to the call and its address.
        raise failure

    def refused(self, error: DeliveryError) -> None:
        """End the life if a refused call says that the credential is not valid any more."""
        final = final_error(error, setting=self._setting)
        if final is not error:
            self.end(final)
