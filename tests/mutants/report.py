"""What a run has found: kept on disk as it goes, printed at the end."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from tests.mutants.areas import ROOT
from tests.mutants.faults import Fault, diff_of
from tests.mutants.run import Verdict

ENOUGH = 0.95


class Results:
    """The verdicts so far, one JSON line each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.verdicts: dict[str, Verdict] = {}
        if path.is_file():
            for line in path.read_bytes().splitlines():
                verdict = msgspec.json.decode(line, type=Verdict)
                self.verdicts[verdict.fault] = verdict

    def add(self, verdict: Verdict) -> None:
        """Keep a verdict."""
        self.verdicts[verdict.fault] = verdict
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(verdict) + b"\n")

    def killers(self) -> dict[str, str]:
        """Return which test noticed each fault in the last run."""
        return {one.fault: one.by for one in self.verdicts.values() if one.by}


class Score(msgspec.Struct):
    """How many faults of an area were noticed."""

    caught: int = 0
    equivalent: int = 0
    survived: int = 0

    @property
    def share(self) -> float:
        """The share of the faults that a test can notice."""
        judged = self.caught + self.survived
        return self.caught / judged if judged else 1.0


def scores(
    faults: Sequence[Fault], verdicts: Mapping[str, Verdict], same: Iterable[str]
) -> dict[str, Score]:
    """Count per area, and over all."""
    found = {area: Score() for area in [*sorted({fault.area for fault in faults}), "all"]}
    known = set(same)
    for fault in faults:
        for score in (found[fault.area], found["all"]):
            verdict = verdicts.get(fault.identity)
            if fault.identity in known:
                score.equivalent += 1
            elif verdict is not None and verdict.caught:
                score.caught += 1
            elif verdict is not None:
                score.survived += 1
    return found


def table(found: Mapping[str, Score]) -> str:
    """Return the scores as text."""
    lines = [f"{'area':12} {'caught':>7} {'missed':>7} {'equal':>6} {'score':>7}"]
    lines += [
        f"{area:12} {one.caught:7d} {one.survived:7d} {one.equivalent:6d} {one.share:7.1%}"
        for area, one in found.items()
    ]
    return "\n".join(lines)


def survivors(
    faults: Sequence[Fault], verdicts: Mapping[str, Verdict], same: Iterable[str]
) -> list[Fault]:
    """Return the faults that no test noticed."""
    known = set(same)
    return [
        fault
        for fault in faults
        if fault.identity not in known
        and fault.identity in verdicts
        and not verdicts[fault.identity].caught
    ]


def describe(fault: Fault, verdict: Verdict) -> str:
    """Return a fault that nobody noticed, with its diff and how many tests were asked."""
    source = (ROOT / fault.path).read_text(encoding="utf-8")
    tests = f"{verdict.run} tests ran" if verdict.run else "no test runs it"
    problem = f"\n{verdict.why.strip()}" if verdict.why else ""
    head = f"{fault.path}:{fault.line} {fault.function} [{fault.operator}] {tests}"
    return f"{head}{problem}\n{diff_of(fault, source)}"


def as_json(
    faults: Sequence[Fault], verdicts: Mapping[str, Verdict], same: Iterable[str], *, seed: int
) -> str:
    """Return the whole result for programs."""
    found = scores(faults, verdicts, same)
    return json.dumps(
        {
            "seed": seed,
            "scores": {
                area: {**msgspec.to_builtins(one), "share": one.share}
                for area, one in found.items()
            },
            "survivors": [
                {
                    "file": one.path,
                    "line": one.line,
                    "function": one.function,
                    "operator": one.operator,
                    "before": one.before,
                    "after": one.after,
                }
                for one in survivors(faults, verdicts, same)
            ],
            "verdicts": [msgspec.to_builtins(one) for one in verdicts.values()],
        },
        indent=2,
    )
