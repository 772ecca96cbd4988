"""Vectors for texts: like a model call, with a plan, a slot and a charge, but without a stream."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from hermes.calls.agent_providers import providers_of
from hermes.calls.budgets import Payer
from hermes.calls.call_charge import CallCharge, Pricing, SpendLog
from hermes.calls.capacity import CallLimit
from hermes.calls.events import CallEvent, CallFailure, CallStart
from hermes.errors import ProviderError, ProviderRejected, ProviderTimeout
from hermes.message.chat import user_text
from hermes.ports.provider import (
    CallEnd,
    Embedder,
    Embedding,
    EmbedInput,
    FlexibleEmbedder,
    ModelRequest,
    Provider,
    SharedEmbedder,
)
from hermes.routing.plan import Candidate, Plan

_A_TOKEN = "four"  # the usual number of characters of a token


class Embeddings:
    """Runs embedding calls over the candidates of a plan."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        *,
        limit: CallLimit,
        pricing: Pricing,
        limit_s: float,
    ) -> None:
        self._providers = providers
        self._limit = limit
        self._pricing = pricing
        self._limit_s = limit_s

    async def run(
        self,
        texts: tuple[EmbedInput, ...],
        plan: Plan,
        *,
        payer: Payer,
        receipt: SpendLog,
        tell: Callable[[CallEvent], None],
        dimensions: int | None = None,
    ) -> Embedding:
        """Return the vectors, reporting every try; raises the last error if all fail.

        `dimensions` is the length of the vectors, and token numbers may stand for texts; the plan's
        candidates must have the options for that.
        """
        problem: ProviderError = ProviderRejected("no candidate makes embeddings")
        for candidate in plan.candidates:
            try:
                return await self._try(
                    texts,
                    candidate,
                    payer=payer,
                    receipt=receipt,
                    tell=tell,
                    dimensions=dimensions,
                )
            except ProviderError as error:
                problem = error
                tell(CallFailure(candidate, error))
                if isinstance(error, ProviderRejected) and error.everywhere:
                    raise
        raise problem

    async def _try(
        self,
        texts: tuple[EmbedInput, ...],
        candidate: Candidate,
        *,
        payer: Payer,
        receipt: SpendLog,
        tell: Callable[[CallEvent], None],
        dimensions: int | None,
    ) -> Embedding:
        provider = providers_of(self._providers, payer.account.agent).get(candidate.provider)
        if provider is None or not isinstance(provider, Embedder):
            raise ProviderRejected(f"{candidate.provider} makes no embeddings")
        request = ModelRequest(
            model=candidate.model,
            messages=tuple(user_text(_charged(text)) for text in texts),
            max_output_tokens=0,
        )
        charge = CallCharge(
            self._pricing,
            payer,
            info=provider.info,
            candidate=candidate,
            request=request,
            receipt=receipt,
        )
        async with self._limit.place(payer.asker), charge:
            tell(CallStart(candidate))
            charge.send()
            try:
                async with asyncio.timeout(self._limit_s):
                    made = await _embed(
                        provider, texts, model=candidate.model, payer=payer, dimensions=dimensions
                    )
            except TimeoutError:
                raise ProviderTimeout(
                    f"{candidate.provider} made no embeddings in {self._limit_s:g} s"
                ) from None
            paid = await charge.pay(CallEnd((), "end", made.usage, made.model))
        return msgspec.structs.replace(made, usage=paid.usage)


def _charged(text: EmbedInput) -> str:
    """Return a text that is about as long as its input, for the estimate of the cost."""
    return text if isinstance(text, str) else _A_TOKEN * len(text)


async def _embed(
    provider: Embedder,
    inputs: tuple[EmbedInput, ...],
    *,
    model: str,
    payer: Payer,
    dimensions: int | None,
) -> Embedding:
    texts = tuple(one for one in inputs if isinstance(one, str))
    if dimensions is not None or len(texts) != len(inputs):
        if not isinstance(provider, FlexibleEmbedder):
            raise ProviderRejected("the provider has neither dimensions nor token numbers")
        return await provider.embed_with(inputs, model=model, dimensions=dimensions)
    if isinstance(provider, SharedEmbedder):
        return await provider.embed_for(":".join(payer.asker), texts, model=model)
    return await provider.embed(texts, model=model)
