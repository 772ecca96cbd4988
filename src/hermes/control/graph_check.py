"""Checks everything that a shelf holds: every graph, every branch, every call.

What was erased because a person asked for it is told apart from damage. Nothing is changed.
"""

from collections.abc import Callable, Sequence

import msgspec

from hermes.errors import HermesError
from hermes.graph import Problem
from hermes.ports.graphs import GraphEntry, GraphShelf

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
    """What was checked and found; `erased` is on purpose, `damage` is not."""

    graphs: int = 0
    branches: int = 0
    versions: int = 0
    calls: int = 0
    erased: list[Trouble] = []
    damage: list[Trouble] = []


def check_graphs(
    shelf: GraphShelf, entries: Sequence[GraphEntry], *, progress: Progress
) -> CheckReport:
    """Check graphs; whatever is wrong is collected, and the rest is checked nevertheless."""
    report = CheckReport()
    total, done = sum(len(entry.branches) for entry in entries), 0
    for entry in entries:
        report.graphs += 1
        # Branches share the calls of their graph, so each of them finds the same trouble there.
        told: set[Problem] = set()
        for branch in entry.branches:
            for problem in _check(shelf, entry, branch, report=report):
                if problem not in told or problem.where.startswith("version"):
                    told.add(problem)
                    _keep(report, problem, graph=entry.name, branch=branch)
            done += 1
            progress(done, total)
    return report


def _check(
    shelf: GraphShelf, entry: GraphEntry, branch: str, *, report: CheckReport
) -> Sequence[Problem]:
    report.branches += 1
    try:
        found = shelf.open(entry.name, branch=branch).verify()
    except HermesError as problem:
        return (Problem("damaged", "branch", f"it cannot be opened: {problem}"),)
    report.versions += found.versions
    if branch == entry.branches[0]:
        report.calls += found.calls
    return found.problems


def _keep(report: CheckReport, problem: Problem, *, graph: str, branch: str) -> None:
    kept = report.erased if problem.trouble == "erased" else report.damage
    kept.append(
        Trouble(
            graph=graph,
            branch=branch,
            trouble=problem.trouble,
            where=problem.where,
            text=problem.text,
        )
    )
