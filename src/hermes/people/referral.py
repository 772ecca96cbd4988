"""Who may use whose referral code, and what both people get.

A code works for newcomers, once, and only if its owner was here before them. So nobody can use
their own code, and no two people can use each other's.
"""

import msgspec

from hermes.config import CreditSettings
from hermes.errors import Conflict, Forbidden, NotFound
from hermes.message.referral_code import read_code, spoken
from hermes.ports.people import PeopleStore, Person
from hermes.ports.wallet import NewReferral, WalletStore
from hermes.texts.say import say

_DAY_S = 86_400.0


class Referral(msgspec.Struct, frozen=True, kw_only=True):
    """A code that was accepted: its owner, what it gave, and whether it was new."""

    code: str
    person_id: str
    referred_by: str
    bonus: int
    changed: bool


async def bring_code(
    people: PeopleStore,
    wallets: WalletStore,
    *,
    person: Person,
    text: str,
    settings: CreditSettings,
    at: float,
) -> Referral:
    """Apply a referral code for a newcomer; the same code again changes nothing."""
    code = read_code(text)
    owner_id = await wallets.owner(code)
    owner = None if owner_id is None else await people.get(owner_id)
    if owner is None:
        raise NotFound(
            say("Nobody has the referral code {code}: check it for a slip.", code=spoken(code))
        )
    if owner.id == person.id:
        raise Forbidden(say("This is your own referral code: it is for people who are new here."))
    known = await wallets.get(person.id)
    if known is None or known.referred_by != owner.id:
        _check_is_newcomer(person, owner, settings=settings, at=at)
    referral = NewReferral(
        person_id=person.id,
        referred_by=owner.id,
        bonus=settings.referral_bonus,
        most=settings.referral_most,
        at=at,
    )
    changed = await wallets.refer(referral)
    now = await wallets.get(person.id)
    if not changed and (now is None or now.referred_by != owner.id):
        raise Conflict(say("You have brought a referral code before: only the first one counts."))
    return Referral(
        code=code,
        person_id=person.id,
        referred_by=owner.id,
        bonus=settings.referral_bonus,
        changed=changed,
    )


def _check_is_newcomer(
    person: Person, owner: Person, *, settings: CreditSettings, at: float
) -> None:
    """Refuse codes of people who came later: two could otherwise use each other's."""
    if owner.created_at > person.created_at:
        raise Forbidden(say("You were here before the person whose referral code this is."))
    if at - person.created_at > settings.referral_days * _DAY_S:
        raise Forbidden(
            say(
                "A referral code counts in a person's first {days} days only.",
                days=settings.referral_days,
            )
        )
