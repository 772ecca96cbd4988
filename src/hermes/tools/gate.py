"""The gate: decides which tools a message's model call gets. Pure.

An agent's list of tools is the outer limit. Within it, small talk gets no tools, and a message with
a recognised intent gets the tools for that intent and every tool without an intent. If in doubt all
are sent: a superfluous tool costs tokens, a missing tool costs the answer. If the service's prompt
cache is worth more, tools are left out only for small talk at the beginning of a session.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import tool_calls_of
from hermes.message.trivial import is_trivial
from hermes.ports.pricing import estimated
from hermes.ports.provider import ToolSpec
from hermes.ports.tool import Tool
from hermes.tools.gate_rules import GateRules, words_of

EVERY_TOOL = "*"
# A longer message is not small talk: its words can ask for anything.
_LONG_CHARS = 1_000
_SHORT_WORDS = 12
# A "yes" refers to the end of the answer before it.
_END_CHARS = 400
_QUESTIONS = ("?", "？", "؟", "¿")
_MOST_BACK = 40
# How long a session counts as just begun.
OPENING = 6
# No service caches a prefix of less than 1,024 tokens: up to there a change costs nothing.
_CACHED_CHARS = 4_000


class GatedTools(msgspec.Struct, frozen=True):
    """The tools that are sent, the names of those that are not, and why."""

    tools: tuple[ToolSpec, ...]
    left_out: tuple[str, ...]
    saved_tokens: int
    rule: str
    names: tuple[str, ...] = ()


def allowed_tools(tools: Mapping[str, Tool], allowed: tuple[str, ...]) -> tuple[Tool, ...]:
    """Return the tools that an agent may use, in a stable order."""
    if EVERY_TOOL in allowed:
        return tuple(tools[name] for name in sorted(tools))
    return tuple(tools[name] for name in sorted(allowed) if name in tools)


def gate(
    message_text: str,
    recent: Sequence[ChatMessage],
    tools: Sequence[Tool],
    *,
    rules: GateRules,
    attached: bool = False,
    name: str = "",
) -> GatedTools:
    """Return the tools that a message gets.

    `recent` are the messages before it, `attached` is true if a picture, sound or file came with
    it, and `name` is the agent's, by which people greet it.
    """
    said = rules.intents_in(message_text, attached=attached)
    if len(message_text) > _LONG_CHARS:
        return _sent(_in_doubt(tools, said, rules), tools, "a long message")
    asked = _asks(recent)
    if not attached and not asked and _is_trivial(message_text, rules, name=name):
        return nothing(tools)
    wanted = said - rules.aside
    if recent and _follows(message_text, rules, asked=asked, knows=bool(wanted)):
        before, used = _before(recent, rules)
        for one in tools:
            before |= rules.intents_of(one) if one.spec.name in used else frozenset()
        said |= before
        if before - rules.aside:
            told = _named("a follow-up", said)
            return _sent(_fitting(tools, said, rules, used=used), tools, told)
        wanted = frozenset()
    if not wanted:
        rule = "no intent was recognised"
        told = _named(f"{rule} but", said) if said else rule
        return _sent(_in_doubt(tools, said, rules), tools, told)
    return _sent(_fitting(tools, said, rules), tools, _named("intent", said))


def only_small_talk(
    message_text: str,
    recent: Sequence[ChatMessage],
    *,
    rules: GateRules,
    attached: bool = False,
    name: str = "",
    chars_before: int = 0,
) -> bool:
    """Return whether a session that has just begun has needed no tools, this message included.

    It is checked with every message and, once false, stays false: after anything but small talk, or
    after as much text as a service would cache (`chars_before` is the length of what comes before),
    the tools are sent from then on.
    """
    if attached or len(recent) > OPENING:
        return False
    said = [*recent, user_text(message_text)]
    if chars_before + sum(len(message.text) for message in said) > _CACHED_CHARS:
        return False
    return all(
        len(message.parts) == 1
        and not _asks(said[:place])
        and _is_trivial(message.text, rules, name=name)
        for place, message in enumerate(said)
        if message.role == "user"
    )


def everything(tools: Sequence[Tool]) -> GatedTools:
    """Return all the tools."""
    return _sent(tools, tools, "the whole list")


def nothing(tools: Sequence[Tool]) -> GatedTools:
    """Return no tools."""
    return _sent((), tools, "a trivial message")


def only(names: frozenset[str], tools: Sequence[Tool], *, rule: str) -> GatedTools:
    """Return the tools with one of these names."""
    return _sent([tool for tool in tools if tool.spec.name in names], tools, rule)


def spec_tokens(spec: ToolSpec) -> int:
    """Return an estimate of the tokens that a tool takes in a request."""
    return estimated(len(spec.name) + len(spec.description) + len(bytes(spec.parameters)))


def _sent(chosen: Sequence[Tool], tools: Sequence[Tool], rule: str) -> GatedTools:
    sent = {tool.spec.name for tool in chosen}
    rest = [tool.spec for tool in tools if tool.spec.name not in sent]
    specs = tuple(tool.spec for tool in tools if tool.spec.name in sent)
    return GatedTools(
        specs,
        tuple(spec.name for spec in rest),
        sum(map(spec_tokens, rest)),
        rule,
        tuple(spec.name for spec in specs),
    )


def _in_doubt(tools: Sequence[Tool], said: frozenset[str], rules: GateRules) -> list[Tool]:
    """Return all tools except those that are sent only if their purpose is asked for."""
    return [tool for tool in tools if not rules.stands_aside(tool) or rules.intents_of(tool) & said]


def _fitting(
    tools: Sequence[Tool],
    wanted: frozenset[str],
    rules: GateRules,
    *,
    used: frozenset[str] = frozenset(),
) -> list[Tool]:
    """Return the tools for these intents, the recently used ones, and those without an intent."""
    return [
        tool
        for tool in tools
        if tool.spec.name in used or not (meant := rules.intents_of(tool)) or meant & wanted
    ]


def _named(what: str, intents: frozenset[str]) -> str:
    return f"{what}: {', '.join(sorted(intents))}" if intents else what


def _asks(recent: Sequence[ChatMessage]) -> bool:
    """Return whether the last answer ends with a question, to which anything may be the answer."""
    last = next((message for message in reversed(recent) if message.role == "assistant"), None)
    end = "" if last is None else last.text[-_END_CHARS:]
    return any(sign in end for sign in _QUESTIONS)


def _is_trivial(text: str, rules: GateRules, *, name: str) -> bool:
    """Return whether a message is only small talk, including greetings with the agent's name."""
    bare = _called(name).sub(" ", text) if name else text
    return is_trivial(bare) or (bool(rules.trivial) and rules.trivial.make_up(words_of(bare)))


@lru_cache(maxsize=256)
def _called(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b", flags=re.IGNORECASE)


def _follows(text: str, rules: GateRules, *, asked: bool, knows: bool) -> bool:
    """Return whether a message continues what was said before."""
    words = words_of(text)
    if rules.follow_ups.begin(words):
        return True
    return asked and not knows and len(words) <= _SHORT_WORDS


def _before(
    recent: Sequence[ChatMessage], rules: GateRules
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the intents and the used tools, back to where the topic began."""
    wanted: set[str] = set()
    used: set[str] = set()
    for message in reversed(recent[-_MOST_BACK:]):
        used.update(call.name for call in tool_calls_of(message.parts))
        if message.role not in ("user", "assistant"):
            continue
        own = rules.intents_in(message.text[-_LONG_CHARS:])
        wanted |= own
        knows = bool(own - rules.aside)
        if message.role == "user" and _begins_matter(message.text, rules, knows=knows):
            break
    return frozenset(wanted), frozenset(used)


def _begins_matter(text: str, rules: GateRules, *, knows: bool) -> bool:
    words = words_of(text)
    return not rules.follow_ups.begin(words) and (knows or len(words) > _SHORT_WORDS)
