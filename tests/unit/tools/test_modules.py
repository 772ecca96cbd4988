"""Tools from modules that the configuration names."""

import sys
from pathlib import Path

import pytest

from hermes.errors import ConfigurationError
from hermes.plugins.registry import Registry
from hermes.tools.modules import load_tools
from tests.contract.journal.rig import RunTool

ONE = '''
from hermes.tools import tool

@tool
def {name}(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {{city}}"
'''


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return name


@pytest.mark.req("A17")
def test_a_file_in_the_home_brings_its_tools(tmp_path: Path) -> None:
    registry = Registry()
    name = write(tmp_path, "weather.py", ONE.format(name="get_weather"))

    load_tools([name, str(tmp_path / name)], registry, home=tmp_path)

    assert list(registry.tools) == ["get_weather"]


@pytest.mark.req("A17")
def test_a_module_by_name_brings_its_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    write(tmp_path, "my_weather_tools.py", ONE.format(name="get_weather"))
    monkeypatch.syspath_prepend(tmp_path)

    load_tools(["my_weather_tools"], registry, home=tmp_path)

    assert list(registry.tools) == ["get_weather"]
    sys.modules.pop("my_weather_tools")


@pytest.mark.req("A17")
def test_two_tools_of_one_name_are_refused_with_both_places(tmp_path: Path) -> None:
    names = [write(tmp_path, f"{name}.py", ONE.format(name="look")) for name in ("first", "second")]

    with pytest.raises(ConfigurationError, match="two tools are named 'look'") as told:
        load_tools(names, Registry(), home=tmp_path)

    assert f"{tmp_path}/first.py:4" in str(told.value)
    assert f"{tmp_path}/second.py:4" in str(told.value)


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1\n", "contains no tool"),
        ("def (", "does not load .*SyntaxError"),
        ("import nowhere_at_all\n", "does not load .*nowhere_at_all"),
        ("1 / 0\n", "does not load .*ZeroDivisionError"),
        ("from hermes.tools import tool\n@tool\ndef f(): pass\n", "f .* has no description"),
    ],
)
def test_a_file_that_brings_none_is_a_clear_error(tmp_path: Path, text: str, problem: str) -> None:
    name = write(tmp_path, "bad.py", text)
    known = set(sys.modules)

    for _ in range(2):
        with pytest.raises(ConfigurationError, match=problem):
            load_tools([name], Registry(), home=tmp_path)

    assert [one for one in set(sys.modules) - known if "bad" in one and text != "x = 1\n"] == []


@pytest.mark.req("A17")
def test_what_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no file"):
        load_tools(["gone.py"], Registry(), home=tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be imported"):
        load_tools(["no.such.module"], Registry(), home=tmp_path)


@pytest.mark.req("A17")
def test_a_plugins_tool_has_a_name_that_models_take() -> None:
    with pytest.raises(ConfigurationError, match=r"the tool 'two words' of .*RunTool"):
        Registry().tool(RunTool("two words"))
