"""The gate over channels finds what is missing, and what a manifest says without proof."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
CASES = 'CASES = (Case("fax-wire", "fax", FaxStandIn, can),)\n'
PROOF = '@pytest.mark.quality("deduplication by id")\nasync def test_twice(house): ...\n'
OWN = '@pytest.mark.quality("paper jams", "toner")\ndef test_jam(): ...\n'


@pytest.fixture
def gate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("quality_gate", ROOT / "tools/quality_gate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path, gate: ModuleType) -> Path:
    """A repository with one whole channel."""
    files = {
        **{f"src/hermes/channels/fax/{name}": "" for name in (*gate.SHAPE, "manifest.toml")},
        "src/hermes/testing/fax/__main__.py": "",
        "docs/channels/fax.md": "",
        "tests/contract/channels/cases.py": CASES,
        "tests/contract/channels/test_conformance.py": PROOF,
        "tests/unit/channels/test_fax_channel.py": OWN,
        "tests/unit/channels/test_telex.py": '@pytest.mark.quality("paper tape")\ndef test_t(): ...',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.req("W10")
def test_a_whole_channel_has_no_breach(gate: ModuleType, tree: Path) -> None:
    said = {"fax": ("deduplication by id", "paper jams", "toner")}
    assert list(gate.problems(tree, said)) == []


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("gone", "told"),
    [
        ("src/hermes/channels/fax/format.py", "fax/format.py is missing"),
        ("src/hermes/testing/fax/__main__.py", "has a stand-in"),
        ("docs/channels/fax.md", "docs/channels/fax.md is missing"),
    ],
)
def test_a_part_that_is_missing_is_named(
    gate: ModuleType, tree: Path, gone: str, told: str
) -> None:
    (tree / gone).unlink()
    (found,) = gate.problems(tree, {"fax": ()})
    assert told in found


@pytest.mark.req("W10")
def test_a_word_without_a_proof_of_its_own_is_found(gate: ModuleType, tree: Path) -> None:
    said = {"fax": ("deduplication by id", "paper tape", "toner")}
    (found,) = gate.problems(tree, said)
    assert "says 'paper tape', which no test proves" in found

    (tree / "tests/contract/channels/cases.py").write_text("CASES = ()\n")
    (found,) = gate.problems(tree, {"fax": ()})
    assert "no Case" in found


@pytest.mark.req("W10")
def test_a_folder_with_several_manifests_offers_several_channels(
    gate: ModuleType, tree: Path
) -> None:
    folder = tree / "src/hermes/channels/fax"
    (folder / "manifest.toml").rename(folder / "fax.toml")
    (folder / "telex.toml").write_text("")

    found = [(one.name, one.package, one.manifest) for one in gate.channels(tree)]

    assert found == [
        ("fax", "hermes.channels.fax", "fax.toml"),
        ("telex", "hermes.channels.fax", "telex.toml"),
    ]
    said = {"fax": ("paper jams",), "telex": ("paper tape",)}
    assert list(gate.problems(tree, said)) == [
        "telex: docs/channels/telex.md is missing; write how it is set up",
        "telex: no Case in tests/contract/channels/cases.py; add one",
    ]
