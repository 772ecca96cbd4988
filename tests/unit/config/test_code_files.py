"""Code that other users of the machine can change is not run: hooks, plugins, tools, programs."""

import os
import sys
from pathlib import Path

import pytest

from hermes.config import McpServerSettings, McpSettings
from hermes.config.code_files import code_problem, folder_problem, program_problem, read_code
from hermes.config.hook_files import read_hook_files
from hermes.errors import ConfigurationError
from hermes.plugins.hook_loader import load_hook
from hermes.plugins.loader import load_plugin
from hermes.plugins.registry import Registry
from hermes.ports.clock import SystemClock
from hermes.tools.mcp.servers import McpServers
from hermes.tools.modules import load_tools
from tests.unit.plugins.hook_folder import write_hook

NOBODY = 54_321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
# A module that leaves a mark if anybody runs it.
RUN = "from pathlib import Path\nPath({mark!r}).touch()\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home as a start makes it."""
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def code(home: Path) -> Path:
    """A file of code two folders below the home, which only its owner can change."""
    path = home / "hooks" / "own" / "handler.py"
    path.parent.mkdir(parents=True)
    path.write_text("x = 1\n")
    return path


@pytest.mark.req("W12", "W36")
def test_a_file_that_only_its_owner_can_change_is_read(home: Path, code: Path) -> None:
    assert code_problem(code, home=home) is None
    assert read_code(code, home=home) == b"x = 1\n"


@pytest.mark.req("W12", "W36")
@pytest.mark.parametrize("above", [0, 1, 2, 3])
@pytest.mark.parametrize("bits", [0o020, 0o002])
def test_a_file_or_folder_that_others_can_write_to_is_named_with_its_chmod(
    home: Path, code: Path, above: int, bits: int
) -> None:
    loose = (code, *code.parents)[above]
    mode = loose.stat().st_mode & 0o777 | bits
    loose.chmod(mode)

    with pytest.raises(ConfigurationError) as refusal:
        read_code(code, home=home)

    assert str(refusal.value) == (
        f"{loose} can be changed by other users (mode {mode:04o}), who could so run code as the "
        f"user of the gateway. Read what it contains, then run chmod go-w {loose}"
    )


@as_root
@pytest.mark.req("W12", "W36")
@pytest.mark.parametrize("above", [0, 1, 2])
def test_what_belongs_to_another_user_is_named_with_its_chown(
    home: Path, code: Path, above: int
) -> None:
    foreign = (code, *code.parents)[above]
    os.chown(foreign, NOBODY, -1)

    problem = code_problem(code, home=home)

    assert problem is not None
    assert problem.startswith(f"{foreign} belongs to user {NOBODY}, who could change")
    assert problem.endswith(f"then run chown -h 0 {foreign}")


@pytest.mark.req("W12", "W36")
def test_a_folder_outside_the_home_is_checked_up_to_the_root(tmp_path: Path, home: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "deep").mkdir(parents=True)
    file = shared / "deep" / "tools.py"
    file.write_text("")
    shared.chmod(0o777)
    loose = code_problem(file, home=home)
    shared.chmod(0o1777)
    sticky = code_problem(file, home=home)
    shared.chmod(0o755)

    assert loose is not None
    assert loose.startswith(f"{shared} can be changed")
    # In a sticky folder, as /tmp is one, nobody replaces what belongs to another.
    assert sticky is None


@pytest.mark.req("W12", "W36")
@pytest.mark.parametrize("target", ["{shared}/tools.py", "../shared/tools.py"])
def test_a_link_is_followed_and_its_target_is_checked(
    tmp_path: Path, home: Path, target: str
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "tools.py").write_text("")
    link = home / "tools.py"
    link.symlink_to(target.format(shared=shared))
    safe = code_problem(link, home=home)
    shared.chmod(0o777)

    problem = code_problem(link, home=home)

    assert safe is None
    assert problem is not None
    assert problem.startswith(f"{shared} can be changed")


@pytest.mark.req("W12", "W36")
def test_a_way_up_out_of_the_home_is_checked_above_the_home_as_well(
    tmp_path: Path, home: Path
) -> None:
    (tmp_path / "tools.py").write_text("")
    tmp_path.chmod(0o777)

    problem = code_problem(home / ".." / "tools.py", home=home)
    tmp_path.chmod(0o700)

    assert problem is not None
    assert problem.startswith(f"{tmp_path} can be changed")


