"""How a platform's webhook calls come in, by one row of a manifest.

The door checks the method, answers the platform's handshake, checks the proof over the raw bytes, and
hands the call on. What the call holds is the channel's: it reads the events and passes them to the
inbox, for which `keep_all` has the rule for several events in one call. A call is answered once all
of it is stored, or with 503 so that the platform repeats it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

import msgspec
import structlog

from hermes.channel_kit.bounded_map import BoundedMap
from hermes.channel_kit.handshakes import HANDSHAKES
from hermes.channel_kit.proof import check_proof, glance_proof
from hermes.errors import (
    BadRequest,
    HermesError,
    NotFound,
    Overloaded,
    RateLimited,
    Refused,
    Skipped,
    StoreDamaged,
    StoreError,
    StoreRejected,
    TooLarge,
    TryLater,
    Unauthenticated,
)
from hermes.http.errors import error_response, wrong_method
from hermes.message.event import MessageEvent
from hermes.ports.channel import Accept, Acceptance, HttpRequest, HttpResponse
from hermes.ports.channel_rows import WebhookRow
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.clock import Clock

_RETRY_S: Final = 5.0
_MOUNT: Final = "/webhooks/"
_MOST_REMEMBERED: Final = 100_000
_log = structlog.get_logger(__name__)

# Reads the events of a proven call and passes them on; None is the usual answer.
Take = Callable[[HttpRequest, Accept], Awaitable[HttpResponse | None]]


class WebhookDoor:
    """The webhook of one account.

    `secrets` are the settings that the row names, `url` the public address of this webhook, for
    platforms that sign it. `unused` says why no calls are taken here, and what to set so that they are.
    """

    def __init__(
        self,
        row: WebhookRow,
        *,
        platform: str,
        secrets: Mapping[str, str],
        clock: Clock,
        take: Take,
        url: str = "",
        unused: str = "",
    ) -> None:
        self._row = row
        self._platform = platform
        self._secrets = secrets
        self._clock = clock
        self._take = take
        self._url = url.rstrip("/")
        self._unused = unused
        self._accept: Accept | None = None
        self._working: set[asyncio.Task[HttpResponse | None]] = set()
        window = 2 * (row.proof.window_s if row.proof is not None else 0.0)
        self._taken: BoundedMap[bytes, None] = BoundedMap(
            _MOST_REMEMBERED, lasts_s=window, clock=clock
        )

    @classmethod
    def of(
        cls, setup: ChannelSetup, take: Take, *, row: WebhookRow | None = None, unused: str = ""
    ) -> "WebhookDoor":
        """Return the webhook of a channel by its manifest and settings; `row` counts in place of its row."""
        row = row or setup.rows.webhook or WebhookRow()
        named = (row.word, "" if row.proof is None else row.proof.secret)
        return cls(
            row,
            platform=setup.name,
            secrets={name: str(setup.settings.get(name) or "") for name in named if name},
            clock=setup.clock,
            take=take,
            url=setup.webhook_url or "",
            unused=unused,
        )

    def open(self, accept: Accept) -> None:
        """Take calls from now on."""
        self._accept = accept

    async def close(self) -> None:
        """Take no more calls; whatever is not stored yet was not acknowledged and is repeated."""
        self._accept = None
        for task in tuple(self._working):
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)

    def glance(self, headers: Mapping[str, str], *, path: str) -> None:
        """Raise for a call that no body could prove; `answer` checks all of it again."""
        self._check_used()
        row = self._row.proof
        if row is not None and not self._is_handshake_unproven():
            glance_proof(row, headers, secret=self._secret(row.secret), now=self._clock.now())

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Return the answer to one call, for whatever it holds; raise `NotFound` where none are taken."""
        self._check_used()
        try:
            return await self._answered(request)
        except Unauthenticated as error:
            _log.info("webhook.unproven", platform=self._platform, problem=str(error)[:200])
            return error_response(error)
        except (Refused, TryLater) as error:
            return error_response(error)

    async def _answered(self, request: HttpRequest) -> HttpResponse:
        shake = HANDSHAKES.get(self._row.handshake)
        if shake is not None and (early := shake.unproven(self._row, request, self._secrets)):
            return early
        if request.method not in self._row.methods:
            return wrong_method(request.method, ", ".join(self._row.methods))
        proven = self._prove(request)
        if shake is not None and (answer := shake.proven(self._row, request, self._secrets)):
            return answer
        if self._accept is None:
            raise Overloaded(
                f"{self._platform} is not connected; send it again", retry_after=_RETRY_S
            )
        try:
            answer = await self._worked(self._take(request, self._accept))
        except Skipped:
            answer = None
        except HermesError as error:
            answer = self._failed(error)
        self._remember(proven)
        return answer or HttpResponse(status=self._row.accepted, content_type="text/plain")

    def _prove(self, request: HttpRequest) -> bytes:
        """Return what the call is recognised by; raise for one that is not authentic, or not new."""
        row = self._row.proof
        if row is None:
            return b""
        proven = check_proof(
            row,
            request,
            secret=self._secret(row.secret),
            now=self._clock.now(),
            url=self._called_url(request),
        )
        if self._row.once and proven in self._taken:
            raise Unauthenticated("the call was already accepted; a retry has a new signature")
        return proven

    def _remember(self, proven: bytes) -> None:
        if self._row.once and proven:
            self._taken.put(proven, None)

    def _called_url(self, request: HttpRequest) -> str:
        """Return the public address that was called, with what follows the channel's name."""
        name = self._url.rpartition(_MOUNT)[2] or self._platform
        rest = request.path.partition(f"{_MOUNT}{name}")[2]
        query = f"?{request.query_string}" if request.query_string else ""
        return f"{self._url}{rest}{query}"

    async def _worked(self, work: Awaitable[HttpResponse | None]) -> HttpResponse | None:
        """Return the answer of the work, which goes on if it takes longer than the platform waits."""
        task = asyncio.ensure_future(work)
        self._working.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait({task}, timeout=self._row.answer_s)
        if not task.done():
            # If the message is sent again, it is known by then.
            raise Overloaded("the message is not stored yet; send it again", retry_after=_RETRY_S)
        return task.result()

    def _ended(self, task: "asyncio.Task[HttpResponse | None]") -> None:
        self._working.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.info("webhook.failed", platform=self._platform, problem=type(error).__name__)

    def _failed(self, error: HermesError) -> HttpResponse:
        """Return the answer for a call that is refused for good; raise if it may be repeated."""
        if is_final(error):
            return self._refused(error)
        if isinstance(error, StoreError):
            _log.error("webhook.not_kept", platform=self._platform, code=error.code)
            raise Overloaded(
                "the message cannot be stored now; send it again", retry_after=_RETRY_S
            ) from error
        raise error

    def _refused(self, error: HermesError) -> HttpResponse:
        """Return the answer to what is refused: the status of the row, or that of the error."""
        _log.warning(
            "webhook.refused", platform=self._platform, code=error.code, problem=str(error)[:200]
        )
        is_malformed = isinstance(error, BadRequest | TooLarge)
        status = self._row.malformed if is_malformed else self._row.refused
        if status:
            answer = HttpResponse(status=status, content_type="text/plain")
        else:
            shown = error if isinstance(error, Refused) else Refused("the message cannot be stored")
            answer = error_response(shown)
        return msgspec.structs.replace(answer, headers={**answer.headers, **self._row.final})

    def _check_used(self) -> None:
        if self._unused:
            raise NotFound(self._unused)

    def _secret(self, name: str) -> str:
        return self._secrets.get(name, "")

    def _is_handshake_unproven(self) -> bool:
        return self._row.handshake in {"echo_query", "qq_op13"}


