"""MCP servers in the configuration: one way to each, secrets by name, platforms that name servers."""

import json
from pathlib import Path

import pytest

from hermes.config import show
from hermes.errors import ConfigurationError

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
  platforms: {web: [bot]}
"""
    )

    text = refusal()

    assert "mcp.servers.none.command is null, expected a program to start" in text
    assert 'mcp.servers.both.command is "x", but url is set, too' in text
    assert 'mcp.platforms.web is ["bot"], expected names of mcp.servers or no_mcp' in text
    assert "did you mean both?" in text


@pytest.mark.req("W37")
def test_the_same_files_can_be_read_again(write, load_home):
    write(yaml="mcp: {servers: {a: {command: x}}}")
    loaded = load_home()
    write(yaml="mcp: {servers: {b: {command: x}}}")

    assert list(loaded.settings.mcp.servers) == ["a"]
    assert list(loaded.reread().settings.mcp.servers) == ["b"]


UNSET = """\
mcp:
  servers:
    unset:
      command: x
      env: {KEY: "${NOT_SET_ANYWHERE}", BOTH: "${IN_ENV} ${NOT_SET_ANYWHERE}"}
      headers: {Authorization: "Bearer ${IN_ENV}"}
"""


@pytest.mark.req("W37", "M9")
def test_a_name_without_a_variable_may_be_a_stored_secret(write, load_home):
    write(yaml=UNSET)

    loaded = load_home(IN_ENV="variable")
    (warning,) = [one for one in loaded.warnings if one.key.endswith(".KEY")]
    (server,) = loaded.mcp_with(
        {"NOT_SET_ANYWHERE": "stored", "IN_ENV": "stored-too"}
    ).servers.values()
    (as_read,) = loaded.mcp_with({}).servers.values()

    assert "is set neither in the environment nor in .env" in warning.problem
    assert "hermes secrets set NOT_SET_ANYWHERE" in warning.fix
    assert {name: one.get_secret_value() for name, one in server.env.items()} == {
        "KEY": "stored",
        "BOTH": "stored-too stored",
    }
    assert server.headers["Authorization"].get_secret_value() == "Bearer stored-too"
    assert as_read == loaded.settings.mcp.servers["unset"]
    assert as_read.headers["Authorization"].get_secret_value() == "Bearer variable"
    assert loaded.mcp_names == {"NOT_SET_ANYWHERE": ("unset",), "IN_ENV": ("unset",)}


@pytest.mark.req("M9")
def test_a_variable_of_the_environment_or_of_the_file_is_read_by_name(write, load_home):
    write(dotenv="ONLY_HERE=from-the-file\nBOTH=from-the-file\n")

    loaded = load_home(BOTH="from-the-environment")

    found = {name: loaded.variable(name) for name in ("ONLY_HERE", "BOTH", "NOWHERE")}
    assert found == {"ONLY_HERE": "from-the-file", "BOTH": "from-the-environment", "NOWHERE": None}


@pytest.mark.req("W35", "W37")
def test_the_secret_of_oauth_is_named_and_never_shown(write, load_home):
    write(
        yaml="""\
mcp:
  servers:
    a:
      url: "https://a.example.org/mcp"
      oauth: {issuer: "https://login.example.org", grant: client_credentials, client_id: hermes,
              client_secret: "${MY_SECRET}"}
""",
        dotenv=f"MY_SECRET={SECRET}\n",
    )

    loaded = load_home()

    secret = loaded.settings.mcp.servers["a"].oauth.client_secret
    assert secret.get_secret_value() == SECRET
    assert SECRET not in json.dumps(show(loaded, origin=True)) + repr(loaded)


@pytest.mark.req("W37")
@pytest.mark.parametrize(
    ("server", "told"),
    [
        ('{command: x, oauth: {issuer: "https://l.example.org"}}', "the server is a program"),
        ('{url: "https://a.example.org/", oauth: {scope: all}}', "oauth.issuer"),
        ('{url: "https://a.example.org/", oauth: {issuer: "http://l.example.org"}}', "https"),
        ('{url: "https://a.example.org/", oauth: {issuer: "http://10.0.0.1"}}', "https"),
        (
            '{url: "https://a.example.org/", oauth: {issuer: "https://l.example.org", '
            "grant: client_credentials}}",
            "an id and a secret",
        ),
    ],
)
def test_what_would_get_no_token_or_show_it_is_refused(write, load_home, server, told):
    write(yaml=f"mcp: {{servers: {{a: {server}}}}}")

    with pytest.raises(ConfigurationError, match=told):
        load_home()
