"""A name server on loopback that changes its mind, and a resolver that asks it: real packets."""

import asyncio
import random
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiohttp.abc import AbstractResolver, ResolveResult

_HEAD = struct.Struct(">6H")
_ANSWER = struct.Struct(">HHHIH")
_A, _AAAA = 1, 28
_KINDS = {_A: socket.AF_INET, _AAAA: socket.AF_INET6}


class FlippingDns(asyncio.DatagramProtocol):
    """Answers every question with one of its address lists, of the family that was asked for."""

    def __init__(self, answers: Sequence[Sequence[str]]) -> None:
        self._answers = answers
        self._chance = random.Random(0)
        self.asked: list[tuple[str, int]] = []
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 5
        question = data[12:end]
        kind = struct.unpack(">H", question[-4:-2])[0]
        self.asked.append((_read_name(question), kind))
        numbers = self._chance.choice(self._answers) if kind in _KINDS else ()
        found = [number for number in numbers if (":" in number) == (kind == _AAAA)]
        head = _HEAD.pack(int.from_bytes(data[:2], "big"), 0x8580, 1, len(found), 0, 0)
        body = b"".join(_record(kind, number) for number in found)
        assert self._transport is not None
        self._transport.sendto(head + question + body, addr)


def _record(kind: int, number: str) -> bytes:
    packed = socket.inet_pton(_KINDS[kind], number)
    return _ANSWER.pack(0xC00C, kind, 1, 0, len(packed)) + packed


def _read_name(wire: bytes) -> str:
    labels, at = [], 0
    while wire[at]:
        labels.append(wire[at + 1 : at + 1 + wire[at]].decode())
        at += 1 + wire[at]
    return ".".join(labels)


@asynccontextmanager
async def serving_names(
    answers: Sequence[Sequence[str]], *, port: int = 0
) -> AsyncIterator[tuple[FlippingDns, int]]:
    """Give the name server and its port."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(
        lambda: FlippingDns(answers), ("127.0.0.1", port)
    )
    try:
        yield server, transport.get_extra_info("sockname")[1]
    finally:
        transport.close()


def has_ipv6() -> bool:
    """Tell whether this machine has a loopback address of IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


class _Asking(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.answered.set_result(data)


class DnsResolver(AbstractResolver):
    """Asks one name server for both families, as a system's resolver does."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        numbers = [(kind, number) for kind in _KINDS for number in await self._ask(host, kind)]
        return [
            ResolveResult(
                hostname=host, host=number, port=port, family=_KINDS[kind], proto=0, flags=0
            )
            for kind, number in numbers
        ]

    async def _ask(self, host: str, kind: int) -> list[str]:
        labels = b"".join(bytes([len(part)]) + part.encode() for part in host.split("."))
        question = labels + b"\0" + struct.pack(">HH", kind, 1)
        transport, asking = await asyncio.get_running_loop().create_datagram_endpoint(
            _Asking, remote_addr=("127.0.0.1", self._port)
        )
        transport.sendto(_HEAD.pack(7, 0x0100, 1, 0, 0, 0) + question)
        data = await asyncio.wait_for(asking.answered, 5)
        transport.close()
        at, numbers = 12 + len(question), []
        for _ in range(_HEAD.unpack(data[:12])[3]):
            size = _ANSWER.unpack(data[at : at + _ANSWER.size])[-1]
            packed = data[at + _ANSWER.size : at + _ANSWER.size + size]
            numbers.append(socket.inet_ntop(_KINDS[kind], packed))
            at += _ANSWER.size + size
        return numbers

    async def close(self) -> None:
        return None