async def keep_all(events: Iterable[MessageEvent], accept: Accept) -> tuple[Acceptance, ...]:
    """Pass the events of one call to the inbox, in order; return what was stored.

    One that is refused for good does not make the platform repeat the others; only if none is stored,
    the refusal is raised. One that may be stored later makes it repeat all: what is stored already is
    known then. Until it is, nothing that came later in its chat overtakes it.
    """
    stored: list[Acceptance] = []
    refused: HermesError | None = None
    later: HermesError | None = None
    waiting: set[str] = set()
    for event in events:
        if event.source.chat_id in waiting:
            continue
        try:
            stored.append(await accept(event))
        except Skipped:
            continue
        except HermesError as error:
            if is_final(error):
                refused = error
                _log.warning("webhook.event_refused", id=event.external_id, code=error.code)
                continue
            later = error
            if not isinstance(error, RateLimited):
                waiting.add(event.source.chat_id)
    if later is not None:
        raise later
    if refused is not None and not stored:
        raise refused
    return tuple(stored)


def is_final(error: HermesError) -> bool:
    """Return whether the inbox will never take a message, so that repeating it does not help."""
    is_rejected = isinstance(error, StoreRejected) and not isinstance(error, StoreDamaged)
    return isinstance(error, Refused) or is_rejected
