"""LiteLLM's proxy beside Hermes: the same calls, upstream and load, in alternation.

It runs in an environment of its own under `build/`, with one worker. Its own keys
with budgets would need a database, so it only compares its master key: it checks less than Hermes.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from bench.answers import MODEL
from bench.calls import (
    LEVELS,
    PRICED,
    REQUEST,
    ROUNDS,
    SETTLE_S,
    STREAM,
    Counted,
    Kind,
    Server,
    call_numbers,
    counted_gateway,
    send,
)
from bench.calm import Rounds
from bench.gateway import Model, free_port, upstream, wait_ready
from bench.load import Outcome
from bench.registry import Group, Say, Settings, Target

_REQUIREMENTS = Path(__file__).with_name("litellm.in")
_VENV = Path("build/peers/litellm")
_INSTALL_S = 1_800.0
_START_S, _STOP_S = 180.0, 60.0
_KEY = "sk-bench-0000000000000000"
_FEWER = 8  # it takes that much longer at the least
_RATIOS = {REQUEST.name: "v1_cpu_ratio_litellm", STREAM.name: "v1_stream_cpu_ratio_litellm"}
# Errors only in the log, no `.env`, and nothing beyond loopback; it has no telemetry any more.
_SWITCHES = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
}


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    install(say)
    with upstream() as model, litellm_proxy(model) as peer, counted_gateway(model) as counted:
        say("warming up")
        for kind in (REQUEST, STREAM):
            counted.send(kind, level=16, count=kind.counts[16])
            send(peer, kind, level=16, count=_fewer(kind, 16))
        for kind in (REQUEST, STREAM):
            for level in LEVELS:
                yield _measure_level(counted, peer, kind=kind, level=level, say=say)


def _measure_level(
    counted: Counted, peer: Server, *, kind: Kind, level: int, say: Say
) -> dict[str, float]:
    ours: Rounds[Outcome] = Rounds()
    theirs: Rounds[Outcome] = Rounds()
    for number in range(1, ROUNDS + 1):
        say(f"{kind.name}s, {level} at a time, round {number} of {ROUNDS}")
        ours.pause()
        ours.run(partial(counted.send, kind, level=level, count=kind.counts[level]))
        theirs.pause()
        theirs.run(partial(send, peer, kind, level=level, count=_fewer(kind, level)))
    return level_numbers(kind, level, own=ours, other=theirs)


def level_numbers(
    kind: Kind, level: int, *, own: Rounds[Outcome], other: Rounds[Outcome]
) -> dict[str, float]:
    """Return both costs and how often ours goes into theirs; 16 at a time is what has a target."""
    ratio = _RATIOS[kind.name] if level == 16 else f"{_RATIOS[kind.name]}_{level}"
    our_name, their_name = (f"{who}_cpu_ms_per_{kind.name}_{level}" for who in ("v1", "litellm"))
    costs = call_numbers(our_name, own) | call_numbers(their_name, other)
    return {**costs, ratio: costs[their_name] / costs[our_name]}


def _fewer(kind: Kind, level: int) -> int:
    return kind.counts[level] // _FEWER


def install(say: Say) -> None:
    """Install what the requirements name, unless that is done; raises when pip fails."""
    wanted, stamp = _REQUIREMENTS.read_text(encoding="utf-8"), _VENV / "installed.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    say(f"installing {wanted.strip()} into {_VENV} (about 750 MB)")
    shutil.rmtree(_VENV, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(_VENV)], check=True, timeout=_INSTALL_S)
    pip = [str(_VENV / "bin" / "python"), "-m", "pip", "install", "-qq"]
    pip += ["--disable-pip-version-check", "-r", str(_REQUIREMENTS)]
    ended = subprocess.run(pip, capture_output=True, timeout=_INSTALL_S, check=False)
    if ended.returncode != 0:
        raise RuntimeError(
            f"pip could not install {wanted.strip()}; check that the package index can be "
            f"reached, then run this again:\n{ended.stderr.decode()[-2000:]}"
        )
    stamp.write_text(wanted, encoding="utf-8")


@contextmanager
def litellm_proxy(model: Model) -> Iterator[Server]:
    """Run LiteLLM's proxy in front of the upstream until the block ends."""
    home = Path(tempfile.mkdtemp(prefix="litellm-bench-"))
    port = free_port()
    # JSON is YAML.
    (home / "config.yaml").write_bytes(msgspec.json.encode(_config(model)))
    command = [str(_VENV / "bin" / "litellm"), "--config", str(home / "config.yaml")]
    command += ["--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
    path = f"{(_VENV / 'bin').absolute()}:/usr/bin:/bin"
    given = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", **_SWITCHES}
    log = home / "log.txt"
    try:
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=given)
            try:
                wait_ready(process, port, path="/health/liveliness", log=log, seconds=_START_S)
                yield Server(
                    name="litellm", pid=process.pid, port=port, key=_KEY, with_children=True
                )
            finally:
                process.terminate()
                process.wait(timeout=_STOP_S)
    finally:
        shutil.rmtree(home)


def _config(model: Model) -> dict[str, object]:
    call = {"model": f"openai/{MODEL}", "api_base": model.base_url, "api_key": _KEY}
    return {
        "model_list": [{"model_name": MODEL, "litellm_params": call}],
        "general_settings": {"master_key": _KEY},
    }


def effective_settings() -> Settings:
    """Return how both were run."""
    return {
        "litellm": f"{_REQUIREMENTS.read_text(encoding='utf-8').strip()}, one worker, "
        "its own defaults otherwise",
        **_SWITCHES,
        "litellm's key": "its master key, no database: no key of a caller and no budget is "
        "checked, nothing is written down, which favours it",
        "hermes": "shipped defaults; a caller's key and its budget are checked and counted",
        **PRICED,
        "CPU": f"of the process and its children, until {SETTLE_S:g} s after the last answer; "
        "ratios are LiteLLM's through Hermes', at 16 at a time unless they say otherwise",
    }


GROUP = Group(
    name="litellm",
    about="LiteLLM's proxy and Hermes, POST /v1/chat/completions, zero-delay upstream on loopback",
    targets={
        **{f"v1_cpu_ms_per_request_{n}": Target(at_most=0.8) for n in LEVELS},
        **{f"v1_cpu_ms_per_stream50_{n}": Target(at_most=2) for n in LEVELS},
        "v1_cpu_ratio_litellm": Target(at_least=16),
        "v1_stream_cpu_ratio_litellm": Target(at_least=35),
    },
    settings=effective_settings,
    run=measure,
)
