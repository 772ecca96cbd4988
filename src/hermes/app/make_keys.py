"""What finds the session of a message, as the settings of a home say."""

from collections.abc import Collection

from hermes.config import Settings
from hermes.ports.store import Store
from hermes.sessions.keys import SessionKeys
from hermes.sessions.sharing import SharingRules


def make_keys(store: Store, settings: Settings, *, own_chats: Collection[str]) -> SessionKeys:
    """Return what finds sessions; `own_chats` are the platforms whose callers name chats themselves."""
    sharing = SharingRules(settings.sessions, settings.channels, own_chats=own_chats)
    return SessionKeys(own_chats, store.sessions.old_writers, sharing=sharing)
