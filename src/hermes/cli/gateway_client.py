"""Calls the running gateway of this machine over HTTP, with the local token.

The synchronous standard-library client is enough for one person at a terminal, and importing it
does not import the server. Failures become errors of the one tree.
"""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from hermes.cli.server_events import ServerEvent, read_events
from hermes.cli.who import operator_name
from hermes.errors import Conflict, HermesError, NotFound, Refused, StreamTruncated, TryLater
from hermes.ops.instance import GatewayAddress, RunningGateway, find_running
from hermes.ports.ids import IDS_PATH, IdsReport

SHORT_S = 15.0
# A person who pressed Tab waits for it.
_COMPLETION_S = 0.5
_Answer = TypeVar("_Answer")
_ERRORS: dict[int, type[HermesError]] = {404: NotFound, 409: Conflict, 429: TryLater, 503: TryLater}


class NoGateway(HermesError):
    """No gateway answers in this home."""

    code = "no_gateway"


class _Fault(msgspec.Struct, frozen=True):
    code: str
    message: str
    refusal: str | None = None


class _Faults(msgspec.Struct, frozen=True):
    error: _Fault


class GatewayClient:
    """A client for one gateway's address; each request opens its own connection."""

    def __init__(self, address: GatewayAddress, *, stream_timeout_s: float = 900.0) -> None:
        self._address = address
        self._stream_timeout_s = stream_timeout_s

    @property
    def url(self) -> str:
        """The gateway's base address."""
        return self._address.url

    def get(self, path: str, answer: type[_Answer], *, timeout_s: float = SHORT_S) -> _Answer:
        """Return the gateway's answer to GET."""
        return self.ask("GET", path, answer, timeout_s=timeout_s)

    def post(
        self, path: str, answer: type[_Answer], *, body: object = None, timeout_s: float = SHORT_S
    ) -> _Answer:
        """Return the gateway's answer to POST, with a timeout that fits the request."""
        return self.ask("POST", path, answer, body=body, timeout_s=timeout_s)

    @contextmanager
    def stream(self, path: str, body: object) -> Iterator[Iterator[ServerEvent]]:
        """Post and yield the answer's events as they arrive; leaving the block disconnects."""
        with self._exchange("POST", path, body=body, timeout_s=self._stream_timeout_s) as response:
            yield self._events(response)

    def _events(self, response: http.client.HTTPResponse) -> Iterator[ServerEvent]:
        try:
            yield from read_events(response)
        except (OSError, http.client.HTTPException) as error:
            raise StreamTruncated(
                f"The connection to the gateway at {self.url} broke ({error}). The message is kept "
                "and will be answered; `hermes status` shows the state of the gateway."
            ) from error

    def ask(
        self,
        method: str,
        path: str,
        answer: type[_Answer],
        *,
        body: object = None,
        timeout_s: float = SHORT_S,
    ) -> _Answer:
        """Return the gateway's answer to a request by any method."""
        with self._exchange(method, path, body=body, timeout_s=timeout_s) as response:
            try:
                return msgspec.json.decode(response.read(), type=answer)
            except msgspec.DecodeError as error:
                raise Refused(
                    f"The gateway at {self.url} answered {method} {path} in a format that this command "
                    f"does not know ({error}). Use the same version for both: `hermes --version`."
                ) from error

    @contextmanager
    def _exchange(
        self, method: str, path: str, *, body: object, timeout_s: float
    ) -> Iterator[http.client.HTTPResponse]:
        where = urlsplit(self.url)
        connection = http.client.HTTPConnection(
            where.hostname or "127.0.0.1", where.port, timeout=timeout_s
        )
        headers = {
            "Authorization": f"Bearer {self._address.token}",
            "X-Hermes-Operator": quote(operator_name(), safe=" "),
        }
        accept = "text/event-stream" if timeout_s == self._stream_timeout_s else "application/json"
        headers |= {"Accept": accept, "Content-Type": "application/json"}
        try:
            try:
                connection.request(method, path, _encoded(body), headers)
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                raise NoGateway(
                    f"The gateway at {self.url} does not answer ({str(error) or type(error).__name__}). "
                    "It may be starting or stopping: check with `hermes status`, then try again."
                ) from error
            if response.status >= http.client.BAD_REQUEST:
                raise _error_of(response)
            yield response
        finally:
            connection.close()


def client_for(running: RunningGateway) -> GatewayClient:
    """Return a client for a gateway; raises `NoGateway` if it does not listen yet."""
    if running.address is None:
        raise NoGateway(
            f"The gateway (pid {running.identity.pid}) has no address: it is still starting, or "
            "it is part of a running `hermes chat`. Try again in a moment, or end that chat."
        )
    return GatewayClient(running.address)


def connect(home: Path) -> GatewayClient:
    """Return a client for the gateway of `home`; raises `NoGateway` if none runs."""
    running = find_running(home)
    if running is None:
        raise NoGateway(f"No gateway runs in {home}. Start one with `hermes up`.")
    return client_for(running)


def known_ids(home: Path, query: str) -> tuple[str, ...]:
    """Return the ids that a shell can complete; none if the gateway does not answer at once."""
    try:
        gateway = connect(home)
        return gateway.get(f"{IDS_PATH}?{query}", IdsReport, timeout_s=_COMPLETION_S).ids
    except HermesError:
        return ()


def _encoded(body: object) -> bytes | None:
    return None if body is None else msgspec.json.encode(body)


def _error_of(response: http.client.HTTPResponse) -> HermesError:
    raw = response.read(65_536)
    kind = _ERRORS.get(response.status, Refused)
    try:
        fault = msgspec.json.decode(raw, type=_Faults).error
    except msgspec.DecodeError:
        return kind(
            f"The gateway answered {response.status} {response.reason} and gave no reason; "
            "`hermes logs` shows more."
        )
    if fault.refusal:
        return kind(f"{fault.message} (`hermes why {fault.refusal}` shows more.)")
    return kind(fault.message)


# Any: free-form JSON answers, decoded only to be printed again.
Json = dict[str, Any]
