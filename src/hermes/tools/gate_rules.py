"""The rules of the gate, read from `gate.toml` and the settings: how people say what they want.

Pure, except that it reads the package's file once. `gate` applies the rules.
"""

import asyncio
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import resources

import msgspec

from hermes.config import GateSettings
from hermes.message.phrases import Phrases, Words
from hermes.ports.tool import Tool
from hermes.routing.keywords import WordFinder

# Tool servers come and go, and their tools with them.
_MOST_KNOWN = 10_000
# What a longer message asks for is in its beginning.
_LONGEST_TEXT = 200_000
_STRETCHED = re.compile(r"(.)\1{2,}")
_NO_WORD = re.compile(r"[^\w]+|_+")


class IntentTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One intent as in the file; the words are grouped by language.

    An `aside` intent does not affect tools for other intents: they are sent as if it was not
    recognised, and its own tools only if it is.
    """

    words: dict[str, tuple[str, ...]] = {}
    patterns: tuple[str, ...] = ()
    attached: bool = False
    aside: bool = False


class RuleTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    follow_ups: dict[str, tuple[str, ...]]
    intents: dict[str, IntentTable] = {}


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that people want; `tools` are patterns of tool names."""

    patterns: tuple[re.Pattern[str], ...] = ()
    attached: bool = False
    tools: tuple[str, ...] = ()


def plain(text: str) -> str:
    """Return a text in lower case, without accents, punctuation and repeated letters."""
    bare = text[:_LONGEST_TEXT].casefold()
    if not bare.isascii():
        apart = unicodedata.normalize("NFKD", bare)
        bare = "".join(char for char in apart if not unicodedata.combining(char))
    return _NO_WORD.sub(" ", _STRETCHED.sub(r"\1", bare)).strip()


def words_of(text: str) -> Words:
    """Return the words of a text in the form of `plain`."""
    return tuple(plain(text).split())


class GateRules:
    """The words that continue the previous message, those that indicate intents, and more small
    talk."""

    def __init__(self, table: RuleTable, settings: GateSettings) -> None:
        self.mode = settings.mode
        self.trivial = Phrases(map(words_of, settings.trivial))
        self.follow_ups = Phrases(map(words_of, (*_flat(table.follow_ups), *settings.follow_ups)))
        self.aside = frozenset(name for name, one in table.intents.items() if one.aside)
        self._intents: dict[str, Intent] = {}
        self._of: dict[tuple[str, tuple[str, ...]], frozenset[str]] = {}
        self._meant: dict[str, set[str]] = {}
        for name in sorted({*table.intents, *settings.intents}):
            self._add(name, table, settings)
        self._words_in = WordFinder(self._meant).find

    def _add(self, name: str, table: RuleTable, settings: GateSettings) -> None:
        built_in = table.intents.get(name, IntentTable())
        own = settings.intents.get(name)
        says = own is not None and (own.words or own.patterns or own.attached)
        words = own.words if own is not None and says else tuple(_flat(built_in.words))
        patterns = own.patterns if own is not None and says else built_in.patterns
        self._intents[name] = Intent(
            patterns=tuple(map(re.compile, patterns)),
            attached=own.attached if own is not None and says else built_in.attached,
            tools=() if own is None else own.tools,
        )
        for word in words:
            self._meant.setdefault(plain(word) or word.casefold(), set()).add(name)

    def intents_in(self, text: str, *, attached: bool = False) -> frozenset[str]:
        """Return the intents of a text; `attached` is true if an attachment came with it."""
        words = plain(text)
        found = {name for word in self._words_in(words) for name in self._meant[word]}
        for name, intent in self._intents.items():
            told = any(pattern.search(words) for pattern in intent.patterns)
            if told or (attached and intent.attached):
                found.add(name)
        return frozenset(found)

    def intents_of(self, tool: Tool) -> frozenset[str]:
        """Return the intents of a tool; a tool without any is always sent."""
        known = (tool.spec.name, tool.traits.intents)
        found = self._of.get(known)
        if found is None:
            if len(self._of) >= _MOST_KNOWN:
                self._of.clear()
            found = self._of[known] = self._find_intents(tool)
        return found

    def stands_aside(self, tool: Tool) -> bool:
        """Return whether a tool is sent only with messages that ask for its purpose."""
        meant = self.intents_of(tool)
        return bool(meant) and meant <= self.aside

    def _find_intents(self, tool: Tool) -> frozenset[str]:
        own = {name for name in tool.traits.intents if name in self._intents}
        for name, intent in self._intents.items():
            if any(fnmatchcase(tool.spec.name, pattern) for pattern in intent.tools):
                own.add(name)
        return frozenset(own)


@lru_cache(maxsize=1)
def built_in_table() -> RuleTable:
    """Return the built-in rules."""
    file = resources.files("hermes.tools") / "gate.toml"
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), RuleTable)


def gate_rules(settings: GateSettings) -> GateRules:
    """Return the rules in force: the built-in ones with the changes of the settings."""
    return GateRules(built_in_table(), settings)


class LateGateRules:
    """The rules in force, built on the first turn with tools: this takes 70 ms and 5 MB."""

    def __init__(self, settings: GateSettings) -> None:
        self.mode = settings.mode
        self._settings = settings
        self._rules: GateRules | None = None
        self._making = asyncio.Lock()

    async def get(self) -> GateRules:
        """Return the rules; the first call builds them off the event loop."""
        if self._rules is not None:
            return self._rules
        # After a restart many turns resume at once; each would build them.
        async with self._making:
            if self._rules is None:
                self._rules = await asyncio.to_thread(gate_rules, self._settings)
            return self._rules


def _flat(by_language: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
    return (phrase for phrases in by_language.values() for phrase in phrases)
