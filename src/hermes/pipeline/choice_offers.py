"""Shows the answers to a question as buttons where the platform has them, as text elsewhere.

The question is complete without its buttons. What a button stands for is in the store, as words that
the person could also write: a press has no rights of its own.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from hermes.message.ids import MakeId
from hermes.message.offer import NewOffer
from hermes.message.parts import Choice, ChoicesPart, Part, TextPart
from hermes.pipeline.needs import HasClock
from hermes.ports.channel import Buttons

# Returns what can be pressed under a message of a platform, or None.
ButtonsOf = Callable[[str], Buttons | None]


def no_buttons(_platform: str) -> Buttons | None:
    """Return None: nothing can be pressed."""
    return None


class OfferServices(HasClock, Protocol):
    """What an offer needs: an id, a time, and the platform's buttons."""

    @property
    def make_id(self) -> MakeId: ...
    @property
    def buttons(self) -> ButtonsOf: ...


class Option(msgspec.Struct, frozen=True):
    """An answer: what its button shows, and what it says."""

    label: str
    says: str
    style: Literal["plain", "good", "bad"] = "plain"


class OfferTerms(msgspec.Struct, frozen=True, kw_only=True):
    """Where an offer is made, who may use it (empty: whoever may decide the `subject`), and how long."""

    platform: str
    lane: str
    who: str
    valid_s: float
    subject: str | None = None


class OfferedQuestion(msgspec.Struct, frozen=True):
    """A question as parts of a message, and the offer of its answers, if there are buttons."""

    parts: tuple[Part, ...]
    offer: NewOffer | None = None


def offer_answers(
    question: str, options: Sequence[Option], *, terms: OfferTerms, services: OfferServices
) -> OfferedQuestion:
    """Return a question with its answers as buttons; of many answers, the first ones."""
    able = services.buttons(terms.platform)
    plain = OfferedQuestion((TextPart(question),))
    if able is None or not options or able.most < 1:
        return plain
    shown = options[: able.most]
    offer_id = services.make_id("b")
    choices = tuple(
        Choice(_cut(one.label, able.label_chars), f"{offer_id}.{number}", one.style)
        for number, one in enumerate(shown)
    )
    if max(len(choice.value) for choice in choices) > able.value_bytes:
        return plain
    offer = NewOffer(
        id=offer_id,
        lane=terms.lane,
        who=terms.who,
        says=tuple(one.says for one in shown),
        expires_at=services.clock.now() + terms.valid_s,
        subject=terms.subject,
    )
    return OfferedQuestion((ChoicesPart(question, choices),), offer)


def _cut(label: str, most: int) -> str:
    line = " ".join(label.split()) or "-"
    return line if len(line) <= most else line[: most - 1] + "…"
