"""Which session an event belongs to: one per person in direct chats, shared in threads."""

from hermes.message.event import MessageEvent
from hermes.message.session_key import SessionKey


def session_key(event: MessageEvent, agent: str) -> SessionKey:
    """Return the key: DMs by chat, groups by person, threads shared by everyone in them."""
    source = event.source
    if source.thread_id is not None:
        return SessionKey(
            agent=agent,
            platform=source.platform,
            chat_type="thread",
            chat_id=source.chat_id,
            thread=source.thread_id,
        )
    return SessionKey(
        agent=agent,
        platform=source.platform,
        chat_type=source.chat_type,
        chat_id=source.chat_id,
        user=source.user_id if source.chat_type in ("group", "channel") else None,
    )
