"""Verifies that Slack sent a request: its v0 signature, the five-minute window, and no replays.

The first step of a webhook; it does not parse the body.
"""

import hashlib
import hmac
import re
from collections import OrderedDict
from collections.abc import Mapping

from hermes.errors import Unauthenticated

WINDOW_S = 300
_MOST_REMEMBERED = 100_000
_TIMESTAMP = re.compile(r"[0-9]{1,12}")


def sign(secret: str, timestamp: str, *, body: bytes) -> str:
    """Return the value of `X-Slack-Signature` for a body."""
    signed = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


class SignatureCheck:
    """Checks webhooks by one signing secret, and remembers accepted ones."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._taken: OrderedDict[str, int] = OrderedDict()

    def glance(self, headers: Mapping[str, str], *, now: float) -> None:
        """Raise for a call that no body could make authentic: unsigned, or not recent."""
        timestamp = headers.get("x-slack-request-timestamp", "")
        if not _TIMESTAMP.fullmatch(timestamp):
            raise Unauthenticated("X-Slack-Request-Timestamp is missing or is not a time")
        if not headers.get("x-slack-signature", ""):
            raise Unauthenticated("X-Slack-Signature is missing")
        if abs(now - int(timestamp)) > WINDOW_S:
            raise Unauthenticated(
                f"the call was signed more than {WINDOW_S} s from now; check this machine's clock"
            )

    def check(self, headers: Mapping[str, str], body: bytes, *, now: float) -> str:
        """Return the signature of an authentic, recent and new call; raise `Unauthenticated`."""
        timestamp = headers.get("x-slack-request-timestamp", "")
        shown = headers.get("x-slack-signature", "")
        if not _TIMESTAMP.fullmatch(timestamp):
            raise Unauthenticated("X-Slack-Request-Timestamp is missing or is not a time")
        expected = sign(self._secret, timestamp, body=body)
        if not hmac.compare_digest(shown.encode(errors="replace"), expected.encode()):
            raise Unauthenticated(
                "X-Slack-Signature does not match the body; check platforms.slack.signing_secret"
            )
        if abs(now - int(timestamp)) > WINDOW_S:
            raise Unauthenticated(
                f"the call was signed more than {WINDOW_S} s from now; check this machine's clock"
            )
        self._forget(now)
        if shown in self._taken:
            raise Unauthenticated("the call was already accepted; a retry has a new signature")
        return shown

    def taken(self, signature: str, *, now: float) -> None:
        """Remember an accepted call, so that nobody can replay it."""
        self._taken[signature] = int(now) + 2 * WINDOW_S
        while len(self._taken) > _MOST_REMEMBERED:
            self._taken.popitem(last=False)

    def _forget(self, now: float) -> None:
        while self._taken and next(iter(self._taken.values())) < now:
            self._taken.popitem(last=False)
