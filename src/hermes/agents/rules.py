"""Which agent answers: of the rules that fit a message, the closest one. Pure.

A rule about the person is closer than one about the thread, then the chat, the guild, the kind of
chat and the platform; a rule that says more of the same is closer still.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from hermes.config import AgentRuleSettings, conditions
from hermes.message.source import Source

_PERSON_ID = "p_"
_CLOSENESS = ("person", "thread", "chat", "guild", "chat_type", "platform")
_Fits = Callable[[str, Source, str | None], bool]


class AgentRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: its name, its agent, and what it asks of a message."""

    name: str
    agent: str
    asks: tuple[tuple[str, str], ...]

    @property
    def names_a_person(self) -> bool:
        """Whether one has to know the person to tell if it fits."""
        return any(field == "person" and _is_person_id(value) for field, value in self.asks)


def rules_of(settings: Mapping[str, AgentRuleSettings]) -> tuple[AgentRule, ...]:
    """Return the configured rules, the closest first."""
    rules = [
        AgentRule(name=name, agent=rule.agent or "", asks=conditions(rule))
        for name, rule in settings.items()
    ]
    return tuple(sorted(rules, key=_distance))


def choose(
    rules: Iterable[AgentRule], source: Source, *, person_id: str | None
) -> AgentRule | None:
    """Return the first rule that fits a message."""
    for rule in rules:
        if all(_FITS[field](value, source, person_id) for field, value in rule.asks):
            return rule
    return None


def _distance(rule: AgentRule) -> tuple[bool, ...]:
    asked = {field for field, _ in rule.asks}
    return tuple(field not in asked for field in _CLOSENESS)


def _is_person(value: str, source: Source, person_id: str | None) -> bool:
    if _is_person_id(value):
        return value == person_id
    return value == f"{source.platform}:{source.user_id}"


def _is_person_id(value: str) -> bool:
    return value.startswith(_PERSON_ID) and ":" not in value


def _is_chat_type(value: str, source: Source, _person_id: str | None) -> bool:
    is_thread = source.thread_id is not None or source.chat_type == "thread"
    return is_thread if value == "thread" else source.chat_type == value


_FITS: Mapping[str, _Fits] = {
    "person": _is_person,
    "thread": lambda value, source, _: source.thread_id == value,
    "chat": lambda value, source, _: value in (source.chat_id, source.parent_chat_id),
    "guild": lambda value, source, _: source.guild_id == value,
    "chat_type": _is_chat_type,
    "platform": lambda value, source, _: source.platform == value,
}
