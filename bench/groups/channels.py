"""Channels: what checking a signature costs, then ten thousand webhooks at once, some of them twice and
some out of order.
"""

import asyncio
import http.client
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

import msgspec

from bench.calm import Rounds, cpu_numbers
from bench.gateway import Running, echo_server, gateway
from bench.process import cpu_s
from bench.registry import Group, Say, Settings, Target
from bench.signatures import measure_signatures
from bench.webhook_load import AT_ONCE, MOVED, POSTS, REPEATED, Door, Load, plan_posts, post_all

_PATIENCE_S = 180.0
_ASK_S = 0.5
_ANSWER = re.compile(r"#\d+ message (\d+)")
_SEED = 7
_CHOSEN = {
    "HERMES_ACCESS__ALLOW_ALL": "true",
    "HERMES_BUSY__PLATFORMS__TELEGRAM": "queue",
    "HERMES_BUSY__MERGE_FOLLOW_UPS": "false",
    "HERMES_STREAMING__TRANSPORT": "off",
    "HERMES_PLATFORMS__TELEGRAM__RATES__PER_SECOND": "0",
    "HERMES_PLATFORMS__TELEGRAM__RATES__CHAT_GAP_S": "0",
    "HERMES_PLATFORMS__TELEGRAM__EXTRA__MODE": "webhook",
    "HERMES_SERVER__PUBLIC_URL": "https://hermes.example",
}


class _Done(msgspec.Struct, frozen=True, kw_only=True):
    """All posts and their replies; `count` are the messages that were accepted."""

    load: Load
    found: dict[int, list[int]]
    count: int
    posted_s: float
    wall_s: float
    cpu_ms: float


