"""The two lists beside this file: faults that people named, and faults that change nothing."""

import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.mutants.areas import ROOT
from tests.mutants.faults import Edit, Fault, make_fault
from tests.mutants.operators import span_of
from tests.mutants.sql_guards import queries

HERE = Path(__file__).parent


class BadList(Exception):
    """An entry of a list that fits the code no longer."""


class NamedFault(msgspec.Struct, forbid_unknown_fields=True):
    """A fault that somebody described: a text of a function, and what replaces it."""

    name: str
    area: str
    path: str
    function: str
    before: str
    after: str


class Equivalent(msgspec.Struct, forbid_unknown_fields=True):
    """A fault that no test can notice, and why."""

    path: str
    function: str
    operator: str
    before: str
    after: str
    reason: str

    @property
    def identity(self) -> str:
        """The identity of the fault that it names."""
        return f"{self.path}::{self.function}::{self.operator}::{self.before} -> {self.after}"


def named_faults(path: Path = HERE / "named.toml", *, root: Path = ROOT) -> list[Fault]:
    """Return the faults of the list; raises `BadList` for one that is not in the code."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    entries = msgspec.convert(read.get("fault", []), list[NamedFault])
    return [find_fault(entry, root=root) for entry in entries]


def find_fault(entry: NamedFault, *, root: Path = ROOT) -> Fault:
    """Return the fault that an entry describes."""
    source = (root / entry.path).read_text(encoding="utf-8")
    start, end = _span(source, entry)
    count = source.count(entry.before, start, end)
    if count != 1:
        raise BadList(
            f"{entry.name!r}: expected {entry.before!r} once in {entry.function} of {entry.path}, "
            f"found it {count} times; describe it as the code is now"
        )
    at = source.index(entry.before, start, end)
    return make_fault(
        source,
        Edit(at, at + len(entry.before), entry.after),
        area=entry.area,
        path=entry.path,
        function=entry.function,
        operator=f"named: {entry.name}",
    )


def _span(source: str, entry: NamedFault) -> tuple[int, int]:
    if entry.path.endswith(".sql"):
        spans = {f"query {name}": (start, end) for name, start, end in queries(source)}
    else:
        spans = span_of(source)
    if entry.function not in spans:
        raise BadList(f"{entry.name!r}: {entry.path} has no {entry.function}")
    return spans[entry.function]


def equivalents(path: Path = HERE / "equivalents.toml") -> dict[str, Equivalent]:
    """Return the faults that change nothing, by identity; raises `BadList` for one twice."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    entries = msgspec.convert(read.get("equivalent", []), list[Equivalent])
    found: dict[str, Equivalent] = {}
    for entry in entries:
        if not entry.reason.strip():
            raise BadList(f"{entry.identity}: say why no test can notice it")
        if entry.identity in found:
            raise BadList(f"{entry.identity} is listed twice")
        found[entry.identity] = entry
    return found


def stale(known: Iterable[str], faults: Iterable[Fault]) -> list[str]:
    """Return the identities that the operators no longer make: the code has changed."""
    made = {fault.identity for fault in faults}
    return [identity for identity in known if identity not in made]
