"""Plugins: a module or a folder with `register(registry)`, and clear words when it is not."""

from pathlib import Path

import pytest

from hermes.errors import ConfigurationError
from hermes.plugins.loader import load_plugin
from hermes.plugins.registry import Registry

GOOD = """
class Post:
    name = "post"

    def __init__(self, settings):
        self.settings = settings


def register(registry):
    registry.channel("post", lambda settings, client: Post(settings))
"""


@pytest.mark.req("W12")
def test_a_folder_registers_what_it_brings(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").write_text(GOOD)
    registry = Registry()
    load_plugin("./own", registry, home=tmp_path)

    assert registry.make_channel("post", {"a": 1}, client=None).name == "post"


@pytest.mark.req("W12")
@pytest.mark.parametrize(
    ("content", "problem"),
    [("x = 1\n", "no function register"), ("def (", "does not load"), (None, "holds no")],
)
def test_a_folder_that_is_no_plugin_is_a_clear_error(
    tmp_path: Path, content: str | None, problem: str
) -> None:
    if content is not None:
        (tmp_path / "__init__.py").write_text(content)

    with pytest.raises(ConfigurationError, match=problem):
        load_plugin(str(tmp_path), Registry(), home=tmp_path)


@pytest.mark.req("W12", "M2")
def test_unknown_names_are_errors_that_say_what_is_known() -> None:
    registry = Registry()

    with pytest.raises(ConfigurationError, match="cannot be imported"):
        load_plugin("hermes_no_such_plugin", registry, home=Path())
    with pytest.raises(ConfigurationError, match="no channel of that name"):
        registry.make_channel("fax", {}, client=None)
    with pytest.raises(ConfigurationError, match="is not known"):
        registry.make_provider("p", "wire", settings=None, client=None)


VISION = """
class Scan:
    intent = "{intent}"
    words = ()

    async def answer(self, asked):
        return "{name}"


def register(registry):
    registry.vision(Scan())
"""


def _vision(folder: Path, *, intent: str) -> str:
    folder.mkdir()
    (folder / "__init__.py").write_text(VISION.format(intent=intent, name=folder.name))
    return str(folder)


@pytest.mark.req("A16", "W12")
def test_a_vision_pipeline_is_registered_once_for_its_intent(tmp_path: Path) -> None:
    registry = Registry()
    load_plugin(_vision(tmp_path / "a", intent="calorie_scan"), registry, home=tmp_path)

    assert list(registry.visions) == ["calorie_scan"]
    with pytest.raises(ConfigurationError, match="two vision pipelines are for 'calorie_scan'"):
        load_plugin(_vision(tmp_path / "b", intent="calorie_scan"), registry, home=tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be for the intent 'Calorie Scan'"):
        load_plugin(_vision(tmp_path / "c", intent="Calorie Scan"), registry, home=tmp_path)