class _Telegram:
    """The stand-in platform in a process of its own."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.settings: Mapping[str, str] = told["settings"]
        self._address = urlsplit(told["control"])

    def environment(self) -> dict[str, str]:
        """Return the variables by which a gateway speaks to it."""
        return {
            **_CHOSEN,
            "TELEGRAM_BOT_TOKEN": self.settings["bot_token"],
            "HERMES_PLATFORMS__TELEGRAM__EXTRA__API_URL": self.settings["api_url"],
            "HERMES_PLATFORMS__TELEGRAM__EXTRA__WEBHOOK_SECRET": self.settings["webhook_secret"],
        }

    def ask(self, verb: str, **body: str) -> Any:
        """Let the platform do or tell something."""
        connection = http.client.HTTPConnection("127.0.0.1", self._address.port, timeout=60)
        connection.request("POST", f"{self._address.path}/{verb}", body=msgspec.json.encode(body))
        answer = connection.getresponse()
        told = answer.read()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"the stand-in answered {answer.status} to {verb}: {told[:300]!r}")
        return msgspec.json.decode(told)

    def texts(self, chat: int) -> list[str]:
        """Return what stands of the bot in a chat."""
        return [post["text"] for post in self.ask("state", chat=str(chat))["posts"]]


@contextmanager
def _telegram() -> Iterator[_Telegram]:
    command = [sys.executable, "-m", "hermes.testing.telegram", "--mode", "webhook", "--local"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield _Telegram(msgspec.json.decode(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    yield from measure_signatures(say)
    with (
        echo_server() as model,
        _telegram() as telegram,
        gateway(model, settings=telegram.environment()) as running,
    ):
        telegram.ask("point_at", url=f"http://127.0.0.1:{running.port}/webhooks/telegram")
        chats = plan_posts(_SEED)
        say(f"opening {AT_ONCE} chats")
        for chat in chats:
            telegram.ask("say", text="hello", chat=str(chat), user=str(chat))
        yield _measure_load(telegram, running, chats=chats, say=say)


def _measure_load(
    telegram: _Telegram, running: Running, *, chats: Mapping[int, list[int]], say: Say
) -> dict[str, float]:
    rounds: Rounds[_Done] = Rounds()
    done = rounds.run(partial(_post_and_wait, telegram, running, chats=chats, say=say))
    load, found, took = done.load, done.found, sorted(done.load.took_s)
    return {
        "webhook_10k_lost": _lost(load, found),
        "webhook_10k_doubled": _doubled(found),
        "webhook_10k_out_of_order": _out_of_order(load, found),
        "webhook_10k_accept_p50_ms": statistics.median(took) * 1000,
        "webhook_10k_accept_p99_ms": took[int(len(took) * 0.99)] * 1000,
        "webhook_10k_told_to_come_again": load.refused,
        "webhook_10k_accepts_per_s": POSTS / done.posted_s,
        "webhook_10k_replies_per_s": done.count / done.wall_s,
        **cpu_numbers(
            "webhook_10k_cpu_ms_per_reply", rounds.read(lambda one: one.cpu_ms / one.count)
        ),
    }


def _post_and_wait(
    telegram: _Telegram, running: Running, *, chats: Mapping[int, list[int]], say: Say
) -> _Done:
    say(f"{POSTS} webhooks")
    cpu, started = cpu_s(running.pid), monotonic()
    load = asyncio.run(post_all(Door(running.port, telegram.settings["webhook_secret"]), chats))
    posted = monotonic() - started
    say("waiting for the replies")
    found = _wait_for_replies(telegram, load)
    return _Done(
        load=load,
        found=found,
        count=sum(len(one.order) for one in load.chats.values()),
        posted_s=posted,
        wall_s=monotonic() - started,
        cpu_ms=(cpu_s(running.pid) - cpu) * 1000,
    )


def _wait_for_replies(telegram: _Telegram, load: Load) -> dict[int, list[int]]:
    """Return the numbers that were answered in each chat, once nothing more comes."""
    until, last = monotonic() + _PATIENCE_S, -1
    while True:
        sleep(_ASK_S)
        found = {chat: _numbers(telegram.texts(chat)) for chat in load.chats}
        count = sum(map(len, found.values()))
        is_whole = count >= sum(len(one.order) for one in load.chats.values())
        if (is_whole and count == last) or monotonic() > until:
            return found
        last = count


def _numbers(texts: list[str]) -> list[int]:
    return [int(number) for text in texts for number in _ANSWER.findall(text)]


def _lost(load: Load, found: Mapping[int, list[int]]) -> int:
    return sum(len(set(one.order) - set(found[chat])) for chat, one in load.chats.items())


def _doubled(found: Mapping[int, list[int]]) -> int:
    return sum(len(numbers) - len(set(numbers)) for numbers in found.values())


def _out_of_order(load: Load, found: Mapping[int, list[int]]) -> int:
    """Count the replies that stand somewhere else than their message was accepted."""
    return sum(
        expected != answered
        for chat, one in load.chats.items()
        for expected, answered in zip(one.order, found[chat], strict=False)
    )


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    return {
        "webhooks": f"{POSTS:,} of Telegram's, {AT_ONCE} at a time, each in a chat of its own; "
        f"{REPEATED:.0%} are repeats, {MOVED:.0%} come after a later one",
        "platform": "the stand-in in a process of its own; it takes every reply over HTTP",
        "busy.platforms.telegram": "queue, so that every message is a turn",
        "busy.merge_follow_ups": "false, for the same reason",
        "rates": "none, so that the gateway's own speed shows",
    }


GROUP = Group(
    name="channels",
    about="the check of a signature, and ten thousand webhooks into replies",
    targets={
        "webhook_10k_lost": Target(at_most=0),
        "webhook_10k_doubled": Target(at_most=0),
        "webhook_10k_out_of_order": Target(at_most=0),
        "webhook_10k_accept_p99_ms": Target(at_most=250),
        "kit_signature_us": Target(at_most=30),
    },
    settings=effective_settings,
    run=measure,
    library_figures=("kit_signature",),
)
