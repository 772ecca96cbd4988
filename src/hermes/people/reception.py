"""Applies the access rules to a sender, and builds the answers that strangers get.

The inbox calls it before it reserves space, and the turn again before it does anything. It changes
only one-time codes, in the store's own transactions.
"""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from hermes.config import Settings
from hermes.message.channel_name import platform_of
from hermes.message.event import MessageEvent
from hermes.message.source import Source
from hermes.people.access import (
    Admission,
    PlatformRules,
    admit,
    is_vouched_for,
    platform_rules,
)
from hermes.people.pairing import (
    LENGTH,
    LET_IN,
    CodeLimits,
    make_code,
    pairing_limits,
    read_code,
    spoken,
)
from hermes.people.slash_access import is_named_admin, may_let_in, may_use, where_of
from hermes.ports.clock import Clock
from hermes.ports.pairing import PairingAsk, PairingCodeResult, PairingStore
from hermes.ports.people import ChannelAccess, Unknown, UserStore
from hermes.texts.say import say, say_count

_HOUR_S = 3_600.0
_INTERNAL = Admission("in", "internal events pass")
_OPEN = Admission("in", "the platform is open")


class AccessNotice(msgspec.Struct, frozen=True):
    """The answer for a sender; None means no answer. `reason` is for `hermes why`."""

    text: str | None
    reason: str
    joined: bool = False


# Tells the admins that somebody got a code: who, the code, and the message with which they asked.
TellAdmins = Callable[[Source, str, str], Awaitable[None]]


async def tell_nobody(_source: Source, _code: str, _message_id: str) -> None:
    """Tell no admin."""


