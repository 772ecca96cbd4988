"""The default model that an operator chose: kept in the store, and used by the planner.

Between the order `models.swap` and the planner; it decides nothing about calls.
"""

import structlog

from hermes.calls.planner import Planner
from hermes.control.status import ModelSwapStatus
from hermes.errors import BadRequest, NotFound, ProviderUnavailable
from hermes.ports.clock import Clock
from hermes.ports.operations import ModelSwap, ModelSwapStore
from hermes.routing.decide import AUTO
from hermes.routing.plan import CallNeeds

AS_CONFIGURED = "default"
_log = structlog.get_logger(__name__)


class ModelSwaps:
    """Changes the default model of a planner, over restarts; `configured` is the one in the settings."""

    def __init__(
        self, store: ModelSwapStore, planner: Planner, *, configured: str, clock: Clock
    ) -> None:
        self._store = store
        self._planner = planner
        self._configured = configured
        self._clock = clock
        self._kept: ModelSwap | None = None
        self._problem: str | None = None

    @property
    def model(self) -> str:
        """The default model now."""
        return self._planner.default_model or self._configured

    def status(self) -> ModelSwapStatus | None:
        """Return the choice of the operator, with why it is not used if it is not; None without one."""
        if self._kept is None:
            return None
        return ModelSwapStatus(model=self._kept.model, at=self._kept.at, problem=self._problem)

    async def restore(self) -> None:
        """Use the choice from before the start, unless the configuration no longer has the model."""
        self._kept = await self._store.get()
        if self._kept is None:
            return
        self._problem = await self._why_unusable(self._kept.model)
        if self._problem is None:
            self._planner.default_model = self._kept.model
            _log.info("model_swap_restored", model=self._kept.model)
        else:
            _log.warning("model_swap_ignored", model=self._kept.model, problem=self._problem)

    async def swap(self, name: str) -> tuple[str, str]:
        """Make a model the default from the next turn on; return its whole name, and a warning if
        it is unknown.
        """
        model, note = await self._resolve(name)
        kept = None if model is None else ModelSwap(model=model, at=self._clock.now())
        await self._store.set(kept)
        self._kept, self._problem = kept, None
        self._planner.default_model = model
        return self.model, note

    async def _resolve(self, name: str) -> tuple[str | None, str]:
        if name == AS_CONFIGURED:
            return None, ""
        if name == AUTO:
            return AUTO, ""
        plan = await self._planner.plan(CallNeeds(model=name, tools=False))
        first = plan.candidates[0]
        return f"{first.provider}:{first.model}", self._planner.note_on(plan)

    async def _why_unusable(self, model: str) -> str | None:
        try:
            await self._resolve(model)
        except (NotFound, BadRequest) as error:
            return str(error)
        except ProviderUnavailable:
            # It is configured, and may answer later.
            return None
        return None
