"""The IRC stand-in refuses what a real server refuses; a client that is no channel of ours asks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hermes.testing.irc.server import IrcStandIn
from hermes.testing.irc.state import Person


class Client:
    """A client that says whatever the test says."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, line: str | bytes, *words: str) -> str:
        """Write a line and return the first that has one of the words."""
        self._writer.write(line if isinstance(line, bytes) else f"{line}\r\n".encode())
        async with asyncio.timeout(30):
            while raw := await self._reader.readline():
                if any(word in raw.decode() for word in words):
                    return raw.decode().rstrip("\r\n")
        return ""

    async def enter(self, nick: str = "bot") -> None:
        await self.ask(f"NICK {nick}\r\nUSER {nick} 0 * :Bot", " 422 ")


@asynccontextmanager
async def town(**options: object) -> AsyncIterator[tuple[IrcStandIn, Client]]:
    irc = IrcStandIn(**options)  # type: ignore[arg-type]
    await irc.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", irc.port)
    try:
        yield irc, Client(reader, writer)
    finally:
        writer.close()
        await irc.stop()


@pytest.mark.req("W10")
async def test_order_lengths_and_parameters() -> None:
    async with town() as (irc, client):
        assert " 451 " in await client.ask("PRIVMSG #lab :hi", " 451 ", " 404 ")
        irc.state.people["ada"] = Person(nick="Ada")
        assert " 433 " in await client.ask("NICK ada", " 433 ")
        assert " 432 " in await client.ask("NICK 1bot", " 432 ")
        assert " 461 " in await client.ask("NICK", " 461 ")
        await client.enter()
        assert " 421 " in await client.ask("DANCE", " 421 ")
        assert " 417 " in await client.ask("PRIVMSG Ada :" + "x" * 500, " 417 ")
        assert " 412 " in await client.ask("PRIVMSG Ada :", " 412 ")
        assert " 407 " in await client.ask("PRIVMSG Ada,Bob :hi", " 407 ")
        assert " 404 " in await client.ask("PRIVMSG #lab :hi", " 404 ")
        assert " 401 " in await client.ask("PRIVMSG Bob :hi", " 401 ")
        assert " 462 " in await client.ask("USER x 0 * :x", " 462 ")
        await client.ask(b"PRIVMSG Ada :a\0b\r\nPING x\r\n", " PONG ")
        await client.ask(b"PRIVMSG Ada :\xff\r\nPING x\r\n", " PONG ")
        await client.ask(b"PRIVMSG Ada :no CR\nPING x\r\n", " PONG ")
        await client.ask(f"PRIVMSG Ada :{'x' * 490}\r\nPING x", " PONG ")
    assert [rule[:3] for rule in irc.rejections] == [
        *("451", "432", "461", "421", "a l", "412", "407", "462", "CR,", "a l", "a l", "535"),
    ]


@pytest.mark.req("W2")
async def test_passwords_and_capabilities() -> None:
    async with town(is_plain=True) as (_, client):
        assert " 421 " in await client.ask("CAP LS 302", " 421 ")
        assert " 464 " in await client.ask("NICK bot\r\nUSER bot 0 * :x", " 464 ", " 001 ")
    async with town() as (irc, client):
        assert "sasl=PLAIN" in await client.ask("CAP LS 302", " LS :")
        assert " NAK " in await client.ask("CAP REQ :sasl no-such-cap", " NAK ", " ACK ")
        assert " ACK " in await client.ask("CAP REQ :sasl", " NAK ", " ACK ")
        assert " 904 " in await client.ask("AUTHENTICATE PLAIN\r\nAUTHENTICATE AGIAYg==", " 904 ")
        assert " 904 " in await client.ask("AUTHENTICATE !", " 904 ")
    assert len(irc.rejections) == 2


@pytest.mark.req("A26")
async def test_who_floods_is_thrown_out() -> None:
    async with town(is_limited=True, flood_gap_s=60) as (irc, client):
        await client.enter()
        assert "Excess Flood" in await client.ask("MODE bot\r\n" * 11, "ERROR")
    assert irc.rejections == ("flood: more lines than the server accepts",)


@pytest.mark.req("W10")
async def test_echoes_ids_times_and_labels() -> None:
    async with town() as (irc, client):
        irc.state.people["ada"] = Person(nick="Ada")
        await client.ask("CAP REQ :echo-message labeled-response message-tags server-time", " ACK ")
        await client.enter()
        echo = await client.ask("@label=a1 PRIVMSG Ada :hi", " PRIVMSG ")
        assert echo.startswith("@time=")
        assert ";msgid=msg-1;label=a1 :bot!~bot@" in echo
        assert "label=a2" in await client.ask("@label=a2 PRIVMSG Bob :hi", " 401 ")
    assert [post.text for post in irc.posts("x")] == []
    assert irc.rejections == ()
