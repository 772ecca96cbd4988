"""Checks everything that a store of graphs holds: every graph, every branch, every call.

What was erased because a person asked for it is told apart from damage. Nothing is changed.
"""

from collections.abc import Callable, Sequence

import msgspec

from hermes.errors import HermesError
from hermes.graph import Problem
from hermes.ports.graph_reader import GraphEntry, GraphReader

# Told after each branch: how many are done, and of how many.
Progress = Callable[[int, int], None]


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it should be, and where."""

    graph: str
    branch: str
    trouble: str
    where: str
    text: str


class CheckReport(msgspec.Struct, kw_only=True):
    """What was checked and found; `erased` is on purpose, `damage` is not.

    Of `erased`, `erased_messages` are in conversations; the rest is what only calls were sent.
    """

    graphs: int = 0
    branches: int = 0
    versions: int = 0
    calls: int = 0
    erased_messages: int = 0
    erased: list[Trouble] = []
    damage: list[Trouble] = []


def check_graphs(
    reader: GraphReader, entries: Sequence[GraphEntry], *, progress: Progress, whole: bool = False
) -> CheckReport:
    """Check graphs; whatever is wrong is collected, and the rest is checked nevertheless.

    `whole` says that these are all: then what belongs to none of them is damage, too.
    """
    report = CheckReport()
    total, done = sum(len(entry.branches) for entry in entries), 0
    for entry in entries:
        report.graphs += 1
        told = _Told(report, entry.name)
        for branch in entry.branches:
            for problem in _check(reader, entry, branch, report=report):
                told.keep(problem, branch)
            done += 1
            progress(done, total)
        for problem in _check_rows(reader, entry):
            told.keep(problem, "")
    for problem in reader.orphans() if whole else ():
        _Told(report, "").keep(problem, "")
    return report


class _Told:
    """Puts what was found in one graph into the report, each thing once."""

    def __init__(self, report: CheckReport, graph: str) -> None:
        self._report = report
        self._graph = graph
        self._known: set[Problem] = set()
        self._erased: set[str] = set()

    def keep(self, problem: Problem, branch: str) -> None:
        """Keep a problem, unless another branch or call had the same."""
        in_versions = problem.where.startswith("version")
        if problem.trouble == "erased":
            # The text names the message, which versions, calls and branches have in common.
            if problem.text not in self._erased:
                self._erased.add(problem.text)
                self._report.erased_messages += in_versions
                self._report.erased.append(self._trouble(problem, branch))
        elif problem not in self._known or in_versions:
            # Branches share the calls of their graph, so each of them finds the same trouble there.
            self._known.add(problem)
            self._report.damage.append(self._trouble(problem, branch))

    def _trouble(self, problem: Problem, branch: str) -> Trouble:
        return Trouble(
            graph=self._graph,
            branch=branch,
            trouble=problem.trouble,
            where=problem.where,
            text=problem.text,
        )


def _check(
    reader: GraphReader, entry: GraphEntry, branch: str, *, report: CheckReport
) -> Sequence[Problem]:
    report.branches += 1
    try:
        found = reader.open(entry.name, branch=branch).verify()
    except HermesError as problem:
        return (Problem("damaged", "branch", f"it cannot be opened: {problem}"),)
    report.versions += found.versions
    if branch == entry.branches[0]:
        report.calls += found.calls
    return found.problems


def _check_rows(reader: GraphReader, entry: GraphEntry) -> Sequence[Problem]:
    try:
        found = reader.check(entry.name)
    except HermesError as problem:
        return (Problem("damaged", "rows", str(problem)),)
    if entry.branches or found:
        return found
    return (Problem("missing", "branches", "the graph has none, or none that can be read"),)
