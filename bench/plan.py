"""What a load process is told to send; each kind of plan makes its requests and checks answers."""

import msgspec


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`count` requests to a server on loopback, `workers` at a time, for at most `seconds`.

    `pid` is the process whose CPU and memory are measured; `with_children` counts the CPU of
    everything that it started too, and `settle_s` is how long after the last answer it is read,
    for a server that does part of its work behind the answer.
    """

    port: int
    token: str
    pid: int
    name: str
    workers: int
    count: int
    seconds: float = 120.0
    with_children: bool = False
    settle_s: float = 0.0

    def request(self, worker: int, sent: int, *, run: str) -> bytes:
        """Return the request that a worker sends after `sent` others; `run` is never used twice."""
        raise NotImplementedError

    def problem(self, status: int, body: bytes) -> str | None:
        """Return what is wrong with an answer, or None."""
        raise NotImplementedError

    def post(self, path: str, body: object) -> bytes:
        """Return a whole request with a JSON body."""
        encoded = msgspec.json.encode(body)
        head = (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n"
            f"authorization: Bearer {self.token}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(encoded)}\r\n\r\n"
        )
        return head.encode() + encoded
