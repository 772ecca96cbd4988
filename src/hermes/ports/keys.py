"""Keys of the callers of `/v1`, and answers that are remembered for them, as values."""

from typing import Literal, Protocol

import msgspec

from hermes.message.reply import Usage

BudgetPeriod = Literal["day", "month", "total"]


class CallerKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a caller: whose it is and what it may do; the secret itself is never kept.

    `models` are patterns over `provider:model`, model ids and `agent:NAME`; empty is all of them.
    `tier` is that of the person. `hint` is the end of the secret, by which its owner recognises it.
    With `store_responses` the responses of its calls are stored unless a call says otherwise. One that
    `may_delegate` gives tasks to agents by commands in its messages; with `read_history` it may find
    over MCP what its person said, on all platforms.
    """

    id: str
    label: str
    user: str
    person_id: str
    hint: str
    created_at: float
    tier: str = "free"
    models: tuple[str, ...] = ()
    budget_usd: float | None = None
    budget_period: BudgetPeriod = "total"
    budget_tokens: int | None = None
    requests_per_minute: int | None = None
    max_output_tokens: int | None = None
    expires_at: float | None = None
    revoked_at: float | None = None
    store_responses: bool = False
    may_delegate: bool = False
    read_history: bool = False


class KeptAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that may be given again; `digest` is a keyed hash over everything it answered.

    `body` is the answer's parts as JSON, sealed by the store.
    """

    digest: bytes
    person_id: str
    agent: str
    model: str
    call_id: str
    body: bytes
    usage: Usage
    stop_reason: str
    at: float
    expires_at: float


class KeyStore(Protocol):
    """Keys of callers, kept only as hashes."""

    async def add(self, key: CallerKey, *, digest: bytes, user: str) -> CallerKey:
        """Keep a new key for the person behind `user` (made if unknown); return it with them."""
        ...

    async def find(self, digest: bytes) -> CallerKey | None:
        """Return the key with this hash, revoked or expired ones too; answered from memory."""
        ...

    async def get(self, key_id: str) -> CallerKey | None:
        """Return the key of this id; answered from memory."""
        ...

    async def list(self) -> tuple[CallerKey, ...]:
        """Return every key, the newest first."""
        ...

    async def revoke(self, key_id: str, *, at: float) -> bool:
        """End a key; false when there is none of this id that is not revoked already."""
        ...


class AnswerStore(Protocol):
    """Remembered answers, sealed with the key of the person they were given to."""

    async def put(self, answer: KeptAnswer, *, keep: int, each: int) -> None:
        """Remember an answer, forgetting old ones beyond `keep`, first of people with more than `each`."""
        ...

    async def get(self, digest: bytes, *, person_id: str, now: float) -> KeptAnswer | None:
        """Return a remembered answer of this person that has not expired."""
        ...

    async def forget(self, *, before: float) -> int:
        """Drop answers that expired before then; return how many."""
        ...
