"""The tools that count their runs."""

from pathlib import Path

import msgspec
import pytest

from hermes.errors import ToolError
from hermes.plugins.registry import Registry
from hermes.ports.tool import ToolContext
from hermes.testing.push.plugin import register
from hermes.testing.push.tally import read_tally
from hermes.testing.setup_channel import channel_setup


async def run_child(_agent: str, _task: str) -> str:
    return ""


CONTEXT = ToolContext(turn_id="t1", ordinal=2, person_id="p1", lane="lane", run_child=run_child)


@pytest.mark.req("J8")
async def test_each_run_leaves_one_line_where_the_channels_settings_say(tmp_path: Path) -> None:
    registry = Registry()
    register(registry)
    file = tmp_path / "tools.jsonl"
    secrets = {"base_url": "http://127.0.0.1:1", "token": "t", "signing_secret": "s"}
    setup = channel_setup("hermes.testing.push", secrets | {"tool_count_file": str(file)})
    registry.platforms["pigeon"].make(setup)

    for name in ("count_once", "count_safe", "ask_first"):
        await registry.tools[name].run(msgspec.Raw(b'{"value":"a"}'), CONTEXT)

    assert read_tally(file) == [
        {"tool": name, "turn": "t1", "ordinal": 2, "value": "a"}
        for name in ("count_once", "count_safe", "ask_first")
    ]


@pytest.mark.req("J8")
def test_they_differ_in_how_they_may_be_run() -> None:
    registry = Registry()
    register(registry)

    traits = {name: tool.traits for name, tool in registry.tools.items()}

    assert {name: (t.idempotent, t.needs_approval) for name, t in traits.items()} == {
        "count_once": (False, False),
        "count_safe": (True, False),
        "ask_first": (False, True),
    }


@pytest.mark.req("J8")
async def test_without_a_file_the_model_is_told_what_to_set() -> None:
    registry = Registry()
    register(registry)

    with pytest.raises(ToolError, match="tool_count_file"):
        await registry.tools["count_once"].run(msgspec.Raw(b"{}"), CONTEXT)
