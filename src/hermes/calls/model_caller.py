"""Runs a model call: tries the candidates of the plan until one answers, and prices the answer.

Each try has its slot, its hold and its time limits; its usage is recorded however it ends. The
listener sees every try before it is sent, and may write it down first.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Any

import msgspec
import structlog

from hermes import failpoints
from hermes.agents.secret_mask import SecretMask
from hermes.calls.answer_checks import (
    check_answer,
    check_verbatim,
    drop_thoughts,
    is_whole,
    note_left_out,
)
from hermes.calls.budgets import Payer
from hermes.calls.call_charge import CallCharge, Pricing, SpendLog, never
from hermes.calls.capacity import CallLimit
from hermes.calls.context_fit import FittedContext, fit_context, request_tokens, with_output_room
from hermes.calls.context_sizes import ContextSizes
from hermes.calls.costs import Cost
from hermes.calls.deployments import CallPass, Deployments
from hermes.calls.events import CallEvent, CallFailure, CallStart, FullAnswer, SlotWait
from hermes.calls.failover import Failover
from hermes.calls.hedge import HedgedCall
from hermes.calls.masked_answer import MaskedAnswer
from hermes.calls.memory import AnswerMemory
from hermes.calls.request_fit import FittedRequest, fit, read
from hermes.calls.sampling import Sampling, sent_sampling, with_sampling
from hermes.calls.shares import ShareHolder
from hermes.calls.shown_pieces import ShownPieces
from hermes.calls.stream_timeout import CallTimes, TimedStream
from hermes.errors import (
    AnswerTooLong,
    PromptTooLong,
    ProviderCooling,
    ProviderError,
    StorageFull,
    StoreError,
    StreamTruncated,
)
from hermes.message.chat import ChatMessage
from hermes.message.parts import ImagePart
from hermes.message.reply import Usage
from hermes.ports.clock import Clock, SystemClock
from hermes.ports.media import LocatePicture
from hermes.ports.observer import CallMeter, NoMeter
from hermes.ports.provider import (
    CallEnd,
    ModelRequest,
    Provider,
    ProviderInfo,
    ReasoningDelta,
)
from hermes.ports.spend import SpendEntry
from hermes.routing.fitness import prompt_room
from hermes.routing.plan import Candidate, Plan

_log = structlog.get_logger(__name__)
Sleep = Callable[[float], Awaitable[None]]


class CallSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A call as its caller specifies it.

    `whole` says that nobody waits for pieces; `wait_s` limits the wait for a service that asks for
    one; `remembers` allows a cached answer. With `shows_thoughts` the whole answer keeps thoughts
    that its service does not take back. The call waits `place_s` for a slot among the model
    calls (None: as the settings say), counted for its `asker`, which defaults to the payer. With
    `hedges` the next candidate may be asked beside a silent one, if the settings say so. What a
    caller leaves that `is_given_up` costs no more than was written.
    """

    call_id: str
    request: ModelRequest
    payer: Payer
    whole: bool = False
    wait_s: float = 0.0
    remembers: bool = False
    shows_thoughts: bool = False
    place_s: float | None = None
    asker: ShareHolder | None = None
    hedges: bool = False
    is_given_up: Callable[[], bool] = never


class _DeploymentCall:
    """`with` reports to the deployments how a call at one of them ended."""

    __slots__ = ("_deployments", "_entry", "_mask", "is_trial", "name", "provider", "rest_s")

    def __init__(self, deployments: Deployments, entry: CallPass, *, mask: SecretMask) -> None:
        self._deployments = deployments
        self._entry = entry
        self._mask = mask
        self.name = entry.deployment.name
        self.provider = entry.deployment.provider
        self.is_trial = entry.is_trial
        self.rest_s = 0.0

    def __enter__(self) -> "_DeploymentCall":
        return self

    def end_trial(self) -> None:
        """Report the first output of a trial call: others need not wait for its end."""
        self._deployments.succeeded(self._entry)
        self._entry = self._entry.after_trial()
        self.is_trial = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._deployments.succeeded(self._entry, rest_s=self.rest_s)
        elif isinstance(error, ProviderError):
            # A service may repeat in its error what it was sent, and the error is told to others.
            error.args = (self._mask.text(str(error)), *error.args[1:])
            self._deployments.failed(self._entry, error)
        else:
            self._deployments.left(self._entry)


