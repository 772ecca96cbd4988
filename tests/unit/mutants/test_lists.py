"""The lists of `make mutants` fit the code, and an entry that does not is named."""

from pathlib import Path

import pytest

from tests.mutants.areas import AREAS, ROOT, all_faults
from tests.mutants.faults import choose
from tests.mutants.features import FEATURES, check, read_features
from tests.mutants.lists import BadList, NamedFault, equivalents, find_fault, named_faults, stale
from tests.mutants.prove import PROOFS, Proofs, changed_claims, merged_row, read_proofs
from tools.coverage_map import HERE, read_requirements


def test_the_default_run_has_400_faults_over_every_area() -> None:
    drawn = choose(list(all_faults()), seed=1, count=440)

    areas = [fault.area for fault in drawn]
    assert len(set(drawn)) == 440
    assert all(areas.count(area) >= 30 for area in AREAS)


def test_every_area_has_files() -> None:
    for area, patterns in AREAS.items():
        for pattern in patterns:
            assert list((ROOT / "src/hermes").glob(pattern)), f"{area}: {pattern} is no file"


def test_equivalents_are_in_the_code() -> None:
    assert stale(equivalents(), all_faults()) == []


def test_named_faults_are_in_the_code() -> None:
    assert len(named_faults()) >= 24


def test_features_are_in_the_code_and_are_those_of_requirements() -> None:
    features = read_features()

    assert list(check(features)) == [], f"correct {FEATURES.relative_to(ROOT)}"
    assert set(features) <= set(read_requirements(HERE / "requirement_ids.txt"))


def test_proofs_are_those_of_the_features_as_they_are() -> None:
    features, proofs = read_features(), read_proofs()

    changed = [
        requirement
        for requirement, proof in proofs.items()
        if requirement not in features or features[requirement].places() != proof["without"]
    ]
    assert changed == [], f"run `make prove ARGS='{' '.join(changed)}'`, which writes {PROOFS.name}"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"before": "return 3"}, "found it 0 times"),
        ({"before": "return"}, "found it 2 times"),
        ({"function": "g"}, "has no g"),
    ],
)
def test_a_named_fault_that_does_not_fit_is_refused(
    tmp_path: Path, changes: dict[str, str], says: str
) -> None:
    (tmp_path / "x.py").write_text("def f(a):\n    if a:\n        return 1\n    return 2\n")
    fits = {"name": "n", "area": "a", "path": "x.py", "function": "f", "before": "return 1", "after": "pass"}  # fmt: skip

    assert find_fault(NamedFault(**fits), root=tmp_path).after == "pass"
    with pytest.raises(BadList, match=says):
        find_fault(NamedFault(**{**fits, **changes}), root=tmp_path)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ('reason = " "\n', "say why"),
        ('reason = "it is"\n\n[[equivalent]]\n{entry}reason = "again"\n', "is listed twice"),
    ],
)
def test_an_equivalent_has_a_reason_and_is_there_once(
    tmp_path: Path, entries: str, says: str
) -> None:
    entry = 'path = "p"\nfunction = "f"\noperator = "o"\nbefore = "b"\nafter = "a"\n'
    path = tmp_path / "list.toml"
    path.write_text(f"[[equivalent]]\n{entry}{entries.replace('{entry}', entry)}")

    with pytest.raises(BadList, match=says):
        equivalents(path)


def test_only_tests_that_have_changed_are_tried_again_and_the_others_stay_as_they_were() -> None:
    # given tests that are as they were, that have changed, that are gone, and that were never tried
    claims = {"A1": {"kept", "changed", "no more", "new"}}
    row: dict[str, object] = {
        "without": ["code"],
        "tests": {"kept": "1", "changed": "1", "no more": "1", "gone": "1"},
        "passed": {},
    }
    proofs: Proofs = {"A1": row}
    now = {"kept": "1", "changed": "2", "no more": "2", "new": "1"}

    asked = changed_claims(claims, proofs, now)
    again: dict[str, object] = {
        "without": ["code"],
        "tests": {"changed": "2"},
        "passed": {"no more": "2"},
    }

    assert asked == {"A1": {"changed", "no more"}}
    assert merged_row(row, again, now) == {
        "without": ["code"],
        "tests": {"kept": "1", "changed": "2"},
        "passed": {"no more": "2"},
    }
