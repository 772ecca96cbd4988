"""Finds the name under which the mail server writes Authentication-Results, for `hermes channels
add`.

It reads the newest mails of the mailbox and changes nothing. The result is only a suggestion: it
comes from mail that other people wrote.
"""

from collections.abc import Mapping
from typing import Any, Final

from hermes.channels.email.authenticity import topmost_server
from hermes.channels.email.imap import Imap, ImapRefusal
from hermes.channels.email.mime import split_head
from hermes.channels.email.settings import EmailSettings, read
from hermes.errors import ConfigurationError
from hermes.ports.channel_setup import Suggestion

_TIMEOUT_S: Final = 15.0
_MAILS: Final = 10
_FIELDS: Final = "HEADER.FIELDS (AUTHENTICATION-RESULTS)"
_MAX_FIELDS: Final = 64_000
_BY_HAND: Final = (
    "Send the mailbox a mail from elsewhere, look at its source, and use the first word of the "
    "topmost Authentication-Results line."
)


# Any: a setting's value is whatever the manifest says.
async def suggest(setting: str, settings: Mapping[str, Any]) -> Suggestion:
    """Return the name that all of the newest mails have, if there is exactly one."""
    # The server to trust is what we are looking for.
    chosen = read({**settings, "trust": "none"})
    try:
        found = await _names(chosen)
    except ImapRefusal as error:
        raise ConfigurationError(f"{setting}: the mailbox cannot be read: {error}") from None
    return judged(found)


def judged(found: tuple[str, ...]) -> Suggestion:
    """Return a suggestion from the names in some mails, one for each; empty if there is none."""
    names = set(found)
    if len(names) == 1 and all(names):
        (name,) = names
        return Suggestion(
            name,
            f"The newest mails in the mailbox ({len(found)}) say that {name} checked them. Use it "
            "only if that is a name of your own mail server or provider.",
        )
    if not found:
        return Suggestion("", f"The mailbox is empty. {_BY_HAND}")
    if not any(names):
        return Suggestion(
            "",
            "No server has written into the newest mails of the mailbox that it checked who wrote. "
            f"{_BY_HAND} If there never is one, trust has to be none; docs/channels/email.md says "
            "what that means.",
        )
    known = ", ".join(sorted(name for name in names if name))
    return Suggestion("", f"The newest mails in the mailbox do not agree ({known}). {_BY_HAND}")


async def _names(settings: EmailSettings) -> tuple[str, ...]:
    imap = await Imap.open(settings.imap, timeout_s=_TIMEOUT_S)
    try:
        await imap.select(settings.folder, is_read_only=True)
        newest = (await imap.search("ALL"))[-_MAILS:]
        heads = [await imap.fetch(uid, limit=_MAX_FIELDS, section=_FIELDS) for uid in newest]
    finally:
        await imap.drop()
    return tuple(topmost_server(split_head(raw)[0]) for raw in heads if raw is not None)
