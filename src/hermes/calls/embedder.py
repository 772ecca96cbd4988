"""Vectors for texts: like a model call, with a plan, a slot and a charge, but without a stream."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

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
    ModelRequest,
    Provider,
    SharedEmbedder,
)
from hermes.routing.plan import Candidate, Plan


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
        texts: tuple[str, ...],
        plan: Plan,
        *,
        payer: Payer,
        receipt: SpendLog,
        tell: Callable[[CallEvent], None],
    ) -> Embedding:
        """Return the vectors, reporting every try; raises the last error if all fail."""
        problem: ProviderError = ProviderRejected("no candidate makes embeddings")
        for candidate in plan.candidates:
            try:
                return await self._try(texts, candidate, payer=payer, receipt=receipt, tell=tell)
            except ProviderError as error:
                problem = error
                tell(CallFailure(candidate, error))
                if isinstance(error, ProviderRejected) and error.everywhere:
                    raise
        raise problem

    async def _try(
        self,
        texts: tuple[str, ...],
        candidate: Candidate,
        *,
        payer: Payer,
        receipt: SpendLog,
        tell: Callable[[CallEvent], None],
    ) -> Embedding:
        provider = self._providers.get(candidate.provider)
        if provider is None or not isinstance(provider, Embedder):
            raise ProviderRejected(f"{candidate.provider} makes no embeddings")
        request = ModelRequest(
            model=candidate.model,
            messages=tuple(user_text(text) for text in texts),
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
                    made = await _embed(provider, texts, model=candidate.model, payer=payer)
            except TimeoutError:
                raise ProviderTimeout(
                    f"{candidate.provider} made no embeddings in {self._limit_s:g} s"
                ) from None
            paid = await charge.pay(CallEnd((), "end", made.usage, made.model))
        return msgspec.structs.replace(made, usage=paid.usage)


async def _embed(
    provider: Embedder, texts: tuple[str, ...], *, model: str, payer: Payer
) -> Embedding:
    if isinstance(provider, SharedEmbedder):
        return await provider.embed_for(":".join(payer.asker), texts, model=model)
    return await provider.embed(texts, model=model)
