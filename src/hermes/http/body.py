"""Reads a request body up to a limit.

Used by every endpoint after it has authenticated the caller. It knows ASGI messages and bytes, not
their meaning.
"""

import asyncio
from collections.abc import Mapping

from starlette.types import Receive

from hermes.errors import BadRequest, TooLarge

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
# Scope key of a function that returns whether the whole body of the running request has arrived.
HAS_BODY = "hermes.has_body"


def media_type(headers: Mapping[str, str]) -> str:
    """Return the request's media type in lower case, without parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(
    receive: Receive,
    headers: Mapping[str, str],
    *,
    limit: int,
    timeout_s: float,
    has_arrived: bool = False,
) -> bytes:
    """Return the complete body; raises `TooLarge` as soon as it is known to exceed `limit`.

    A body that the server says `has_arrived` is there already: reading it needs no timer.
    """
    declared = headers.get("content-length")
    if declared is not None and declared.isdecimal() and int(declared) > limit:
        raise TooLarge(f"The request body has {declared} bytes; at most {limit} are accepted here.")
    if has_arrived:
        return await _collect(receive, limit)
    try:
        async with asyncio.timeout(timeout_s):
            return await _collect(receive, limit)
    except TimeoutError:
        raise BadRequest(
            f"The request body did not arrive whole within {timeout_s:g} s: send the request again."
        ) from None


async def _collect(receive: Receive, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest(f"The connection closed after {size} bytes of an unfinished body.")
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > limit:
            raise TooLarge(f"The request body exceeds the {limit} bytes that are accepted here.")
        if not message.get("more_body", False):
            return piece if not pieces else b"".join((*pieces, piece))
        pieces.append(piece)


async def discard_body(receive: Receive, *, limit: int, timeout_s: float) -> None:
    """Read and discard what a refused client is still sending, so that it can read the answer.

    Closing a socket with unread bytes resets the connection, and the reset can overtake the answer.
    Both limits keep a client from using this as a sink.
    """
    left = limit
    try:
        async with asyncio.timeout(timeout_s):
            while left > 0:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))
    except TimeoutError:
        return
