"""What can go wrong on the wire, told apart by what the caller may do next.

    NetError
    ├── AddressRefused   the address may not be fetched, or is no http(s) address; nothing was sent
    ├── ConnectFailed    no connection; nothing was sent, so trying again is safe
    │   └── TlsFailed    the peer could not prove who it is
    ├── AnswerLost       the request left and its answer did not arrive whole
    └── AnswerTooLarge   the answer exceeds the caller's limit

No text here holds a path, a query or a credential: only the name of the call and the host.
"""

from hermes.errors import HermesError


class NetError(HermesError):
    """A wire call failed."""

    code = "net"


class AddressRefused(NetError):
    """The address may not be fetched; nothing was sent."""

    code = "address_refused"


class ConnectFailed(NetError):
    """No connection was made; nothing was sent."""

    code = "connect_failed"


class TlsFailed(ConnectFailed):
    """The peer's certificate or handshake is not acceptable; nothing was sent."""

    code = "tls_failed"


class AnswerLost(NetError):
    """The request left, and its answer was cut off, reset or late."""

    code = "answer_lost"


class AnswerTooLarge(NetError):
    """The answer is larger than the caller allows."""

    code = "answer_too_large"
