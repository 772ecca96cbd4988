"""Detects mail that no person wrote, so that two programs never answer each other. Pure."""

from typing import Final

from hermes.channels.email.addresses import MailAddress
from hermes.channels.email.mime import Headers

_ROBOTS: Final = frozenset(
    {"mailer-daemon", "postmaster", "noreply", "no-reply", "do-not-reply", "donotreply", "bounce",
     "bounces", "daemon", "nobody"}
)  # fmt: skip
_BULK: Final = frozenset({"bulk", "list", "junk", "auto_reply", "auto-reply"})
_LISTS: Final = ("list-id", "list-unsubscribe", "list-post", "list-help")


def automatic(headers: Headers, *, sender: MailAddress, own: MailAddress) -> str | None:
    """Return why a mail is not answered; None for a person's mail."""
    if sender == own:
        return "it is our own"
    submitted = headers.text("auto-submitted").partition(";")[0].strip().lower()
    if submitted and submitted != "no":
        return "Auto-Submitted"
    if headers.text("precedence").strip().lower() in _BULK:
        return "Precedence"
    if any(headers.has(name) for name in _LISTS):
        return "a mailing list"
    if (
        headers.has("x-auto-response-suppress")
        and headers.text("x-auto-response-suppress") != "None"
    ):
        return "X-Auto-Response-Suppress"
    if headers.has("x-autoreply") or headers.has("x-autorespond"):
        return "an automatic reply"
    if headers.has("return-path") and headers.text("return-path").replace(" ", "") == "<>":
        return "an empty Return-Path"
    name = sender.local.lower().partition("+")[0]
    if name in _ROBOTS or name.startswith(("noreply", "no-reply", "bounce-", "bounces-")):
        return "a sender that reads nothing"
    return None
