"""The HTTP server of the stand-in platform. Its rows are in `platform.toml`."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, SiteRefusal
from hermes.testing.push.state import PostedMessage, PushState, SampleSettings
from hermes.testing.push.tally import Tally
from hermes.testing.push.webhooks import Webhooks
from hermes.testing.site import AFTER, Rate, Site, SiteCall, load_platform
from hermes.testing.stand_in import FaultKind

_MAX_HISTORY: Final = 100
_BEFORE: Final[Collection[FaultKind]] = (
    *("rate_limited", "server_error", "reset_before", "hang_before"),
)


class SamplePlatform(Site):
    """One running platform; every call is in `log`, with what became of it."""

    def __init__(
        self,
        settings: SampleSettings,
        *,
        clock: Clock | None = None,
        count_file: Path | None = None,
    ) -> None:
        super().__init__(load_platform("hermes.testing.push"), clock=clock)
        self._settings = settings
        self.tokens = {"bot": settings.token}
        if settings.rate_limit > 0:
            self.rates = (Rate("chat", settings.rate_limit, settings.rate_window_s),)
        self.tally = Tally(count_file)
        self.state = PushState(settings, clock=self.clock, pace=self.pace)
        self.webhooks = Webhooks(settings, clock=self.clock, tally=self.tally)

    @property
    def base_url(self) -> str:
        """The address of the API."""
        return self.url

    async def stop(self) -> None:
        """Release every hanging call and stop listening."""
        await self.webhooks.close()
        await super().stop()

    def on_me(self, _call: SiteCall) -> Json:
        """Return who the bot is."""
        return {"name": "pigeon-bot", "keys": self._settings.keys}

    def on_send(self, call: SiteCall) -> Json:
        """Post a message."""
        posted, is_new = self.state.send(**call.params)
        outcome = "applied" if is_new else "deduplicated"
        self._count("send", outcome, posted=posted, key=call.get("key"))
        return {"message_id": posted.message_id}

    def on_edit(self, call: SiteCall) -> Json:
        """Change a message."""
        posted = self.state.edit(**call.params)
        self._count("edit", "applied", posted=posted)
        return {"message_id": posted.message_id}

    def on_history(self, call: SiteCall) -> Json:
        """Return the newest messages of a chat."""
        limit = call.get("limit", 50)
        if not 1 <= limit <= _MAX_HISTORY:
            raise SiteRefusal("bad_limit", str(limit))
        return {"messages": self.state.history(call["chat"], limit=limit)}

    def fault_chat(self, call: SiteCall) -> str | None:
        """Return the chat of a call, for faults of one chat."""
        return call.get("chat") or self.state.chat_of(call.get("message_id", ""))

    def note(self, call: SiteCall, outcome: str) -> None:
        """Count a call; what it has changed is counted already."""
        if outcome in _BEFORE:
            self._count(call.name, "fault", fault=outcome)
        elif outcome in AFTER:
            self._count(call.name, "answer_lost", fault=outcome)
        elif outcome != "ok":
            self._count(call.name, "refused", code=outcome)
        elif call.name == "history":
            self._count(call.name, "answered")

    def _count(
        self, op: str, outcome: str, *, posted: PostedMessage | None = None, **facts: object
    ) -> None:
        self.log.append((op, outcome))
        if posted is not None:
            facts |= {"message_id": posted.message_id, "chat": posted.chat, "text": posted.text}
        self.tally.add(op=op, outcome=outcome, at=self.clock.now(), **facts)
