"""Switches a requirement's code off in this interpreter, to see which tests notice.

`features.toml` names the code of each requirement: a file (all its functions), `FILE::FUNCTION`, or an
edit of a function or a query. A function that is off raises.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType

import msgspec

from tests.mutants.areas import ROOT
from tests.mutants.inject import LiveFunctions, NotInjected, inject, module_name
from tests.mutants.lists import HERE, BadList, NamedFault, find_fault
from tests.mutants.operators import span_of
from tests.mutants.select import Selector
from tests.mutants.trace import Trace

FEATURES = HERE / "features.toml"


class FeatureOff(Exception):
    """Raised by a function that is switched off."""


class Edited(msgspec.Struct, forbid_unknown_fields=True):
    """A feature that is a part of a function or of a query."""

    path: str
    function: str
    before: str
    after: str

    def named(self) -> NamedFault:
        """Return it as a fault."""
        return NamedFault(
            name="feature",
            area="",
            path=self.path,
            function=self.function,
            before=self.before,
            after=self.after,
        )


class Feature(msgspec.Struct, forbid_unknown_fields=True):
    """The code of one requirement."""

    off: list[str] = []
    edits: list[Edited] = []

    def places(self) -> list[str]:
        """Return it in words, for the table of proofs."""
        return [*self.off, *(f"{one.path}::{one.function}: {one.after}" for one in self.edits)]


def read_features(path: Path = FEATURES) -> dict[str, Feature]:
    """Return the code of each requirement."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    return msgspec.convert(read, dict[str, Feature])


def check(features: Mapping[str, Feature], *, root: Path = ROOT) -> Iterator[str]:
    """Yield what a list of features names that is not in the code."""
    for requirement, feature in features.items():
        for place in feature.off:
            path, _, function = place.partition("::")
            if not (root / path).is_file():
                yield f"{requirement}: there is no file {path}"
            elif function and function not in span_of((root / path).read_text(encoding="utf-8")):
                yield f"{requirement}: {path} has no function {function}"
        for edited in feature.edits:
            try:
                find_fault(edited.named(), root=root)
            except (BadList, OSError) as problem:
                yield f"{requirement}: {problem}"


def switch_off(feature: Feature, live: LiveFunctions, *, root: Path = ROOT) -> None:
    """Switch the code of a requirement off, for good."""
    for place in feature.off:
        path, _, function = place.partition("::")
        found = list(live.of_file(str(root / path), function))
        if not found:
            raise NotInjected(f"{place}: no live function")
        for one in found:
            _turn_off(one, place)
    for edited in feature.edits:
        inject(find_fault(edited.named(), root=root), live, root=root)


def _turn_off(function: FunctionType, place: str) -> None:
    def off(*_: object, **__: object) -> None:
        raise FeatureOff

    function.__defaults__ = function.__kwdefaults__ = None
    function.__code__ = off.__code__.replace(
        co_freevars=function.__code__.co_freevars, co_name=place[-60:]
    )
    # Functions with free variables of their own have other globals.
    function.__globals__["FeatureOff"] = FeatureOff


def modules(feature: Feature) -> list[str]:
    """Return the modules that must be there before a feature can be switched off."""
    paths = [*(place.partition("::")[0] for place in feature.off), *(e.path for e in feature.edits)]
    return [module_name(path) for path in paths if path.endswith(".py")]


def tests_near(feature: Feature, trace: Trace) -> set[str]:
    """Return the tests that run the code of a feature at all."""
    selector = Selector(trace)
    found: set[str] = set()
    for place in feature.off:
        path, _, function = place.partition("::")
        names = [function] if function else span_of((ROOT / path).read_text(encoding="utf-8"))
        for name in names:
            found.update(trace.tests(f"{path}::{name}"))
    for edited in feature.edits:
        found.update(selector.tests(find_fault(edited.named())))
    return found