class Reception:
    """Decides who may do what, for every platform of this gateway."""

    def __init__(
        self,
        users: UserStore,
        pairing: PairingStore,
        *,
        settings: Settings,
        manifests: Mapping[str, Unknown],
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        tell_admins: TellAdmins = tell_nobody,
    ) -> None:
        self._tell_admins = tell_admins
        self._users = users
        self._pairing = pairing
        self._settings = settings
        self._manifests = manifests
        self._clock = clock
        self._random_bytes = random_bytes
        self._rules: dict[str, PlatformRules] = {}
        pairing_on = sum(self._rules_of(name).unknown == "pair" for name in manifests)
        self._pairing_limits = pairing_limits(settings.access.pairing, platforms=pairing_on)
        self._link_limits = linking(self._pairing_limits)

    async def admit(self, event: MessageEvent) -> Admission:
        """Decide whether a message is answered."""
        if event.internal:
            return _INTERNAL
        source = event.source
        rules = self._rules_of(source.platform)
        if rules.is_open and not await self._users.is_anybody_blocked():
            return _OPEN
        return admit(
            source, await self._users.channel_access(source.platform, source.user_id), rules=rules
        )

    async def channel_access(self, source: Source) -> ChannelAccess:
        """Return the access state of the sender's channel."""
        return await self._users.channel_access(source.platform, source.user_id)

    def may_use(self, command: str, source: Source, *, admins: bool = False) -> bool:
        """Return whether the sender may use a command where they wrote it.

        A command for `admins` needs a person whom the configuration names, even if all else is
        open.
        """
        access, where = self._settings.access, where_of(source)
        if admins and not is_named_admin(source.user_id, where=where, settings=access):
            return False
        return may_use(command, source.user_id, where=where, settings=access)

    async def turn_away(
        self, event: MessageEvent, admission: Admission, *, person_id: str, message_id: str
    ) -> AccessNotice:
        """Return the answer to a sender who is not admitted."""
        source, rule = event.source, admission.rule
        if admission.verdict == "pair":
            return await self._pair(source, rule, person_id=person_id, message_id=message_id)
        if admission.verdict == "signup":
            text = self._rules_of(source.platform).signup_text or _signup_text(source)
            return AccessNotice(text, f"nobody has let them in, and {rule}")
        if admission.verdict == "tell":
            text = say("I answer only people I know. Write to me in a direct chat first.")
            return AccessNotice(text, f"nobody has let them in, and {rule}")
        if admission.verdict == "blocked":
            return AccessNotice(
                say("You are blocked here. Whoever runs this gateway can lift that."), rule
            )
        return AccessNotice(None, f"it is ignored: {rule}")

    async def link(
        self, source: Source, argument: str, *, person_id: str, message_id: str
    ) -> AccessNotice:
        """Create a code for linking another account, or link this account with a code."""
        if source.chat_type != "dm":
            return AccessNotice(only_directly(), "codes are given and taken in direct chats only")
        now, limits = self._clock.now(), self._link_limits
        if not argument:
            code = make_code(self._random_bytes, limits.length)
            await self._pairing.make_link_code(
                person_id,
                code,
                lets_in=await self._is_vouched_for(source, person_id),
                at=now,
                rules=limits,
            )
            return AccessNotice(code_text(code), "a code to link another channel was made")
        code_given = read_code(argument, limits.length)
        if code_given is None:
            text = malformed(argument, length=limits.length)
            return AccessNotice(text, "what was sent is not a code")
        settled = await self._pairing.use_link_code(
            code_given,
            platform=source.sender[0],
            user_id=source.user_id,
            message_id=message_id,
            at=now,
            rules=limits,
        )
        joined = settled.verdict == "right"
        return AccessNotice(link_text(settled, now=now), f"the code was {settled.verdict}", joined)

    async def may_let_in(self, person_id: str, platform: str) -> bool:
        """Return whether a person may let others in on a platform."""
        user = await self._users.get(person_id)
        return user is not None and may_let_in(user, platform_of(platform), self._settings.access)

    async def let_in(self, platform: str, code_given: str) -> tuple[str, str]:
        """Let in whoever was told a code; return what happened, and the channel on which they are told,
        if they are.
        """
        limits, now = self._pairing_limits, self._clock.now()
        code = read_code(code_given, limits.length)
        if code is None:
            return say("{code_given} is not a pairing code.", code_given=repr(code_given[:40])), ""
        settled = await self._pairing.approve(platform, code, at=now, rules=limits, tell=LET_IN)
        if settled.verdict == "right":
            return say(
                "{platform}:{user_id} is let in.",
                platform=settled.platform,
                user_id=settled.user_id,
            ), settled.told_on
        if settled.until > now:
            return say(
                "There were too many wrong codes for {platform}. Try again in {time}.",
                platform=platform,
                time=minutes(settled.until - now),
            ), ""
        return say(
            "Nobody on {platform} waits with this code: it may be used or too old.",
            platform=platform,
        ), ""

    async def refuse(self, platform: str, user_id: str) -> str:
        """Make the code of somebody who waits worthless; return what happened."""
        if await self._pairing.deny(platform, user_id):
            return say(
                "{platform}:{user_id} is refused: the code is no longer valid.",
                platform=platform,
                user_id=user_id,
            )
        return say(
            "{platform}:{user_id} does not wait to be let in.",
            platform=platform,
            user_id=user_id[:80],
        )

    async def whoami(self, source: Source, person_id: str) -> str:
        """Return who the sender is here; in groups, their other accounts are left out."""
        known = await self._users.get(person_id)
        lines = [
            say("You are {name}, person {person_id}.", name=_name(source), person_id=person_id)
        ]
        if known is not None and source.chat_type == "dm":
            others = [f"{one.platform}:{one.user_id}" for one in known.channels]
            linked = [name for name in others if name != _name(source)]
            lines.append(say("Your tier is {tier}.", tier=known.tier))
            lines += [say("Linked to you: {names}.", names=", ".join(linked))] if linked else []
        where = where_of(source)
        admin = is_named_admin(source.user_id, where=where, settings=self._settings.access)
        lines.append(
            say("You may use every command.") if admin else say("`/help` lists your commands.")
        )
        return " ".join(lines)

    async def _pair(
        self, source: Source, rule: str, *, person_id: str, message_id: str
    ) -> AccessNotice:
        limits, now = self._pairing_limits, self._clock.now()
        code = make_code(self._random_bytes, limits.length)
        ask = PairingAsk(
            platform=source.sender[0],
            user_id=source.user_id,
            person_id=person_id,
            message_id=message_id,
            code=code,
            at=now,
        )
        asked = await self._pairing.ask(ask, rules=limits)
        if asked.asking == "early":
            text = say(
                "You asked to be let in a short while ago: give the code that I sent you to the "
                "operator of this gateway. If it is lost, write again in {time} for a new one.",
                time=minutes(asked.until - now),
            )
            return AccessNotice(
                text, f"nobody has let them in, and they asked a short while ago; {rule}"
            )
        if asked.asking == "full":
            return AccessNotice(
                _full_text(source, asked.until - now),
                f"nobody has let them in, and as many as may are waiting; {rule}",
            )
        await self._tell_admins(source, spoken(code), message_id)
        text = _pairing_text(source, code, valid_s=limits.valid_s)
        return AccessNotice(text, f"nobody has let them in yet; {rule}")

    async def _is_vouched_for(self, source: Source, person_id: str) -> bool:
        person = await self._users.get(person_id)
        return is_vouched_for(
            source,
            is_active=person is not None and person.state in ("owner", "active"),
            rules=self._rules_of(source.platform),
            manifest=self._manifests.get(source.platform, "allow"),
        )

    def _rules_of(self, platform: str) -> PlatformRules:
        rules = self._rules.get(platform)
        if rules is None:
            manifest = self._manifests.get(platform, "allow")
            rules = platform_rules(platform, self._settings, manifest=manifest)
            self._rules[platform] = rules
        return rules


