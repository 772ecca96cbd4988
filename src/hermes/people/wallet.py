"""Texts about a person's credits in a chat, and the command `/credits [CODE]`."""

from hermes.config import CreditSettings
from hermes.errors import NoCredits
from hermes.message.referral_code import spoken
from hermes.people.credits import Terms
from hermes.people.referral import Referral
from hermes.ports.wallet import Wallet
from hermes.texts.say import say, say_count

_COMMAND = "/credits"
_NO_CODE = "none"


def parse_credits(text: str) -> str | None:
    """Return the code of `/credits CODE`, "" for a plain `/credits`, None for other texts."""
    word, _, rest = text.strip().partition(" ")
    return rest.strip() if word.partition("@")[0].lower() == _COMMAND else None


def upgrade_text(wallet: Wallet | None, error: NoCredits, *, settings: CreditSettings) -> str:
    """Return the answer to a person whose credits do not pay for the message."""
    return settings.upgrade_message.format(
        referral_code=_code(wallet), balance=error.balance, price=error.price
    )


def wallet_text(wallet: Wallet | None, terms: Terms) -> str:
    """Return a person's balance as text."""
    code = say("Your referral code is {code}.", code=_code(wallet))
    if not terms.limited:
        return say("Your messages are free. {code}", code=code)
    balance = 0 if wallet is None else wallet.balance
    if wallet is None or not wallet.is_limited:
        balance = max(0, balance) + start_to_come(wallet, terms)
    return say(
        "You have {balance}; a message costs {price}. {code}",
        balance=in_credits(balance),
        price=terms.price,
        code=code,
    )


def start_to_come(wallet: Wallet | None, terms: Terms) -> int:
    """Return the credits that a person gets with their next message, before it is paid."""
    return (
        0 if not terms.limited or (wallet is not None and wallet.had_start) else terms.start_grant
    )


def referral_text(referral: Referral) -> str:
    """Return the answer to a newcomer who sent a code."""
    if not referral.bonus:
        return say("Thank you: I noted the code {code}.", code=spoken(referral.code))
    return say(
        "Welcome! The code {code} gives {bonus} to you, and thanks to the person who gave it "
        "to you.",
        code=spoken(referral.code),
        bonus=in_credits(referral.bonus),
    )


def in_credits(amount: int) -> str:
    """Return a number of credits in words."""
    return say_count("{count} credit", "{count} credits", amount)


def _code(wallet: Wallet | None) -> str:
    return _NO_CODE if wallet is None or wallet.code is None else spoken(wallet.code)
