"""The names of people, by `users.info`: limited, cached for a while, and never waited for long."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

from hermes.channels.slack.client import SlackApi
from hermes.channels.slack.outbound import Json
from hermes.errors import HermesError
from hermes.ports.clock import Clock

_MOST: Final = 10_000
_KEPT_S: Final = 3600.0
# After a failure no names are requested for this long, so that it delays one message, not all.
_FAILED_S: Final = 60.0
_WAIT_S: Final = 1.0


class _Known(msgspec.Struct, frozen=True):
    name: str | None
    until: float


class UserNames:
    """Display names of people, as far as Slack provides them."""

    def __init__(self, api: SlackApi, *, clock: Clock, is_on: bool) -> None:
        self._api = api
        self._clock = clock
        self._is_on = is_on
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def of(self, user_ids: Iterable[str]) -> dict[str, str]:
        """Return the names that are known or available at once."""
        wanted = tuple(user_ids)
        if self._is_on:
            missing = [user_id for user_id in wanted if not self._is_fresh(user_id)]
            await asyncio.gather(*(self._ask(user_id) for user_id in missing))
        found = ((user_id, self._known.get(user_id)) for user_id in wanted)
        return {user_id: known.name for user_id, known in found if known and known.name}

    def _is_fresh(self, user_id: str) -> bool:
        known = self._known.get(user_id)
        return known is not None and known.until > self._clock.monotonic()

    async def _ask(self, user_id: str) -> None:
        name, kept_s = None, _FAILED_S
        try:
            async with asyncio.timeout(_WAIT_S):
                found = await self._api.form("users.info", {"user": user_id}, timeout_s=_WAIT_S)
            name, kept_s = name_of(found), _KEPT_S
        except (HermesError, TimeoutError):
            # An outdated name is better than none.
            before = self._known.get(user_id)
            name = before.name if before is not None else None
        self._known[user_id] = _Known(name, self._clock.monotonic() + kept_s)
        self._known.move_to_end(user_id)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)


def name_of(found: Json) -> str | None:
    """Return a user's name: the display name, the real name, or the handle."""
    user = found.get("user")
    told = user if isinstance(user, dict) else {}
    profile = told.get("profile")
    shown = profile if isinstance(profile, dict) else {}
    names = (
        shown.get("display_name"),
        shown.get("real_name"),
        told.get("real_name"),
        told.get("name"),
    )
    return next((name for name in names if isinstance(name, str) and name.strip()), None)
