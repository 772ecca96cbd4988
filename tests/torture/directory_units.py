"""The unit of the directory, for `store_kills`."""

from collections.abc import Awaitable, Callable

from hermes.ports.directory import ChatEntry
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock

TABLES = {"directory": "platform, chat_id, owner, is_listed, seen_at"}


async def prepare_chats(store: Store, clock: ManualClock) -> None:
    """Let a chat be known that the next listing does not name."""
    await store.directory.keep("rest", [_chat("gone")], is_listing=True, at=clock.now())


async def _keep(store: Store, clock: ManualClock) -> None:
    chats = [_chat("new"), ChatEntry(platform="rest", chat_id="ann", kind="dm", name="Ann")]
    await store.directory.keep("rest", chats, is_listing=True, at=clock.now())


def _chat(name: str) -> ChatEntry:
    return ChatEntry(platform="rest", chat_id=name, kind="channel", name=name)


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.keep_directory": _keep,
}
