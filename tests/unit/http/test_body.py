"""Reading a request's body: to its end, to its limit, or for as long as it may take."""

import asyncio
from collections.abc import Iterable

import pytest
from starlette.types import Message, Receive

from hermes.errors import BadRequest, TooLarge
from hermes.http.body import discard_body, media_type, read_body

GONE: Message = {"type": "http.disconnect"}


def piece(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


class Client:
    """Sends messages, then nothing."""

    def __init__(self, *messages: Message) -> None:
        self.left = list(messages)

    async def __call__(self) -> Message:
        if not self.left:
            await asyncio.Event().wait()
        return self.left.pop(0)


async def read(receive: Receive, *, declared: str | None = None, **more: float) -> bytes:
    headers = {} if declared is None else {"content-length": declared}
    return await read_body(receive, headers, limit=6, timeout_s=more.get("timeout_s", 30.0))


@pytest.mark.req("J2")
@pytest.mark.parametrize(
    "messages",
    [
        [piece(b"abcdef", more=False)],
        [piece(b"abc"), piece(b"def"), piece(b"", more=False)],
        [piece(b""), piece(b"abc"), {"type": "http.request", "body": b"def"}],
    ],
)
async def test_a_body_of_the_largest_size_is_read_whole(messages: Iterable[Message]) -> None:
    assert await read(Client(*messages), declared="6") == b"abcdef"


@pytest.mark.req("J2")
@pytest.mark.parametrize(
    ("declared", "messages"),
    [("7", []), (None, [piece(b"abcdefg", more=False)]), ("6", [piece(b"abc"), piece(b"defg")])],
)
async def test_one_byte_more_is_refused_as_soon_as_it_is_known(
    declared: str | None, messages: list[Message]
) -> None:
    with pytest.raises(TooLarge):
        await read(Client(*messages), declared=declared)


@pytest.mark.req("J2")
async def test_a_body_that_does_not_end_is_refused() -> None:
    with pytest.raises(BadRequest, match="closed after 3 bytes"):
        await read(Client(piece(b"abc"), GONE))
    with pytest.raises(BadRequest, match=r"within 0\.05 s"):
        await read(Client(piece(b"abc")), timeout_s=0.05)


@pytest.mark.req("J2")
@pytest.mark.parametrize(
    ("messages", "unread"),
    [
        ([piece(b"ab"), piece(b"cd", more=False), GONE], 1),
        ([piece(b"ab"), GONE, GONE], 1),
        ([piece(b"abcdef"), GONE], 1),
        ([piece(b"abcde"), GONE, GONE], 1),
        ([piece(b"abc"), piece(b"defg"), GONE], 1),
    ],
)
async def test_the_rest_of_a_refused_body_is_read_to_its_end_or_to_the_limit(
    messages: list[Message], unread: int
) -> None:
    client = Client(*messages)

    async with asyncio.timeout(30):
        await discard_body(client, limit=6, timeout_s=60.0)

    assert len(client.left) == unread


@pytest.mark.req("J2")
async def test_a_refused_client_that_sends_nothing_more_is_not_waited_for() -> None:
    async with asyncio.timeout(30):
        await discard_body(Client(piece(b"ab")), limit=6, timeout_s=0.05)


@pytest.mark.parametrize(
    ("header", "kind"),
    [("application/json", "application/json"), (" Text/Plain ; charset=x", "text/plain"), ("", "")],
)
def test_the_media_type_has_no_parameters_and_no_case(header: str, kind: str) -> None:
    assert media_type({"content-type": header}) == kind
