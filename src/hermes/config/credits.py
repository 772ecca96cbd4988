"""The settings of credits: who has how many, what a message costs, what is said when none are left.

Part of config. A tier that is listed has its own policy, price or start grant; what it leaves out
is everybody's.
"""

from collections.abc import Mapping
from string import Formatter
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hermes.config.section import Count, Days, Means, Named, Section, Whole

CreditPolicy = Literal["unlimited", "wallet"]
# The names allowed in braces in the message.
FIELDS = ("referral_code", "balance", "price")


def _has_known_fields(text: str) -> str:
    """Refuse fields that nobody fills in; no attribute or format of one can be asked for."""
    for _, name, form, conversion in Formatter().parse(text):
        if name is not None and (name not in FIELDS or form or conversion):
            raise ValueError
    return text


Message = Annotated[
    str,
    Field(min_length=1, max_length=2_000),
    AfterValidator(_has_known_fields),
    Means(
        "a text in which {referral_code}, {balance} and {price} may stand, and no other "
        "braces unless doubled"
    ),
]


class CreditTier(Section):
    """What is different for the people of one tier."""

    policy: CreditPolicy | None = Field(default=None, description="The policy of the tier.")
    price_per_message: Whole | None = Field(
        default=None, description="The credits one answered message costs people of the tier."
    )
    start_grant: Whole | None = Field(
        default=None, description="The credits that people of the tier start with."
    )


class CreditSettings(Section):
    """What a message costs a person, and what they have to spend."""

    policy: CreditPolicy = Field(
        default="unlimited",
        description="unlimited counts credits but refuses nobody. With wallet, a message that "
        "the person's credits do not cover gets the upgrade message instead of an answer.",
    )
    price_per_message: Whole = Field(
        default=1, description="The credits one answered message costs."
    )
    start_grant: Whole = Field(
        default=20,
        description="The credits that everyone gets once, when a limit first applies.",
    )
    upgrade_message: Message = Field(
        default="You have no credits left for this: it costs {price}, and you have {balance}. "
        "Your referral code is {referral_code}.",
        description="The text for a person whose credits do not cover the message.",
    )
    referral_bonus: Whole = Field(
        default=0,
        description="The credits that a newcomer and the owner of their referral code each get, "
        "once.",
    )
    referral_days: Days = Field(
        default=7, description="How long after the first message a person counts as a newcomer."
    )
    referral_most: Count = Field(
        default=50, description="A person gets a bonus for at most this many newcomers."
    )
    tiers: Named[CreditTier] = Field(
        default_factory=lambda: _NO_TIERS,
        description="What differs for people of a tier, by its name.",
    )


_NO_TIERS: Mapping[str, CreditTier] = MappingProxyType({})
