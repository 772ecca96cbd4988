"""Classifies why somebody sends a picture, from its caption and by rules that are data.

Pure, except that it reads the package's file once. The pipeline decides what happens with an
intent; without a matching rule it is `general`.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources

import msgspec

from hermes.config.tool_settings import ImageIntentSettings
from hermes.ports.vision import VisionPipeline
from hermes.routing.keywords import WordFinder
from hermes.tools.gate_rules import plain

GENERAL = "general"


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One intent as in the file; the words are grouped by language."""

    words: dict[str, tuple[str, ...]] = {}
    patterns: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    intents: dict[str, _Table]


class IntentMatch(msgspec.Struct, frozen=True):
    """An intent, and the rule that indicated it; None if no rule did."""

    intent: str
    rule: str = ""


class ImageIntents:
    """Classifies captions; of several intents the one with the most matching rules wins, then the
    first."""

    def __init__(
        self,
        settings: Mapping[str, ImageIntentSettings],
        pipelines: Iterable[VisionPipeline] = (),
    ) -> None:
        self._meant: dict[str, list[str]] = {}
        self._patterns: list[tuple[re.Pattern[str], str]] = []
        self._order: dict[str, int] = {}
        built_in = _built_in()
        for name in (*settings, *(one for one in built_in if one not in settings)):
            self._add(name, settings.get(name), built_in.get(name, _Table()))
        for pipeline in pipelines:
            self._add_words(pipeline.intent, pipeline.words)
        self._words_in = WordFinder(self._meant).find

    @property
    def names(self) -> tuple[str, ...]:
        """Every intent that some rule can indicate."""
        return tuple(self._order)

    def of(self, caption: str) -> IntentMatch:
        """Return the intent of a caption."""
        text = plain(caption)
        if not text:
            return IntentMatch(GENERAL)
        told: dict[str, list[str]] = {}
        for word in sorted(self._words_in(text)):
            for name in self._meant[word]:
                told.setdefault(name, []).append(word)
        for pattern, name in self._patterns:
            if pattern.search(text):
                told.setdefault(name, []).append(pattern.pattern)
        if not told:
            return IntentMatch(GENERAL)
        name = min(told, key=lambda one: (-len(told[one]), self._order[one]))
        return IntentMatch(name, told[name][0])

    def _add(self, name: str, own: ImageIntentSettings | None, table: _Table) -> None:
        says = own is not None and (own.words or own.patterns)
        words = [word for words in table.words.values() for word in words]
        self._add_words(name, own.words if own is not None and says else words)
        patterns = own.patterns if own is not None and says else table.patterns
        self._patterns += [(re.compile(pattern), name) for pattern in patterns]

    def _add_words(self, name: str, words: Iterable[str]) -> None:
        self._order.setdefault(name, len(self._order))
        for word in words:
            meant = self._meant.setdefault(plain(word) or word.casefold(), [])
            if name not in meant:
                meant.append(name)


@lru_cache(maxsize=1)
def _built_in() -> dict[str, _Table]:
    file = resources.files("hermes.tools") / "image_intents.toml"
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), _File).intents
