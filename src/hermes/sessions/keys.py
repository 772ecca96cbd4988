"""Which session a message belongs to: one per direct chat, one per person in groups, one per thread.

Settings say otherwise for groups and threads (`sessions.sharing`).

If callers name chats themselves, as over REST, a name belongs to its sender: two senders who choose
the same name have two sessions. A sender's own chat, named like the sender, needs no second name.
"""

from collections.abc import Awaitable, Callable, Collection

from hermes.message.session_key import SessionKey
from hermes.message.source import Source
from hermes.sessions.sharing import SharingRules, is_thread


def session_key(
    source: Source, agent: str, *, is_senders: bool = False, is_shared: bool | None = None
) -> SessionKey:
    """Return the key: direct chats by chat, groups by person, threads shared by all members.

    With `is_senders`, a direct chat belongs to its sender, even if others use the same name.
    `is_shared` says of a group or thread whether its people share a session.
    """
    is_direct = source.chat_type == "dm" and source.thread_id is None
    shared = is_thread(source) if is_shared is None else is_shared
    is_by_person = is_senders if is_direct else not shared
    return SessionKey(
        agent=agent,
        platform=source.platform,
        chat_type=source.chat_type if source.thread_id is None else "thread",
        chat_id=source.chat_id,
        thread=source.thread_id,
        user=source.user_id if is_by_person else None,
    )


class SessionKeys:
    """Finds the lane of a message.

    `own_chats` are the platforms whose callers name chats themselves. `old_writers` returns who
    wrote in a session that is older than this rule, and nothing for all others. Such a session
    continues for its only writer; if it had several writers, it continues for nobody.
    """

    def __init__(
        self,
        own_chats: Collection[str],
        old_writers: Callable[[str], Awaitable[Collection[str]]],
        *,
        sharing: SharingRules,
    ) -> None:
        self._own_chats = own_chats
        self._old_writers = old_writers
        self._sharing = sharing

    async def lane(self, source: Source, agent: str) -> str:
        """Return the lane of a message from a source for an agent."""
        if source.chat_type != "dm" or source.thread_id is not None:
            return str(session_key(source, agent, is_shared=self._sharing.is_shared(source)))
        plain = str(session_key(source, agent))
        if source.platform not in self._own_chats:
            return plain
        writers = await self._old_writers(plain)
        if source.user_id in writers or (source.chat_id == source.user_id and not writers):
            return plain
        return str(session_key(source, agent, is_senders=True))
