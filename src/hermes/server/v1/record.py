"""The record of one call under `/v1`, for `hermes why` and the ledger: ids, names and numbers."""

import msgspec

from hermes.calls.call_charge import SpendLog
from hermes.calls.events import CallEvent, CallFailure, CallStart, FullAnswer
from hermes.calls.ledger import CallLedger
from hermes.errors import HermesError, OverBudget, ProviderError
from hermes.message.reply import Usage
from hermes.ports.channel import HttpResponse
from hermes.ports.clock import Clock
from hermes.ports.provider import ModelName
from hermes.ports.spend import CallLine
from hermes.routing.plan import Candidate
from hermes.server.v1.callers import ApiCaller
from hermes.server.v1.dialect import Stamp


def name_of(candidate: Candidate) -> str:
    """Return a candidate as `provider:model`."""
    return f"{candidate.provider}:{candidate.model}"


class Record:
    """Follows a call and writes its record once, however it ends."""

    def __init__(
        self, stamp: Stamp, caller: ApiCaller, *, ledger: CallLedger, clock: Clock
    ) -> None:
        self.stamp = stamp
        self.receipt = SpendLog()
        self.caller = caller
        self.wanted = ""
        self._ledger = ledger
        self._clock = clock
        self._running: list[Candidate] = []
        self._model = ""
        self._attempts: list[dict[str, object]] = []
        self._outcome = "left"
        self._cached_from: str | None = None
        self._limit: str | None = None
        self._is_written = False

    def hear(self, event: CallEvent) -> None:
        """Follow the call."""
        if isinstance(event, CallStart):
            self._running.append(event.candidate)
            self._model = event.candidate.model
            told: dict[str, object] = {
                "model": name_of(event.candidate),
                "rule": event.candidate.rule,
            }
            if event.deployment:
                told["deployment"] = event.deployment
            self._attempts.append(told)
        elif isinstance(event, ModelName):
            self._model = event.model
        elif isinstance(event, CallFailure):
            # Of two candidates that run side by side, the first may fail last.
            self._blame(event.error, name_of(event.candidate))
            self._drop(event.candidate)
        elif isinstance(event, FullAnswer):
            self.answered()
            self._cached_from = event.cached_from
            if event.dropped_calls and self._attempts:
                self._attempts[-1]["dropped_calls"] = event.dropped_calls

    @property
    def answering(self) -> str:
        """The candidate that answers, as `provider:model`."""
        return "" if self.candidate is None else name_of(self.candidate)

    @property
    def candidate(self) -> Candidate | None:
        """The candidate that was asked last and has not failed."""
        return self._running[-1] if self._running else None

    def _drop(self, candidate: Candidate) -> None:
        """Forget a candidate that has failed; the one beside it may answer."""
        self._running = [one for one in self._running if one != candidate]
        if self._running:
            self._model = self._running[-1].model

    def stamp_of_stream(self) -> Stamp:
        """Return the stamp of an answer that begins now, with the model that writes it."""
        return msgspec.structs.replace(self.stamp, model=self._model)

    def answered(self) -> None:
        """Record that there is an answer."""
        self._outcome = "answered"

    def refused(self, response: HttpResponse) -> HttpResponse:
        """Return an error's answer with the id that `hermes why` explains."""
        headers = {**response.headers, "x-request-id": self.stamp.id, "request-id": self.stamp.id}
        return msgspec.structs.replace(response, headers=headers)

    def failed(self, error: HermesError) -> None:
        """Record why there is no answer."""
        self._outcome = error.code
        if isinstance(error, OverBudget):
            self._limit = error.limit
        if isinstance(error, ProviderError):
            self._blame(error)

    def _blame(self, error: ProviderError, model: str | None = None) -> None:
        tried = [one for one in self._attempts if model is None or one["model"] == model]
        if tried:
            tried[-1]["problem"] = error.code
            if error.status is not None:
                tried[-1]["status"] = error.status

    def write(self) -> None:
        """Write the call to the ledger; a second call does nothing."""
        if self._is_written:
            return
        self._is_written = True
        spent = self.receipt.take()
        used = spent[0].usage if spent else Usage()
        for one in spent[1:]:
            used = used.plus(one.usage)
        data: dict[str, object] = {
            "wanted": self.wanted[:200],
            "user": self.caller.user,
            "key": "" if self.caller.key is None else self.caller.key.id,
            "outcome": self._outcome,
            "attempts": self._attempts,
            "tokens_in": used.tokens_in,
            "tokens_out": used.tokens_out,
            "cost_usd": used.cost_usd,
            "unpriced": used.unpriced,
            "ms": round((self._clock.now() - self.stamp.at) * 1000),
        }
        if self._cached_from is not None:
            data["cached_from"] = self._cached_from
        if self._limit is not None:
            data["limit"] = self._limit
        self._ledger.note(spent, CallLine(id=self.stamp.id, at=self.stamp.at, data=data))
