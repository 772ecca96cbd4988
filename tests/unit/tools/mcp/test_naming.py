"""Names are what every model service takes, say whose tool it is, and never mean another one."""

import re

import pytest

from hermes.tools.mcp.catalogue import tool_names

FIT = re.compile(r"[A-Za-z0-9_-]{1,64}")


@pytest.mark.req("W37")
def test_a_plain_name_is_kept_whole() -> None:
    assert tool_names("time", ["get_current_time"], servers=["time"]) == {
        "get_current_time": "mcp_time_get_current_time"
    }


@pytest.mark.req("W37")
def test_what_services_do_not_take_is_escaped_and_long_names_are_cut() -> None:
    odd = ["files.read", "ünïcode/\x1b tool", "x" * 300, "", "a" * 56]

    names = tool_names("s", odd, servers=["s"])

    assert names["files.read"] == "mcp_s_files_read"
    assert all(FIT.fullmatch(name) for name in names.values())
    assert len(set(names.values())) == len(odd)
    assert names["a" * 56] == "mcp_s_" + "a" * 56
    assert len(names["x" * 300]) == 64


@pytest.mark.req("W37")
def test_of_two_that_would_collide_the_exact_one_keeps_its_name() -> None:
    names = tool_names("s", ["a.b", "a_b", "a b"], servers=["s"])

    assert names["a_b"] == "mcp_s_a_b"
    assert names["a.b"] != names["a b"]
    assert all(names[tool].startswith("mcp_s_a_b_") for tool in ("a.b", "a b"))


@pytest.mark.req("W37")
def test_a_tool_cannot_pass_for_one_of_another_server() -> None:
    # given a server whose name begins like the other's
    hostile = tool_names("a", ["b_c"], servers=["a", "a_b"])
    honest = tool_names("a_b", ["c"], servers=["a", "a_b"])

    assert honest == {"c": "mcp_a_b_c"}
    assert hostile["b_c"] != "mcp_a_b_c"


@pytest.mark.req("W37")
def test_names_depend_on_nothing_but_the_list_and_the_configuration() -> None:
    forth = tool_names("s", ["a.b", "a b", "y" * 99], servers=["s", "t"])
    back = tool_names("s", ["y" * 99, "a b", "a.b"], servers=["t", "s"])

    assert forth == back
