"""Name look-ups for untrusted fetches, on their own threads, and the guard over their results.

A look-up of a name whose servers never answer blocks its thread for many seconds. Strangers choose
these names, so they get a few separate threads, and none of those that the rest of the gateway
uses.
"""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

from hermes.net.guard import Guard
from hermes.net.untrusted_url import read_host

LOOKUP_THREADS: Final = 4


class ThreadLookup(AbstractResolver):
    """The system's resolver; each name is looked up once, and its addresses are returned."""

    def __init__(self, threads: int = LOOKUP_THREADS) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the numeric addresses of `host`."""
        ask = partial(
            socket.getaddrinfo,
            host,
            port,
            type=socket.SOCK_STREAM,
            family=family,
            flags=socket.AI_ADDRCONFIG,
        )
        found = await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        return [
            ResolveResult(
                hostname=host,
                host=str(target[0]),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, _, protocol, _, target in found
        ]

    async def close(self) -> None:
        """Release the threads; a running look-up ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class GuardedResolver(AbstractResolver):
    """Resolves names with `inner` and passes only allowed addresses to the connector."""

    def __init__(self, guard: Guard, inner: AbstractResolver) -> None:
        self._guard = guard
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of `host`; raise `AddressRefused` if one is not allowed."""
        read_host(host)
        found = await self._inner.resolve(host, port, family)
        return self._guard.check_resolved(host, found)

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._inner.close()
