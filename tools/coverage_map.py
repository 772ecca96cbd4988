"""Maps every requirement id to the tests that prove it.

`make coverage-map` runs it. It reads `@pytest.mark.req(...)` from the syntax trees of the tests
and the known ids from `tools/requirement_ids.txt`; it imports no test and runs none. A mark counts if
its test failed without the feature: `make prove` tries that and writes `requirement_proofs.json`. A
test that has changed since counts no more until it is tried again.
"""

import argparse
import ast
import hashlib
import json
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = """examples:
  make coverage-map                                      the whole table
  make coverage-map ARGS=--missing                       only the ids without a proven test
  make coverage-map ARGS=--unproven                      only the marks that prove nothing yet
  make coverage-map ARGS="--only J"                      only the journal's ids
  make coverage-map ARGS=--json                          for programs
  python tools/coverage_map.py --require-all tests/unit  fail while an id has no test

exit status: 0 fine; 1 an unknown id or an unreadable mark (or, with --require-all, an id without
a proven test); 2 wrong arguments.
"""

Scope = ast.Module | ast.ClassDef
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Claim:
    """One test saying that it proves one requirement."""

    requirement: str
    test: str


@dataclass
class Findings:
    """What the tests claim, and the marks that could not be read."""

    claims: list[Claim] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    # A digest of each test that claims something: another one means that the test has changed.
    digests: dict[str, str] = field(default_factory=dict)


def read_requirements(path: Path) -> dict[str, str]:
    """Reads `ID title` lines in their order; blank lines and # comments are passed over."""
    titles: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            requirement, _, title = line.strip().partition(" ")
            titles[requirement] = title.strip()
    return titles


def collect(paths: Iterable[Path], *, root: Path) -> Findings:
    """Reads the marks of every test file, naming tests as pytest does."""
    findings = Findings()
    for path in sorted(set(paths)):
        name = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"), filename=name)
        except SyntaxError as problem:
            findings.problems.append(f"{name}:{problem.lineno}: is no Python: {problem.msg}")
            continue
        _collect_scope(tree, name, outer=(), findings=findings)
    return findings


def _collect_scope(
    scope: Scope, prefix: str, *, outer: tuple[ast.Call, ...], findings: Findings
) -> None:
    marks = (*outer, *_pytestmark_calls(scope))
    for node in scope.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            inner = (*marks, *_req_calls(node.decorator_list))
            _collect_scope(node, f"{prefix}::{node.name}", outer=inner, findings=findings)
        elif isinstance(node, Function) and node.name.startswith("test"):
            calls = (*marks, *_req_calls(node.decorator_list))
            _add_claims(f"{prefix}::{node.name}", calls, findings=findings)
            findings.digests[f"{prefix}::{node.name}"] = digest_of(node)


def digest_of(node: Function) -> str:
    """Return a digest of what a test does; its marks and parameters do not count."""
    body = ast.dump(ast.Module(body=node.body, type_ignores=[]))
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def _pytestmark_calls(scope: Scope) -> Iterator[ast.Call]:
    for node in scope.body:
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if "pytestmark" in names:
                yield from _req_calls([node.value])


def _req_calls(nodes: Iterable[ast.expr]) -> Iterator[ast.Call]:
    # Walking the whole expression also finds marks inside pytest.param(..., marks=...).
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and ast.unparse(inner.func) == "pytest.mark.req":
                yield inner


def _add_claims(test: str, calls: Iterable[ast.Call], *, findings: Findings) -> None:
    claimed: dict[str, None] = {}
    for call in calls:
        values = [arg.value if isinstance(arg, ast.Constant) else None for arg in call.args]
        readable = [value for value in values if isinstance(value, str)]
        if not readable or len(readable) != len(values) or call.keywords:
            findings.problems.append(
                f"{test}: {ast.unparse(call)} (line {call.lineno}) cannot be read: "
                'write the ids out, as in @pytest.mark.req("A1", "J7")'
            )
        claimed.update(dict.fromkeys(readable))
    findings.claims.extend(Claim(requirement, test) for requirement in claimed)


@dataclass
class Marks:
    """The tests that claim one requirement, by what their mark is worth."""

    proven: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    # It passed without the feature: the mark is wrong, or the feature is more than was switched off.
    passed: list[str] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)


# The tests of each requirement that failed without it, those that passed, with their digests then.
Proofs = dict[str, tuple[dict[str, str], dict[str, str]]]


def read_proofs(path: Path) -> Proofs:
    """Reads which tests failed without each requirement, and the digests that they had then."""
    if not path.is_file():
        return {}
    read = json.loads(path.read_text(encoding="utf-8"))
    return {
        requirement: (dict(found["tests"]), dict(found.get("passed", {})))
        for requirement, found in read.items()
    }


