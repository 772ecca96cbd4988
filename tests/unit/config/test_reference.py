"""The committed reference is the generated one, and loading stays cheap."""

import subprocess
import sys
from pathlib import Path

import pytest

from hermes.config.keys import dotted, known_keys, node_at
from hermes.config.reference import settings_reference

ROOT = Path(__file__).parents[3]


@pytest.mark.req("W1")
def test_the_committed_page_is_the_generated_one():
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")

    assert page == settings_reference(), (
        "docs/settings.md is old; run: python -m hermes.config.reference > docs/settings.md"
    )


@pytest.mark.req("W1")
def test_every_setting_has_a_heading_and_a_description():
    parts = settings_reference().split("\n### ")[1:]
    nodes = {key: node_at(key) for key in known_keys()}
    single = [key for key, node in nodes.items() if node and (node.is_leaf or node.is_free)]

    assert sorted(part.splitlines()[0] for part in parts) == sorted(
        f"`{dotted(key)}`" for key in single
    )
    assert [part for part in parts if not part.splitlines()[2].endswith(".")] == []
    assert [part for part in parts if "\n- Takes: " not in part] == []


@pytest.mark.req("W1")
def test_without_a_yaml_file_the_yaml_package_is_never_imported(tmp_path):
    # given a process that loads the settings and says what it imported
    script = (
        "import sys; from pathlib import Path; from hermes.config import load; "
        "load({}, Path(sys.argv[1])); "
        "print([name for name in ('yaml', 'pydantic_settings', 'typer') if name in sys.modules])"
    )

    # when
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )

    # then
    assert done.stdout.strip() == "[]"
