"""A caller of a gateway's `/v1`: a key with a budget, and what the gateway counted for it."""

import subprocess
from time import monotonic, sleep

import msgspec

from bench.gateway import Model, Running, environment, hermes_command

_COMMAND_S = 60.0
_LEDGER_S = 10.0
_POLL_S = 0.1


class _Key(msgspec.Struct):
    id: str
    used_usd: float = 0.0
    used_tokens: int = 0


class _Made(msgspec.Struct):
    secret: str
    key: _Key


class _Listed(msgspec.Struct):
    keys: list[_Key]


class Caller(msgspec.Struct, frozen=True):
    """A key of `/v1`."""

    secret: str
    id: str


def make_caller(running: Running, model: Model, *, user: str = "bench") -> Caller:
    """Make a key that is limited in dollars and in tokens, the way an operator does."""
    limits = ("--budget", "100000/month", "--tokens", "100000000000/month")
    told = _hermes(running, model, "create", "--user", user, *limits, "--json")
    made = msgspec.json.decode(told, type=_Made)
    return Caller(made.secret, made.key.id)


def check_counted(running: Running, model: Model, *, caller: Caller, tokens: int) -> None:
    """Raise `RuntimeError` unless the key's budget counted exactly so many tokens, and dollars."""
    deadline = monotonic() + _LEDGER_S
    while True:
        told = _hermes(running, model, "list", "--json")
        (key,) = [
            one for one in msgspec.json.decode(told, type=_Listed).keys if one.id == caller.id
        ]
        if key.used_tokens == tokens and key.used_usd > 0:
            return
        if monotonic() > deadline:
            raise RuntimeError(
                f"the key's budget counted {key.used_tokens} tokens and ${key.used_usd:g}, "
                f"expected {tokens} and some dollars: not every call was counted"
            )
        sleep(_POLL_S)


def _hermes(running: Running, model: Model, *arguments: str) -> bytes:
    ended = subprocess.run(
        hermes_command("keys", *arguments),
        env=environment(model, running.home),
        capture_output=True,
        timeout=_COMMAND_S,
        check=False,
    )
    if ended.returncode != 0:
        shown = " ".join(arguments)
        raise RuntimeError(f"`hermes keys {shown}` failed: {ended.stderr.decode()[-2000:]}")
    return ended.stdout