class ModelCaller:
    """Runs model calls."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        *,
        limit: CallLimit,
        pricing: Pricing,
        memory: AnswerMemory,
        times: CallTimes,
        sampling: Callable[[Candidate], Sampling],
        contexts: ContextSizes,
        continues: bool,
        deployments: Deployments,
        retry_wait: Callable[[], float] | None = None,
        sleep: Sleep,
        meter: CallMeter | None = None,
        clock: Clock | None = None,
        locate: LocatePicture | None = None,
        mask: SecretMask | None = None,
    ) -> None:
        self._providers = providers
        self._locate = locate
        self._limit = limit
        self._pricing = pricing
        self._memory = memory
        self._times = times
        self._sampling = sampling
        self.contexts = contexts
        self._continues = continues
        self._deployments = deployments
        self._retry_wait = retry_wait
        self._sleep = sleep
        self._meter = meter or NoMeter()
        self._mask = mask or SecretMask()
        self._monotonic = (clock or SystemClock()).monotonic

    def run(
        self, spec: CallSpec, plan: Plan, *, receipt: SpendLog
    ) -> AsyncGenerator[CallEvent, None]:
        """Run a call; raises the last error if no candidate answers."""
        hedge_s = self._times.hedge_s
        if not (hedge_s and spec.hedges and len(plan.candidates) > 1):
            return self._walk(spec, plan, receipt=receipt)
        call = HedgedCall(partial(self._walk, spec, receipt=receipt), plan, after_s=hedge_s)
        return call.run()

    async def _walk(
        self, spec: CallSpec, plan: Plan, *, receipt: SpendLog
    ) -> AsyncGenerator[CallEvent, None]:
        walk = Failover(
            plan,
            spec.request,
            max_wait_s=spec.wait_s,
            continues=self._continues and not spec.whole,
            retry_wait=self._retry_wait,
        )
        while True:
            candidate = walk.candidate
            events = self._try(spec, walk, receipt=receipt)
            try:
                async for event in events:
                    yield event
                return
            except ProviderError as error:
                is_made = not isinstance(error, ProviderCooling)
                if is_made:
                    self._meter.failed(_name(candidate), spec.payer.tier)
                self._learn(walk, error, person_id=spec.payer.account.person_id)
                has_other = self._deployments.has_other(
                    candidate,
                    walk.tried,
                    payer=spec.payer.account.person_id,
                    agent=spec.payer.account.agent,
                )
                wait = walk.after(error, has_other=has_other)
                failure = error
            finally:
                await events.aclose()
            if is_made:
                yield CallFailure(candidate, failure)
            if wait:
                await self._sleep(wait)

    @property
    def largest_context(self) -> int:
        """The tokens that the largest of the models holds."""
        return self.contexts.largest

    def room_of(self, candidate: Candidate, person_id: str) -> int | None:
        """Return how many tokens a person's prompt may have; None if the candidate cuts by itself."""
        provider = self._providers.get(candidate.provider)
        if provider is None or provider.info.demonstration:
            return None
        return prompt_room(self.contexts.of(candidate, person_id))

    def cost_of(self, name: str, usage: Usage) -> Cost:
        """Return what a usage costs at `provider:model`."""
        provider, _, model = name.partition(":")
        found = self._providers.get(provider)
        if found is None:
            return Cost(msgspec.structs.replace(usage, unpriced=usage.tokens_in + usage.tokens_out))
        return self._pricing.costs.of(found.info, model, usage)

    def day(self, at: float) -> str:
        """Return the day of an instant, in the ledger's format."""
        return self._pricing.budgets.day(at)

    async def _try(
        self, spec: CallSpec, walk: Failover, *, receipt: SpendLog
    ) -> AsyncGenerator[CallEvent, None]:
        candidate = walk.candidate
        info = self._deployments.info_of(candidate.provider)
        wanted = with_sampling(walk.request(info), self._sampling(candidate))
        passing, masked = walk.passing(info), MaskedAnswer(self._mask)
        found = await self._remembered(spec, wanted, candidate=candidate, receipt=receipt)
        if found is not None:
            yield CallStart(candidate)
            yield found
            return
        context, fitted = self._fitted(wanted, walk, spec=spec)
        charge = self._charge(spec, candidate, request=fitted.request, receipt=receipt)
        asker = spec.asker or spec.payer.asker
        if await self._must_wait(asker):
            yield SlotWait()
        # The slot comes first: a call that waits for hours must not hold other people's budget.
        async with self._limit.place(asker, wait_s=spec.place_s), charge:
            with self._enter(walk, payer=spec.payer) as place:
                yield CallStart(candidate, place.name)
                has_thought, began = False, self._monotonic()
                charge.send()
                request = _with_files(fitted.request, self._locate)
                stream = TimedStream(place.provider, request, times=self._times)
                async with failpoints.outside("model.call"), stream as timeout:
                    timeout.start_wait()
                    async for event in stream.events:
                        timeout.end_wait()
                        if isinstance(event, CallEnd):
                            end = await charge.pay(event)
                            place.rest_s = event.rest_s
                            self._paid(spec, candidate, end=end, began=began)
                            break
                        charge.hear(event)
                        self._check_size(charge.heard, info.name)
                        if place.is_trial:
                            place.end_trial()
                        has_thought = has_thought or isinstance(event, ReasoningDelta)
                        if not fitted.hides:
                            for piece in masked.pieces(event, passing.pieces):
                                walk.show(piece)
                                yield piece
                        timeout.start_wait()
                    else:
                        raise StreamTruncated(f"{info.name} ended its stream without an end")
        end = masked.whole(note_left_out(read(fitted, end, wanted=wanted), context))
        for piece in chain(masked.rest(passing.pieces), passing.rest(end)):
            walk.show(piece)
            yield piece
        end = drop_thoughts(end, shows_thoughts=spec.shows_thoughts)
        end = check_verbatim(end, has_thought, is_whole=is_whole(fitted, context, info))
        yield await self._answer(spec, wanted, walk=walk, end=end, passing=passing)

    def _check_size(self, heard: int, name: str) -> None:
        """Raise `AnswerTooLong` if a model writes without end."""
        if 0 < self._times.max_chars < heard:
            raise AnswerTooLong(
                f"{name} wrote more than {self._times.max_chars} characters "
                "(turns.max_answer_chars), so the call was ended"
            )

    def _fitted(
        self, wanted: ModelRequest, walk: Failover, *, spec: CallSpec
    ) -> tuple[FittedContext, FittedRequest]:
        """Return the request that fits the candidate's context, and as its model can be asked."""
        info = self._deployments.info_of(walk.candidate.provider)
        person_id = spec.payer.account.person_id
        context = self._in_context(wanted, walk.candidate, person_id=person_id)
        fitted = fit(context.request, info, whole=spec.whole, in_words=walk.asks_in_words)
        walk.sent(fitted.request, fitted.way)
        return context, fitted

    def _in_context(
        self, wanted: ModelRequest, candidate: Candidate, *, person_id: str
    ) -> FittedContext:
        """Return the request cut to what the candidate holds; the built-in model cuts by itself.

        A limit that a caller of `/v1` has set stays as it is.
        """
        if self._deployments.info_of(candidate.provider).demonstration:
            return FittedContext(wanted)
        size, fitted = self.contexts.of(candidate, person_id), FittedContext(wanted)
        if wanted.cut_history:
            fitted = fit_context(wanted, room=prompt_room(size))
        if not (wanted.cut_history or wanted.is_capped):
            return fitted
        request = with_output_room(fitted.request, context=size)
        if request is fitted.request:
            return fitted
        return msgspec.structs.replace(fitted, request=request)

    def _learn(self, walk: Failover, error: ProviderError, *, person_id: str) -> None:
        """Remember the size of a model whose service said that the prompt is too long."""
        sent = walk.last_sent
        if isinstance(error, PromptTooLong) and error.status and sent.cut_history:
            output = (sent.max_output_tokens or 0) if error.counts_output else 0
            size = request_tokens(sent) + output
            self.contexts.learn(walk.candidate, size, person_id=person_id)

    async def _must_wait(self, asker: ShareHolder) -> bool:
        """Return whether the call has to wait for a slot; raises if no call may be made at all."""
        if self._limit.is_free_for(asker):
            return False
        # Without a wait, the hold of the call checks the kill switch right away.
        await self._pricing.budgets.check_switch()
        return True

    def _enter(self, walk: Failover, *, payer: Payer) -> _DeploymentCall:
        """Choose the deployment; raises `ProviderCooling` while none may be called."""
        entry = self._deployments.enter(
            walk.candidate,
            payer=payer.account.person_id,
            agent=payer.account.agent,
            tried=walk.tried,
            waited=walk.has_waited,
        )
        walk.try_at(entry.deployment.name)
        return _DeploymentCall(self._deployments, entry, mask=self._mask)

    def _charge(
        self, spec: CallSpec, candidate: Candidate, *, request: ModelRequest, receipt: SpendLog
    ) -> CallCharge:
        return CallCharge(
            self._pricing,
            spec.payer,
            info=self._deployments.info_of(candidate.provider),
            candidate=candidate,
            request=request,
            receipt=receipt,
            is_given_up=spec.is_given_up,
        )

    async def _answer(
        self,
        spec: CallSpec,
        wanted: ModelRequest,
        *,
        walk: Failover,
        end: CallEnd,
        passing: ShownPieces,
    ) -> FullAnswer:
        """Return the answer for the caller; cache it if it may be used again."""
        check_answer(end, walk)
        candidate = walk.candidate
        answer = FullAnswer(
            candidate=candidate,
            end=passing.whole(end),
            sampling=_made_with(wanted, walk, self._deployments.info_of(candidate.provider)),
            dropped_calls=passing.dropped_calls,
        )
        if answer.dropped_calls:
            _log.warning(
                "tool_calls_dropped",
                call_id=spec.call_id,
                model=_name(candidate),
                dropped=answer.dropped_calls,
            )
        if end.skipped:
            _log.warning(
                "answer_skipped", call_id=spec.call_id, model=_name(candidate), skipped=end.skipped
            )
        if spec.remembers:
            await self._remember(spec, wanted, answer=answer)
        return answer

    async def _remembered(
        self, spec: CallSpec, wanted: ModelRequest, *, candidate: Candidate, receipt: SpendLog
    ) -> FullAnswer | None:
        """Return the cached answer, which costs nothing."""
        if not spec.remembers:
            return None
        found = await self._memory.find(spec.payer.account, candidate, wanted)
        if found is not None:
            receipt.add(self._spent_nothing(spec, found))
            self._meter.cached(_name(candidate), spec.payer.tier)
        return found

    def _paid(self, spec: CallSpec, candidate: Candidate, *, end: CallEnd, began: float) -> None:
        seconds = self._monotonic() - began
        self._meter.called(_name(candidate), spec.payer.tier, usage=end.usage, seconds=seconds)

    def _spent_nothing(self, spec: CallSpec, found: FullAnswer) -> SpendEntry:
        return SpendEntry(
            day=self._pricing.budgets.day(),
            account=spec.payer.account,
            model=_name(found.candidate),
            usage=Usage(),
            is_cached=True,
        )

    async def _remember(self, spec: CallSpec, wanted: ModelRequest, *, answer: FullAnswer) -> None:
        try:
            await self._memory.keep(spec.payer.account, wanted, answer, call_id=spec.call_id)
        except (StoreError, StorageFull) as error:
            _log.warning("answer_not_kept", call_id=spec.call_id, problem=str(error))


def _name(candidate: Candidate) -> str:
    return f"{candidate.provider}:{candidate.model}"


def _with_files(request: ModelRequest, locate: LocatePicture | None) -> ModelRequest:
    """Return a request whose pictures have the whole paths of their files."""
    if locate is None or request.plain_chars is not None:
        return request
    messages = tuple(_with_pictures(message, locate) for message in request.messages)
    return msgspec.structs.replace(request, messages=messages)


def _with_pictures(message: ChatMessage, locate: LocatePicture) -> ChatMessage:
    if not any(isinstance(part, ImagePart) for part in message.parts):
        return message
    parts = tuple(locate(part) if isinstance(part, ImagePart) else part for part in message.parts)
    return msgspec.structs.replace(message, parts=parts)


# Any: JSON, as the request has it
def _made_with(wanted: ModelRequest, walk: Failover, info: ProviderInfo) -> dict[str, Any]:
    """Return the sampling of a call as it was sent, with the output limit."""
    sent = walk.last_sent.max_output_tokens
    return sent_sampling(msgspec.structs.replace(wanted, max_output_tokens=sent), info.options)