def build_map(titles: dict[str, str], findings: Findings, proofs: Proofs) -> dict[str, Marks]:
    """Lists the marks of every known id, in the order of the ids."""
    table = {requirement: Marks() for requirement in titles}
    for claim in findings.claims:
        marks = table.get(claim.requirement)
        if marks is None:
            continue
        failed, passed = proofs.get(claim.requirement, ({}, {}))
        now = findings.digests.get(claim.test)
        before = failed.get(claim.test) or passed.get(claim.test)
        if before is None:
            marks.untried.append(claim.test)
        elif before != now:
            marks.changed.append(claim.test)
        elif claim.test in failed:
            marks.proven.append(claim.test)
        else:
            marks.passed.append(claim.test)
    return table


def find_unknown(titles: dict[str, str], claims: list[Claim]) -> list[Claim]:
    """Lists the claims whose id is no requirement."""
    return [claim for claim in claims if claim.requirement not in titles]


def print_table(titles: dict[str, str], table: dict[str, Marks], *, unproven: bool) -> None:
    """Prints each id with its title and, below it, its tests."""
    for requirement, marks in table.items():
        if not unproven:
            print(f"{requirement:4} {len(marks.proven):3d}  {titles[requirement]}")
            for test in marks.proven:
                print(f"            {test}")
        elif marks.changed or marks.passed or marks.untried:
            print(f"{requirement:4} {titles[requirement]}")
            for kind in ("changed", "passed", "untried"):
                for test in getattr(marks, kind):
                    print(f"            {kind:8} {test}")


def print_missing(titles: dict[str, str], table: dict[str, Marks]) -> None:
    """Prints the ids without a proven test, and how many there are."""
    missing = [requirement for requirement, marks in table.items() if not marks.proven]
    print(f"{len(table) - len(missing)} of {len(table)} requirements have a test that proves them.")
    for requirement in missing:
        marks = table[requirement]
        claimed = len(marks.changed) + len(marks.passed) + len(marks.untried)
        what = f"no proof, {claimed} marks" if claimed else "no test"
        print(f"{requirement:4} {what}  {titles[requirement]}")
    proven, changed, passed, untried = (
        sum(len(getattr(marks, kind)) for marks in table.values())
        for kind in ("proven", "changed", "passed", "untried")
    )
    print(
        f"Marks: {proven} proven, {changed} of tests that have changed since, {passed} of tests that "
        f"pass without the feature, {untried} not tried (`make prove`)."
    )


def _as_json(titles: dict[str, str], table: dict[str, Marks], *, findings: Findings) -> str:
    unknown = find_unknown(titles, findings.claims)
    document = {
        "requirements": {
            requirement: {
                "title": titles[requirement],
                "tests": marks.proven,
                "changed": marks.changed,
                "passed": marks.passed,
                "untried": marks.untried,
            }
            for requirement, marks in table.items()
        },
        "missing": [requirement for requirement, marks in table.items() if not marks.proven],
        "unknown": [{"id": claim.requirement, "test": claim.test} for claim in unknown],
        "problems": findings.problems,
    }
    return json.dumps(document, indent=2)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="coverage_map.py",
        description="Print which requirement is proven by which test.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folders", nargs="*", type=Path, help="where the tests are (default: tests)"
    )
    parser.add_argument(
        "--ids", type=Path, default=HERE / "requirement_ids.txt", help="the file of known ids"
    )
    parser.add_argument(
        "--proofs",
        type=Path,
        default=HERE / "requirement_proofs.json",
        help="what `make prove` wrote",
    )
    parser.add_argument("--only", metavar="PREFIX", default="", help="only ids that begin so")
    parser.add_argument("--missing", action="store_true", help="only the ids without a proven test")
    parser.add_argument("--unproven", action="store_true", help="only the marks that prove nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--require-all", action="store_true", help="fail while an id has no proven test"
    )
    options = parser.parse_args(arguments)
    options.folders = options.folders or [HERE.parent / "tests"]
    for folder in options.folders:
        if not folder.is_dir():
            parser.error(f"no such folder: {folder}; run it in the project or name the folder")
    if not options.ids.is_file():
        parser.error(f"no such file: {options.ids}; name the file of known ids with --ids")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Prints the map and fails on an id that is no requirement."""
    options = _parse(arguments)
    paths = [path for folder in options.folders for path in folder.resolve().rglob("*.py")]
    findings = collect(paths, root=HERE.parent)
    known = read_requirements(options.ids)
    unknown = find_unknown(known, findings.claims)
    titles = {key: title for key, title in known.items() if key.startswith(options.only)}
    table = build_map(titles, findings, read_proofs(options.proofs))
    if options.json:
        # The unknown ids are judged against all requirements, also when only some are shown.
        shown = Findings(
            [c for c in findings.claims if c.requirement in titles or c in unknown],
            findings.problems,
            findings.digests,
        )
        print(_as_json(titles, table, findings=shown))
    else:
        if not options.missing:
            print_table(titles, table, unproven=options.unproven)
        print_missing(titles, table)
    for claim in unknown:
        print(f"unknown id {claim.requirement} in {claim.test}", file=sys.stderr)
    for problem in findings.problems:
        print(problem, file=sys.stderr)
    incomplete = options.require_all and not all(marks.proven for marks in table.values())
    return 1 if unknown or findings.problems or incomplete else 0


if __name__ == "__main__":
    # A reader that stops early (`| head`) ends this quietly.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