def _full_text(source: Source, wait_s: float) -> str:
    """Return the answer to a newcomer without a code; the operator can let them in without one."""
    return say(
        "Too many people are waiting to be let in here. Please write again in {time}, or "
        "ask the operator of this gateway to let you in without a code: `hermes users "
        "activate {name}`.",
        time=minutes(wait_s),
        name=_name(source),
    )


def _pairing_text(source: Source, code: str, *, valid_s: float) -> str:
    return say(
        "I do not know you yet. Your pairing code is {code}: give it to the operator of this "
        "gateway. They let you in with `hermes pair approve {platform} {code}`, within "
        "{time}. You are {name} here.",
        code=spoken(code),
        platform=source.sender[0],
        time=how_long(valid_s),
        name=_name(source),
    )


def _signup_text(source: Source) -> str:
    return say(
        "I do not know you yet, so I cannot answer. Ask the operator of this gateway to let "
        "you in; you are {name} here.",
        name=_name(source),
    )


def _name(source: Source) -> str:
    return source.sender_name


_LINK_VALID_S = 900.0


def linking(limits: CodeLimits) -> CodeLimits:
    """Return the limits of codes that link accounts: those of pairing, for a shorter time."""
    return msgspec.structs.replace(limits, valid_s=_LINK_VALID_S)


LINKING = linking(CodeLimits())


def code_text(code: str) -> str:
    """Return the answer to a person who wants to link another account."""
    return say(
        "Your code is {code}. Send `/link {code}` to me from your other account within 15 "
        "minutes, and I know that it is yours. It works once. Keep it secret: I treat its "
        "sender as you.",
        code=spoken(code),
    )


def only_directly() -> str:
    """Return the answer to a person who tries to link in a group."""
    return say("Codes are not for a group to see. Write `/link` to me in a direct chat.")


def malformed(text: str, *, length: int = LENGTH) -> str:
    """Return the answer to a text that is not a code."""
    return say(
        "{text} is not a code: a code has {length} letters and digits, such as K7QM-4XWP. "
        "Send `/link` alone on a channel where I know you to get one.",
        text=repr(text[:40]),
        length=length,
    )


def link_text(settled: PairingCodeResult, *, now: float) -> str:
    """Return the answer to a person who sent a code."""
    if settled.verdict == "right":
        return say(
            "This account is linked: I know you as the same person on both now. What you wrote "
            "here before stays as it was, and this is a new conversation."
        )
    if settled.verdict == "own":
        return say(
            "You are on an account that is linked already. Send the code from the other one."
        )
    if settled.verdict == "locked" or settled.until > now:
        return say(
            "There were too many wrong codes. Try again in {time}.",
            time=minutes(settled.until - now),
        )
    return say(
        "That code is not good: it may be wrong, used or too old. Send `/link` there for a new one."
    )


def how_long(seconds: float) -> str:
    """Return a time in words."""
    return say("an hour") if seconds == _HOUR_S else minutes(seconds)


def minutes(seconds: float) -> str:
    """Return a waiting time in whole minutes."""
    count = max(1, -int(-seconds // 60))
    return say_count("{count} minute", "{count} minutes", count)
