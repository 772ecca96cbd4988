"""Claude Code and Codex themselves as callers of `/v1`, where they are installed."""

import asyncio
import json
import os
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

import pytest

from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.real_agents import CLAUDE, CODEX, need
from tests.system.test_v1_gateway import key_of

PATIENCE_S = 90.0
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "RUST_LOG": "error",
}


async def run(program: str, *arguments: str, home: Path, **more: str) -> str:
    """Run a program in an empty home and return what it printed."""
    path = os.environ.get("PATH", "")  # noqa: TID251  a test hands its own environment on
    process = await asyncio.create_subprocess_exec(
        program, *arguments, cwd=home, stdin=DEVNULL, stdout=PIPE, stderr=PIPE,
        env={"PATH": path, "HOME": str(home), **QUIET, **more},
    )  # fmt: skip
    try:
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    except TimeoutError:
        process.kill()
        raise
    assert process.returncode == 0, err.decode()[-2000:]
    return out.decode()


async def ask_claude(live: Live, key: str, home: Path, *, prompt: str) -> dict[str, object]:
    told = await run(
        need(CLAUDE), "-p", prompt, "--output-format", "json", home=home,
        ANTHROPIC_BASE_URL=live.url, ANTHROPIC_AUTH_TOKEN=key,
        ANTHROPIC_MODEL="auto", ANTHROPIC_SMALL_FAST_MODEL="auto",
    )  # fmt: skip
    answer: dict[str, object] = json.loads(told)
    return answer


@pytest.mark.req("M1", "M5", "M7")
async def test_claude_code_talks_and_uses_its_tools(tmp_path: Path) -> None:
    need(CLAUDE)
    async with model_server() as url, live_gateway(tmp_path / "home", with_model(url)) as live:
        secret, _ = await key_of(live)
        home = tmp_path / "work"
        home.mkdir()
        (home / "note.txt").write_text("the harbour is cold")

        plain = await ask_claude(live, secret, home, prompt="hello there")
        assert plain["is_error"] is False
        assert str(plain["result"]).endswith("hello there")

        wish = f'[[tool:Read {{"file_path": "{home}/note.txt"}}]] now'
        used = await ask_claude(live, secret, home, prompt=wish)
        assert used["num_turns"] == 2
        assert "the harbour is cold" in str(used["result"])


@pytest.mark.req("M1", "M5", "M7")
async def test_codex_talks(tmp_path: Path) -> None:
    codex = need(CODEX)
    async with model_server() as url, live_gateway(tmp_path / "home", with_model(url)) as live:
        secret, _ = await key_of(live)
        home = tmp_path / "work"
        (home / ".codex").mkdir(parents=True)
        (home / ".codex" / "config.toml").write_text(
            'model = "auto"\nmodel_provider = "hermes"\n[model_providers.hermes]\n'
            f'name = "hermes"\nbase_url = "{live.url}/v1"\n'
            'env_key = "HERMES_KEY"\nwire_api = "responses"\n'
        )

        told = await run(
            codex, "exec", "--skip-git-repo-check", "hello there", home=home, HERMES_KEY=secret
        )
        assert told.strip().endswith("hello there")
