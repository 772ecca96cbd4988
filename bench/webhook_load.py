"""Telegram's webhook under load: what is posted, what was accepted, and what came back.

Every chat is one worker, which posts its updates one after the other: some twice, some after a later
one. What the gateway accepted first is what the chat must read first.
"""

import asyncio
import random
from collections.abc import Mapping
from time import perf_counter, time

import msgspec

from bench.http import Connection, connect

POSTS = 10_000
AT_ONCE = 200
REPEATED = 0.3
MOVED = 0.2
_FIRST_CHAT = 7_000_000
# Above every number that the stand-in gives by itself.
_FIRST_NUMBER = 1_000_000
_OK = 200
_LATER = 503
_AGAIN_S = 0.5


class Accepted(msgspec.Struct):
    """What one chat was promised: the numbers of its messages, as they were accepted."""

    order: list[int] = msgspec.field(default_factory=list)


class Load(msgspec.Struct):
    """The whole run: what was accepted where, and how long each answer took."""

    chats: dict[int, Accepted] = msgspec.field(default_factory=dict)
    took_s: list[float] = msgspec.field(default_factory=list)
    refused: int = 0


def plan_posts(seed: int) -> dict[int, list[int]]:
    """Return for each chat the numbers of its messages in the order of posting."""
    chance = random.Random(seed)
    unique = round(POSTS * (1 - REPEATED))
    chats: dict[int, list[int]] = {}
    for place in range(AT_ONCE):
        numbers = list(range(unique // AT_ONCE))
        for at in range(1, len(numbers)):
            if chance.random() < MOVED:
                numbers[at - 1], numbers[at] = numbers[at], numbers[at - 1]
        repeats = POSTS // AT_ONCE - len(numbers)
        for number in chance.sample(numbers, repeats):
            first = numbers.index(number)
            numbers.insert(chance.randint(first + 1, len(numbers)), number)
        chats[_FIRST_CHAT + place] = numbers
    return chats


class Door(msgspec.Struct, frozen=True):
    """Where the updates go, and what they show there."""

    port: int
    secret: str


async def post_all(door: Door, chats: Mapping[int, list[int]]) -> Load:
    """Post everything, every chat beside the others."""
    load, at = Load(), int(time())
    posting = [_post_chat(door, chat, numbers=chats[chat], load=load, at=at) for chat in chats]
    await asyncio.gather(*posting)
    return load


async def _post_chat(door: Door, chat: int, *, numbers: list[int], load: Load, at: int) -> None:
    connection = await connect("127.0.0.1", door.port)
    accepted = load.chats.setdefault(chat, Accepted())
    try:
        for number in numbers:
            request = _request(door, update(chat, number, at=at))
            await _post(connection, request, load=load)
            if number not in accepted.order:
                accepted.order.append(number)
    finally:
        connection.close()


async def _post(connection: Connection, request: bytes, *, load: Load) -> None:
    """Post until it is taken, as the platform does; being told to come again is an answer, too."""
    while True:
        started = perf_counter()
        status, body = await connection.ask(request)
        load.took_s.append(perf_counter() - started)
        if status == _OK:
            return
        if status != _LATER:
            raise RuntimeError(f"the webhook answered {status}: {body[:300]!r}")
        load.refused += 1
        await asyncio.sleep(_AGAIN_S)


def _request(door: Door, posted: dict[str, object]) -> bytes:
    body = msgspec.json.encode(posted)
    head = (
        "POST /webhooks/telegram HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        f"x-telegram-bot-api-secret-token: {door.secret}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def update(chat: int, number: int, *, at: int) -> dict[str, object]:
    """Return an update as Telegram posts it; the same numbers give the same bytes."""
    person = {"id": chat, "is_bot": False, "first_name": f"Person {chat}"}
    return {
        "update_id": _FIRST_NUMBER + (chat - _FIRST_CHAT) * 10_000 + number,
        "message": {
            "message_id": _FIRST_NUMBER + number,
            "date": at,
            "chat": {"id": chat, "type": "private", "first_name": person["first_name"]},
            "from": person,
            "text": f"message {number}",
        },
    }
