"""When a session ends by itself: at a time of day, after a silence, by both or never.

Pure. Called when a message arrives and by the session watcher; both get the same answer for the
same instants. The notice that a person gets is built here too.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Literal
from zoneinfo import ZoneInfo

from hermes.config import ResetSettings, SessionSettings
from hermes.message.channel_name import of_channel
from hermes.message.session_key import SessionKey, read_session_key
from hermes.ports.sessions import EndReason
from hermes.texts.say import say, words

_TOLD: dict[EndReason, str] = {
    "daily": words("A new day has begun, so this is a new conversation."),
    "idle": words("It has been quiet for a while, so this is a new conversation."),
    "stopped": words("You stopped me, so this is a new conversation."),
    "restarts": words(
        "I was restarted again and again in the middle of our conversation, so I stopped "
        "working on it. This is a new conversation."
    ),
    "ended": words("Whoever runs this gateway ended our conversation, so this is a new one."),
}
# Two ends of a day are never closer than this, whatever the clock changes.
_SHORTEST_DAY_S = 22 * 3600.0
# No session counts as idle after a shorter time.
_LEAST_S = 60.0
_EVERYBODY = "*"
_FIND = words(" What was said before is kept: /search finds it.")


# Returns the person behind a sender of a platform, if they ever wrote from there.
PersonOf = Callable[[str, str], Awaitable[str | None]]


async def _nobody(_platform: str, _sender: str) -> str | None:
    return None


def rule_for(key: SessionKey, settings: SessionSettings) -> ResetSettings:
    """Return the rule of a session: its platform's, else its chat kind's, else the common one."""
    chat_type = "thread" if key.thread is not None else key.chat_type
    return (
        of_channel(settings.reset_platforms, key.platform)
        or settings.reset_chat_types.get(chat_type)
        or settings.reset
    )


def end_reason(
    used_at: float, now: float, *, rule: ResetSettings, zone: ZoneInfo
) -> Literal["daily", "idle"] | None:
    """Return why a session last used at `used_at` is over; None if it continues."""
    if used_at > now:
        # The clock was set back; the time in between is unknown.
        return None
    if rule.mode in ("daily", "both") and used_at < last_boundary(now, at=rule.at, zone=zone):
        return "daily"
    if rule.mode in ("idle", "both") and now - used_at > rule.idle_min * 60:
        return "idle"
    return None


def last_boundary(now: float, *, at: str, zone: ZoneInfo) -> float:
    """Return the latest instant, at most `now`, at which the clocks of `zone` showed `at`."""
    hour, minute = map(int, at.split(":"))
    today = datetime.fromtimestamp(now, zone).replace(tzinfo=None)
    boundary = today.replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0)
    instant = _instant(boundary, zone)
    return instant if instant <= now else _instant(boundary - timedelta(days=1), zone)


def _instant(local: datetime, zone: ZoneInfo) -> float:
    """Return the instant of a local time; for a skipped time, the instant after the gap."""
    first = local.replace(tzinfo=zone)
    after = first.replace(fold=1)
    gap = (first.utcoffset() or timedelta()) - (after.utcoffset() or timedelta())
    if gap >= timedelta():
        return first.timestamp()
    # In a gap the two readings lie on both sides of it; the clocks change where they meet.
    low, high = int(after.timestamp()), int(first.timestamp())
    before = datetime.fromtimestamp(low, zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return float(high)


def told(reason: EndReason, *, can_search: bool) -> str:
    """Return the sentence that tells a person why this is a new session."""
    return _TOLD[reason] + (say(_FIND) if can_search else "")


class Resets:
    """The reset rules of one gateway, used for every message; caches the last end of a day.

    `lasting` are the senders of each platform whose sessions no clock ends, as declared by its
    channel; a rule for the platform overrides it. `person_of` finds the person behind a sender. A
    session is kept while a background process `works_in` it.
    """

    def __init__(
        self,
        settings: SessionSettings,
        *,
        zone: ZoneInfo,
        lasting: Mapping[str, Sequence[str]] = MappingProxyType({}),
        person_of: PersonOf = _nobody,
        works_in: Callable[[str], bool] = lambda _lane: False,
    ) -> None:
        self.settings = settings
        self.zone = zone
        self._boundaries: dict[str, float] = {}
        ruled = settings.reset_platforms
        self._lasting = {name: who for name, who in lasting.items() if name not in ruled}
        self._person_of = person_of
        self._works_in = works_in

    def may_end(self, platform: str) -> bool:
        """Return False if no clock ends any session of a platform."""
        return _EVERYBODY not in self._lasting.get(platform, ())

    async def reason(
        self, lane: str, *, person_id: str, used_at: float, now: float
    ) -> Literal["daily", "idle"] | None:
        """Return why the session of a lane is over, or None; `person_id` is its owner."""
        reason = self._by_rule(lane, used_at=used_at, now=now)
        if reason is None or self._works_in(lane) or await self._is_lasting(lane, person_id):
            return None
        return reason

    async def _is_lasting(self, lane: str, person_id: str) -> bool:
        platform = read_session_key(lane).platform
        senders = self._lasting.get(platform, ())
        if not self.may_end(platform):
            return True
        for sender in senders:
            if await self._person_of(platform, sender) == person_id:
                return True
        return False

    def _by_rule(self, lane: str, *, used_at: float, now: float) -> Literal["daily", "idle"] | None:
        rule = self._rule(lane)
        if rule.mode == "none":
            return None
        if now - used_at <= _LEAST_S and used_at >= self._boundary(rule.at, now):
            return None
        return end_reason(used_at, now, rule=rule, zone=self.zone)

    def cutoff(self, rule: ResetSettings, now: float) -> float:
        """Return the instant before which a session's last use means that it is over."""
        by_day = self._boundary(rule.at, now) if rule.mode in ("daily", "both") else 0.0
        by_silence = now - rule.idle_min * 60 if rule.mode in ("idle", "both") else 0.0
        return max(by_day, by_silence)

    def rules(self) -> tuple[ResetSettings, ...]:
        """Return every rule that ends sessions."""
        settings = self.settings
        every = (
            settings.reset,
            *settings.reset_chat_types.values(),
            *settings.reset_platforms.values(),
        )
        return tuple(rule for rule in every if rule.mode != "none")

    def _rule(self, lane: str) -> ResetSettings:
        settings = self.settings
        if not settings.reset_platforms and not settings.reset_chat_types:
            return settings.reset
        return rule_for(read_session_key(lane), settings)

    def _boundary(self, at: str, now: float) -> float:
        known = self._boundaries.get(at)
        if known is None or not known <= now < known + _SHORTEST_DAY_S:
            known = self._boundaries[at] = last_boundary(now, at=at, zone=self.zone)
        return known
