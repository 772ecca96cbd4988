"""W36: hooks on disk, and clear words about one that cannot be used."""

from pathlib import Path

import pytest

from hermes.config import load
from hermes.config.hook_files import read_hook_files
from hermes.errors import ConfigurationError
from hermes.plugins.hook_loader import load_hook
from hermes.plugins.registry import Registry
from hermes.ports.hooks import Context, Hook
from tests.unit.plugins.hook_folder import write_hook

HANDLER = "async def handle(event_type, context):\n    return None\n"


async def nothing(_event: str, _context: Context) -> None:
    """Hear of it, and do nothing."""


@pytest.mark.req("W36")
def test_a_folder_is_a_hook(tmp_path: Path) -> None:
    said = """
        name: audit
        description: Writes down who used what
        events: [agent:step, "command:*"]
        timeout: 2.5
        decides: true
        text: true
    """
    write_hook(tmp_path, "audit", said=said, code=HANDLER)
    (tmp_path / "hooks" / "__pycache__").mkdir()

    (file,), problems = read_hook_files(tmp_path)
    hook = load_hook(file, home=tmp_path)

    assert problems == []
    assert (hook.name, hook.events) == ("audit", ("agent:step", "command:*"))
    assert (hook.timeout_s, hook.decides, hook.text) == (2.5, True, True)
    assert hook.description == "Writes down who used what"
    assert hook.place == str(tmp_path / "hooks" / "audit" / "handler.py")


@pytest.mark.req("W36")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("description: x", "missing required field `events`"),
        ("events: []", "names no events"),
        ("events: [turns]", "no event 'turns'; write one of gateway:startup"),
        ("events: [agent:stepp]", "did you mean agent:step?"),
        ("events: ['command:']", "no event 'command:'"),
        ("events: agent:step", "events: Expected `array`, got `str`"),
        ("events: [agent:step]\ntimeout: 0", "timeout: Expected `float` > 0"),
        ("events: [agent:step]\ntimeout: soon", "timeout: Expected `float"),
        ("events: [agent:step]\ntimout: 2", "unknown field `timout`"),
        ("events: [agent:step]\nname: other", "name is 'other', expected 'own'"),
        ("events: [gateway:dispatch]", "write decides: true"),
        ("events: [agent:end]\ndecides: true", "only gateway:dispatch and command:NAME"),
        ("events: [agent:step", "line 1 is not YAML"),
        ("- agent:step", "not a table of keys and values"),
        ("", "not a table of keys and values"),
    ],
)
def test_a_wrong_hook_yaml_is_a_finding_that_names_the_file(
    tmp_path: Path, said: str, told: str
) -> None:
    write_hook(tmp_path, "own", said=said, code=HANDLER)

    with pytest.raises(ConfigurationError) as error:
        load({}, tmp_path)

    assert str(error.value).startswith("hooks/own/HOOK.yaml: ")
    assert told in str(error.value)


@pytest.mark.req("W36")
def test_every_wrong_hook_is_told_at_once_and_none_where_hooks_are_off(tmp_path: Path) -> None:
    write_hook(tmp_path, "one", said="events: []", code=HANDLER)
    (write_hook(tmp_path, "two", said="events: [agent:end]", code="") / "handler.py").unlink()
    (write_hook(tmp_path, "three", said="", code="") / "HOOK.yaml").unlink()
    write_hook(tmp_path, "Four Five", said="events: [agent:end]", code=HANDLER)

    with pytest.raises(ConfigurationError) as error:
        load({}, tmp_path)

    lines = str(error.value).splitlines()
    assert lines[0] == "4 problems in the configuration:"
    assert "hooks/Four Five/HOOK.yaml: the folder is named 'Four Five'" in lines[1]
    assert "hooks/one/HOOK.yaml: it names no events" in lines[2]
    assert "hooks/three/HOOK.yaml: the file cannot be read (No such file" in lines[3]
    assert "hooks/two/HOOK.yaml: there is no handler.py beside it" in lines[4]
    assert load({"HERMES_HOOKS__ENABLED": "false"}, tmp_path).settings.hooks.enabled is False


@pytest.mark.req("W36")
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def handle(event_type, context): ...", "no coroutine function handle"),
        ("x = 1", "no coroutine function handle"),
        ("import nothing_of_that_name", "does not load (ModuleNotFoundError"),
        ("1 / 0", "does not load (ZeroDivisionError"),
        ("def (", "does not load (SyntaxError"),
    ],
)
def test_a_handler_that_cannot_be_called_is_a_clear_error(
    tmp_path: Path, code: str, told: str
) -> None:
    write_hook(tmp_path, "own", said="events: [agent:end]", code=code)
    (file,), _ = read_hook_files(tmp_path)

    with pytest.raises(ConfigurationError) as error:
        load_hook(file, home=tmp_path)

    assert told in str(error.value)
    assert "handler.py" in str(error.value)


@pytest.mark.req("W36")
def test_a_plugin_registers_hooks_and_no_two_of_one_name() -> None:
    registry = Registry()
    registry.hook(Hook(name="own", events=("agent:end",), handle=nothing))

    with pytest.raises(ConfigurationError, match="two plugins register a hook 'own'"):
        registry.hook(Hook(name="own", events=("agent:start",), handle=nothing))
    with pytest.raises(ConfigurationError, match="there is no event 'agent:stop'"):
        registry.hook(Hook(name="odd", events=("agent:stop",), handle=nothing))

    assert list(registry.hooks) == ["own"]
