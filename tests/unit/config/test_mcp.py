"""MCP servers in the configuration: one way to each, secrets by name, platforms that name servers."""

import json
from pathlib import Path

import pytest

from hermes.config import show

SECRET = "canary-0123456789"


@pytest.mark.req("W37")
def test_a_server_is_started_or_called(write, load_home):
    write(
        yaml="""\
mcp:
  servers:
    time: {command: mcp-server-time, args: [--local-timezone, UTC], parallel: true}
    docs: {url: "https://example.org/mcp", tool_timeouts_s: {deep.search: 300}}
  platforms: {irc: [no_mcp], telegram: [time]}
"""
    )

    mcp = load_home().settings.mcp

    assert mcp.servers["time"].args == ("--local-timezone", "UTC")
    assert mcp.servers["docs"].tool_timeouts_s == {"deep.search": 300}
    assert mcp.platforms == {"irc": ("no_mcp",), "telegram": ("time",)}


@pytest.mark.req("W35", "W37")
def test_a_secret_is_named_and_comes_from_the_environment_or_the_file_beside(write, load_home):
    write(
        yaml="""\
mcp:
  servers:
    a: {command: x, env: {KEY: "${MY_KEY}", PLAIN: "$5"}}
    b: {url: "https://example.org/", headers: {Authorization: "Bearer ${MY_TOKEN}"}}
""",
        dotenv=f"MY_KEY=hidden\nMY_TOKEN={SECRET}\n",
    )

    loaded = load_home(MY_KEY=SECRET)

    servers = loaded.settings.mcp.servers
    assert servers["a"].env["KEY"].get_secret_value() == SECRET
    assert servers["a"].env["PLAIN"].get_secret_value() == "$5"
    assert servers["b"].headers["Authorization"].get_secret_value() == f"Bearer {SECRET}"
    assert SECRET not in json.dumps(show(loaded, origin=True)) + repr(loaded)
    origins = dict(loaded.origins)
    assert origins["mcp.servers.a.env.KEY"] == "config.yaml"


@pytest.mark.req("W37")
def test_nothing_is_expanded_elsewhere(write, load_home):
    write(yaml='mcp: {servers: {a: {command: "${HOME}/x", args: ["${HOME}"]}}}')

    server = load_home(HOME="/root").settings.mcp.servers["a"]

    assert (server.command, server.args) == ("${HOME}/x", ("${HOME}",))


@pytest.mark.req("W37")
def test_a_path_may_begin_in_the_own_folder_and_the_program_runs_in_the_home(
    write, load_home, home
):
    write(
        yaml="""\
mcp:
  servers:
    a: {command: ~/bin/x, args: [~/y.py, "--z=~/z", "~", "a~/b"]}
    b: {command: x, cwd: shop}
    c: {command: x, cwd: ~/shop}
"""
    )
    own = Path.home()

    servers = load_home().settings.mcp.servers

    assert servers["a"].command == f"{own}/bin/x"
    assert servers["a"].args == (f"{own}/y.py", "--z=~/z", str(own), "a~/b")
    folders = [servers[name].folder_in(home) for name in "abc"]
    assert folders == [home, home / "shop", own / "shop"]


@pytest.mark.req("W37")
def test_what_cannot_work_is_refused_with_its_fix(write, refusal):
    write(
        yaml="""\
mcp:
  servers:
    none: {timeout_s: 5}
    both: {command: x, url: "https://example.org/"}
    unset: {command: x, env: {KEY: "${NOT_SET_ANYWHERE}"}}
  platforms: {web: [bot]}
"""
    )

    text = refusal()

    assert "mcp.servers.none.command is null, expected a program to start" in text
    assert 'mcp.servers.both.command is "x", but url is set, too' in text
    assert "the variable NOT_SET_ANYWHERE is set neither in the environment nor in .env" in text
    assert 'mcp.platforms.web is ["bot"], expected names of mcp.servers or no_mcp' in text
    assert "did you mean both?" in text


@pytest.mark.req("W37")
def test_the_same_files_can_be_read_again(write, load_home):
    write(yaml="mcp: {servers: {a: {command: x}}}")
    loaded = load_home()
    write(yaml="mcp: {servers: {b: {command: x}}}")

    assert list(loaded.settings.mcp.servers) == ["a"]
    assert list(loaded.reread().settings.mcp.servers) == ["b"]
