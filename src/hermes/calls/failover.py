"""The position of a call in its plan, and what follows a failure.

Before the first piece is shown, any failure moves on to another deployment of the candidate, then to
the next candidate, unless every candidate would fail the same way; the last one is tried once more.
After the first piece the failure is final, unless the next candidate can continue the answer.
"""

from collections.abc import Callable

import msgspec

from hermes.calls import schema_ways
from hermes.calls.continuation import Continuation, continuing, takes_prefill
from hermes.calls.events import Piece
from hermes.calls.shown_pieces import ShownPieces
from hermes.errors import (
    AnswerInvalid,
    AnswerTooLong,
    PromptTooLong,
    ProviderCooling,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.ports.provider import ModelName, ModelRequest, ProviderInfo, TextDelta
from hermes.routing.plan import Candidate, Plan

_MOST_TRIES = 3
_MOST_DEPLOYMENTS = 5
_TOO_MANY = 429
_OUT_OF_MONEY = 402
# Refusals that concern the key of a deployment: it is wrong, or takes less in a minute.
_OF_THE_KEY = frozenset({401, 413, 429})
_MAY_MEAN_PREFILL = frozenset({400, 422})
_MAY_MEAN_JSON_MODE = frozenset({400, 422})


class Failover:
    """One call's progress through its plan."""

    def __init__(
        self,
        plan: Plan,
        request: ModelRequest,
        *,
        max_wait_s: float,
        continues: bool,
        retry_wait: Callable[[], float] | None = None,
    ) -> None:
        self._plan = plan
        self._wanted = request
        self._wait_left_s = max_wait_s
        self._continues = continues
        self._retry_wait = retry_wait
        self._tried: frozenset[str] = frozenset()
        self.has_waited = False
        self._place = 0
        self._tries = 1
        self._repair: ModelRequest | None = None
        self._text: list[str] = []
        self._is_prefilled = False
        self._no_prefill = False
        self._has_shown_other = False
        self._is_cut = False
        self.last_sent = request
        self._way: schema_ways.Way | None = None
        self.asks_in_words = False

    @property
    def candidate(self) -> Candidate:
        """The candidate to call now."""
        return self._plan.candidates[self._place]

    @property
    def is_last(self) -> bool:
        """Whether there is no other candidate."""
        return self._place + 1 >= len(self._plan.candidates)

    @property
    def tried(self) -> frozenset[str]:
        """The deployments of the candidate that were called already."""
        return self._tried

    @property
    def has_shown(self) -> bool:
        """Whether anything of an answer was shown."""
        return bool(self._text) or self._has_shown_other

    @property
    def text(self) -> str:
        """The text that was shown so far."""
        return "".join(self._text)

    def request(self, info: ProviderInfo) -> ModelRequest:
        """Return the request for the candidate: original, repaired, or continuing an answer."""
        base = self._repair or self._wanted
        if self._text:
            self._is_prefilled = self._prefills(info)
            base = continuing(base, self.text, prefill=self._is_prefilled)
        return msgspec.structs.replace(base, model=self.candidate.model)

    def passing(self, info: ProviderInfo) -> ShownPieces:
        """Return the filter that decides which pieces of the candidate's answer are shown."""
        continuation = None
        if self._text:
            continuation = Continuation(self.text, prefill=self._prefills(info), name=info.name)
        return ShownPieces(continuation, one_call=not self._wanted.parallel_tools)

    def _prefills(self, info: ProviderInfo) -> bool:
        model = self.candidate.model
        return not self._no_prefill and takes_prefill(info, model, shown=self.text)

    def show(self, piece: Piece | ModelName) -> None:
        """Remember what was shown."""
        if isinstance(piece, TextDelta):
            if piece.text:
                self._text.append(piece.text)
        elif not isinstance(piece, ModelName):
            self._has_shown_other = True

    def sent(self, request: ModelRequest, way: schema_ways.Way | None) -> None:
        """Remember what the candidate is sent, and in which way it is asked for JSON."""
        self.last_sent, self._way = request, way

    def _may_mean_json_mode(self, error: ProviderError) -> bool:
        """Return whether a service may have refused its JSON mode, as for a model without it."""
        schema = self._wanted.schema
        is_native = schema is not None and schema.is_json_mode and self._way == "native"
        return is_native and error.status in _MAY_MEAN_JSON_MODE

    def _may_wait(self, wait: float) -> bool:
        return wait <= self._wait_left_s and self._tries < _MOST_TRIES

    def _can_go_on(self) -> bool:
        """Return whether the answer can be continued; a partial tool call or JSON cannot."""
        return self._continues and not self._has_shown_other and self._wanted.schema is None

    def try_at(self, deployment: str) -> None:
        """Remember that the candidate is called at a deployment now."""
        self._tried |= {deployment}
        self.has_waited = False

    def after(self, error: ProviderError, *, has_other: bool = False) -> float:
        """Move on after a failure; return how long to wait first, or raise the failure.

        `has_other` says that a deployment of the candidate was not tried and may be called.
        """
        has_shown = self.has_shown
        if has_shown and (isinstance(error, AnswerTooLong) or not self._can_go_on()):
            raise error
        if self._is_prefilled and error.status in _MAY_MEAN_PREFILL:
            # A model that thinks may take no prefill: it is asked to repeat the text instead.
            self._is_prefilled, self._no_prefill = False, True
            return 0.0
        if self._can_cut(error) and not has_shown:
            # It is asked once more with less, by what its refusal taught.
            self._is_cut = True
            return 0.0
        if self._may_mean_json_mode(error) and not has_shown:
            self.asks_in_words = True
            return 0.0
        if isinstance(error, ProviderRejected) and error.everywhere:
            raise error
        if isinstance(error, AnswerInvalid) and self._repair is None and not has_shown:
            self._repair = schema_ways.repair(self._wanted, error.answer, str(error))
            return 0.0
        if has_other and self._may_do_elsewhere(error):
            return 0.0
        wait = self._wait_after(error, has_shown=has_shown)
        if wait is not None:
            self.has_waited = True
            return wait
        if self.is_last:
            raise error
        self._place += 1
        self._tries = 1
        self._tried = frozenset()
        self._repair = None
        self._is_prefilled = self._no_prefill = self._is_cut = False
        self.asks_in_words = False
        return 0.0

    def _can_cut(self, error: ProviderError) -> bool:
        """Return whether a service found a prompt too long of which older parts may go."""
        is_too_long = isinstance(error, PromptTooLong) and error.status is not None
        return is_too_long and self._wanted.cut_history and not self._is_cut

    def _may_do_elsewhere(self, error: ProviderError) -> bool:
        """Return whether another deployment of the same model may do better."""
        if isinstance(error, ProviderRejected) and error.status not in _OF_THE_KEY:
            return False
        # The same model would write the same.
        is_the_models = isinstance(error, AnswerInvalid | AnswerTooLong)
        return len(self._tried) < _MOST_DEPLOYMENTS and not is_the_models

    def _wait_after(self, error: ProviderError, *, has_shown: bool) -> float | None:
        """Return how long to wait before the same candidate is tried again, or None if it is not."""
        wait = error.retry_after if isinstance(error, ProviderUnavailable) else None
        if wait is None:
            return None if has_shown else self._retry_after(error)
        is_cooling = isinstance(error, ProviderCooling)
        asks = not is_cooling and error.status == _TOO_MANY
        if not (asks or self.is_last) or not self._may_wait(wait):
            return None
        self._tries += 1
        self._wait_left_s -= wait
        return wait

    def _retry_after(self, error: ProviderError) -> float | None:
        """Return the wait before the one retry of a call that has no other candidate.

        Not after a long silence: the caller has waited enough. Not if the account is out of money.
        """
        is_transient = isinstance(error, ProviderUnavailable | StreamTruncated)
        if not (self.is_last and is_transient) or error.status == _OUT_OF_MONEY:
            return None
        retry, self._retry_wait = self._retry_wait, None
        return None if retry is None else retry()
