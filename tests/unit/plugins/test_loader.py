"""Plugins: a module or a folder with `register(registry)`, and clear words when it is not."""

import sys
from pathlib import Path

import pytest

from hermes.app.platforms import find_platform, make_one, plugged_platforms
from hermes.config import load
from hermes.control.doctor import plugin_checks
from hermes.errors import ConfigurationError
from hermes.net.client import HttpClient, HttpSettings
from hermes.plugins.loader import installed_plugins, load_plugin
from hermes.plugins.registry import Registry
from hermes.testing.channel_state import memory_state
from hermes.testing.manual_time import ManualClock
from hermes.testing.setup_channel import MemoryFiles, channel_setup

GOOD = """
class Post:
    name = "post"

    def __init__(self, setup):
        self.capabilities = setup.capabilities
        self.greeting = setup.settings["greeting"]


def register(registry):
    registry.platform(__name__, Post)
"""
MANIFEST = """
name = "{name}"
label = "Post"

[capabilities]
delivery = "push"

[settings]
greeting = {{ help = "What it says first.", default = "hello" }}

[auth]
scheme = "none"

[quality]
verified = []
"""


def folder_plugin(folder: Path, *, name: str) -> None:
    """Write a plugin that brings a platform."""
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(GOOD)
    (folder / "manifest.toml").write_text(MANIFEST.format(name=name))


def install(site: Path, module: str, *, points: str) -> None:
    """Write an installed package with entry points, as an installer leaves it."""
    folder_plugin(site / module, name=module)
    info = site / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[hermes.plugins]\n{points}\n")


@pytest.mark.req("W12")
def test_a_folder_registers_what_it_brings(tmp_path: Path) -> None:
    folder_plugin(tmp_path / "own", name="post")
    registry = Registry()
    load_plugin("./own", registry, home=tmp_path)

    post = registry.platforms["post"]
    assert post.package == "hermes_plugin_own"
    made = post.make(channel_setup(post.package, {"greeting": "hi"}))
    assert getattr(made, "greeting", None) == "hi"


@pytest.mark.req("W12")
def test_an_installed_package_does_nothing_until_it_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "fax_plugin", points="fax = fax_plugin:register\nfax2 = fax_plugin")
    monkeypatch.syspath_prepend(tmp_path)

    assert {"fax", "fax2"} <= set(installed_plugins())
    assert installed_plugins()["fax"] == "fax_plugin-package"
    assert "fax_plugin" not in sys.modules
    for name in ("fax", "fax2", "fax_plugin"):
        registry = Registry()
        load_plugin(name, registry, home=tmp_path)
        assert list(registry.platforms) == ["fax_plugin"]


@pytest.mark.req("W12")
@pytest.mark.parametrize(
    ("points", "problem"),
    [
        ("telex = telex_plugin:nothing", "of telex_plugin-package does not load"),
        ("telex = telex_plugin:GREETING", "no function register"),
        ("telex = no_such_module_here", "does not load"),
    ],
)
def test_an_entry_point_that_is_no_plugin_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, points: str, problem: str
) -> None:
    install(tmp_path, "telex_plugin", points=points)
    (tmp_path / "telex_plugin" / "__init__.py").write_text("GREETING = 'hi'\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ConfigurationError, match=problem):
        load_plugin("telex", Registry(), home=tmp_path)


@pytest.mark.req("W12")
def test_one_name_of_two_packages_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "a", "one_plugin", points="same = one_plugin")
    install(tmp_path / "b", "other_plugin", points="same = other_plugin")
    monkeypatch.syspath_prepend(tmp_path / "a")
    monkeypatch.syspath_prepend(tmp_path / "b")

    with pytest.raises(ConfigurationError, match="one_plugin-package and other_plugin-package"):
        load_plugin("same", Registry(), home=tmp_path)


@pytest.mark.req("W12")
def test_a_plugin_stands_in_the_place_of_a_built_in_platform(tmp_path: Path) -> None:
    folder_plugin(tmp_path / "mine", name="telegram")
    registry = Registry()
    load_plugin("./mine", registry, home=tmp_path)
    settings = load({"TELEGRAM_BOT_TOKEN": "1:x"}, tmp_path).settings

    found = find_platform("telegram", registry)
    assert found is not None
    assert found.package == "hermes_plugin_mine"
    assert plugged_platforms(settings, registry) == {"telegram": "hermes_plugin_mine"}


@pytest.mark.req("W12")
def test_a_plugin_that_is_there_and_not_used_is_told() -> None:
    (check,) = plugin_checks(["used"], {"used": "a-package", "idle": "b-package"})
    assert check.what == "the plugin idle of b-package is installed, and not used"


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


@pytest.mark.req("W12")
@pytest.mark.parametrize(
    ("content", "fault", "line"),
    [
        ("x = 1\n\n1 / 0\n", "ZeroDivisionError: division by zero", 3),
        ("def (\n", "SyntaxError: invalid syntax", 1),
        ("import os\nfrom .channel import make\n", "ImportError: cannot import name 'make'", 2),
        ("def register(registry):\n    registry.nothing()\n", "AttributeError: 'Registry'", 2),
        ("from no_such_thing import x\n", "ModuleNotFoundError: No module named", 1),
    ],
)
@pytest.mark.parametrize("how", ["folder", "module", "entry point"])
def test_a_broken_plugin_is_one_paragraph_that_names_its_file_and_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    content: str,
    fault: str,
    line: int,
    how: str,
) -> None:
    module = f"broken_{len(content)}_{how[0]}"
    install(tmp_path, module, points=f"{module}_point = {module}")
    file = tmp_path / module / "__init__.py"
    file.write_text(content)
    (tmp_path / module / "channel.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    named = {"folder": f"./{module}", "module": module, "entry point": f"{module}_point"}[how]

    with pytest.raises(ConfigurationError) as refusal:
        load_plugin(named, Registry(), home=tmp_path)

    said = str(refusal.value)
    assert repr(named) in said
    assert fault in said
    assert f"({file}, line {line})" in said
    assert "\n" not in said


@pytest.mark.req("W12", "M2")
def test_unknown_names_are_errors_that_say_what_is_known(tmp_path: Path) -> None:
    registry = Registry()

    with pytest.raises(ConfigurationError, match="cannot be imported"):
        load_plugin("hermes_no_such_plugin", registry, home=Path())
    with pytest.raises(ConfigurationError, match=r"no channel of that name.*slack, sms, telegram"):
        make_one(
            "fax",
            load({"HERMES_PLATFORMS__FAX__ENABLED": "true"}, tmp_path).settings,
            registry,
            client=HttpClient(HttpSettings()),
            state=memory_state("fax"),
            clock=ManualClock(),
            media_cache=MemoryFiles(),
        )
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
