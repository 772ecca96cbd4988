"""The routing plan: ordered candidates, each with the rule that put it there.

What was dropped is kept with its reason. The pipeline, the journal and `hermes why` share these
types; `decide` makes the plan.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from hermes.ports.options import Option
from hermes.ports.provider import Capability, ProviderInfo
from hermes.ports.request_numbers import WholeNumber


class Candidate(msgspec.Struct, frozen=True):
    """A provider and model to try, and why."""

    provider: str
    model: str
    rule: str


def candidate_named(name: str, rule: str = "") -> Candidate:
    """Return the candidate of a `provider:model`."""
    provider, _, model = name.partition(":")
    return Candidate(provider, model, rule)


class DroppedProvider(msgspec.Struct, frozen=True):
    """A provider that is not tried, and why not."""

    provider: str
    reason: str


class Plan(msgspec.Struct, frozen=True):
    """What to try, in order."""

    candidates: tuple[Candidate, ...]
    dropped: tuple[DroppedProvider, ...] = ()


def clock_time(instant: float) -> str:
    """Return the time of day of an instant, for people."""
    return datetime.fromtimestamp(instant, UTC).strftime("%H:%M:%S UTC")


class CoolingPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """A model that is not called `until` then (seconds since 1970), and why.

    `reason` is the error of the last call: it may be told to operators, not to other callers.
    """

    until: float
    failures: int = 0
    status: int | None = None
    reason: str = ""

    @property
    def words(self) -> str:
        """Say until when the model is not called, and why, without what a service said."""
        at = clock_time(self.until)
        if self.status is not None:
            return f"is not called until {at}: the service answered {self.status}"
        times = "once" if self.failures <= 1 else f"{self.failures} times in a row"
        return f"is not called until {at}: it failed {times}"


class ProviderOffer(msgspec.Struct, frozen=True):
    """A provider as routing sees it: what it can do, and whether it can be called now.

    `cooling` has the models that are not called for a while because they failed.
    """

    info: ProviderInfo
    available: bool
    problem: str | None = None
    cooling: Mapping[str, CoolingPeriod] = {}


class CallNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What a call needs and which model was named for it, the strongest first.

    `model` is named for this call, `session_model` for the session, `default_model` for the agent
    or for everyone; `auto` leaves it to `tier`'s chain or to the decision tree. `options` are those
    without which the answer would not be what the caller asked for, `tokens` about how many cannot
    be left out of the call; 0 if any model holds them. `agent` is the key of the agent that makes the
    call, which may have keys of its own for some services; empty for the gateway itself.
    """

    prompt: str = ""
    capability: Capability = "chat"
    model: str | None = None
    session_model: str | None = None
    default_model: str = "auto"
    tier: str | None = None
    task: str | None = None
    tools: bool = False
    images: bool = False
    tokens: WholeNumber = 0
    options: tuple[Option, ...] = ()
    agent: str = ""