@as_root
@pytest.mark.req("W12", "W36")
def test_a_link_of_another_user_in_a_sticky_folder_is_refused(tmp_path: Path, home: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (home / "tools.py").write_text("")
    link = shared / "tools.py"
    link.symlink_to(home / "tools.py")
    os.lchown(link, NOBODY, -1)

    problem = code_problem(link, home=home)

    assert problem is not None
    assert problem.startswith(f"{link} belongs to user {NOBODY}")


@pytest.mark.req("W12", "W36")
def test_a_folder_that_a_plugin_links_to_is_checked_as_well(tmp_path: Path, home: Path) -> None:
    plugin, outside = home / "plugin", tmp_path / "outside"
    plugin.mkdir()
    outside.mkdir()
    (plugin / "sub").symlink_to(outside)
    (outside / "circle").symlink_to(plugin)
    (outside / "wire.py").touch()
    safe = folder_problem(plugin, home=home)
    (outside / "wire.py").chmod(0o666)

    found = folder_problem(plugin, home=home)

    assert safe is None
    assert found is not None
    assert "wire.py can be changed" in found


@pytest.mark.req("W12", "W36")
def test_everything_in_a_plugins_folder_is_checked(tmp_path: Path, home: Path) -> None:
    plugin = home / "plugin"
    (plugin / "__pycache__").mkdir(parents=True)
    (plugin / "__init__.py").write_text("")
    compiled = plugin / "__pycache__" / "wire.cpython-311.pyc"
    compiled.touch()
    outside = tmp_path / "outside.py"
    outside.touch()
    (plugin / "wire.py").symlink_to(outside)
    safe = folder_problem(plugin, home=home)
    compiled.chmod(0o666)
    planted = folder_problem(plugin, home=home)
    compiled.chmod(0o600)
    outside.chmod(0o666)

    linked = folder_problem(plugin, home=home)

    assert safe is None
    assert planted is not None
    assert planted.startswith(f"{compiled} can be changed")
    assert linked is not None
    assert linked.startswith(f"{outside} can be changed")


@pytest.mark.req("W12", "W36")
def test_no_hook_plugin_or_tool_file_that_others_can_change_is_run(
    tmp_path: Path, home: Path
) -> None:
    mark = tmp_path / "run"
    text = RUN.format(mark=str(mark))
    hook = write_hook(home, "own", said="events: [agent:end]", code=text) / "handler.py"
    plugin = home / "loose_plugin"
    plugin.mkdir()
    (plugin / "__init__.py").write_text(text)
    tools = home / "loose_tools.py"
    tools.write_text(text)
    for path in (hook, plugin, tools):
        path.chmod(0o777)
    (file,), _ = read_hook_files(home)

    with pytest.raises(ConfigurationError, match=f"{hook} can be changed by other users"):
        load_hook(file, home=home)
    with pytest.raises(ConfigurationError, match=f"{plugin} can be changed by other users"):
        load_plugin("./loose_plugin", Registry(), home=home)
    with pytest.raises(ConfigurationError, match=f"{tools} can be changed by other users"):
        load_tools(["loose_tools.py"], Registry(), home=home)

    assert not mark.exists()


@pytest.mark.req("W12", "W36")
def test_a_compiled_file_beside_a_hook_is_neither_read_nor_written(home: Path) -> None:
    said = "events: [agent:end]"
    folder = write_hook(home, "own", said=said, code="async def handle(event_type, context): ...\n")
    (file,), _ = read_hook_files(home)

    load_hook(file, home=home)

    assert sorted(path.name for path in folder.iterdir()) == ["HOOK.yaml", "handler.py"]


@pytest.mark.req("W12", "W36")
@pytest.mark.parametrize("place", ["command", "argument", "option"])
def test_a_program_in_the_home_that_others_can_change_is_found(home: Path, place: str) -> None:
    script = home / "server.py"
    script.write_text("")
    words = {
        "command": (str(script), []),
        "argument": (sys.executable, ["server.py"]),
        "option": (sys.executable, [f"--run={script}"]),
    }
    command, args = words[place]
    safe = program_problem(command, args, cwd=home, home=home)
    script.chmod(0o766)

    problem = program_problem(command, args, cwd=home, home=home)

    assert safe is None
    assert problem is not None
    assert problem.startswith(f"{script} can be changed by other users (mode 0766)")


@pytest.mark.req("W37")
async def test_an_mcp_server_runs_in_the_home(home: Path) -> None:
    (home / "server.py").write_text("import os, sys; sys.exit(os.getcwd())")
    server = McpServerSettings(command=sys.executable, args=("server.py",))
    servers = McpServers(
        McpSettings(servers={"own": server}, start_wait_s=30), clock=SystemClock(), home=home
    )
    try:
        await servers.start()
        (status,) = servers.status().servers
    finally:
        await servers.stop()

    assert f"({home})" in str(status.problem)


@pytest.mark.req("W12", "W36")
async def test_an_mcp_server_that_others_can_change_is_not_started(
    tmp_path: Path, home: Path
) -> None:
    mark = tmp_path / "run"
    script = home / "server.py"
    script.write_text(RUN.format(mark=str(mark)))
    script.chmod(0o666)
    server = McpServerSettings(command=sys.executable, args=(str(script),))
    servers = McpServers(
        McpSettings(servers={"own": server}, start_wait_s=30), clock=SystemClock(), home=home
    )
    try:
        await servers.start()
        (status,) = servers.status().servers
    finally:
        await servers.stop()

    assert f"{script} can be changed by other users" in str(status.problem)
    assert not mark.exists()
