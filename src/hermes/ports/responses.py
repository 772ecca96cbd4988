"""Stored responses of `/v1/responses`: what a later call continues, as values."""

from typing import Protocol

import msgspec


class ResponseOwner(msgspec.Struct, frozen=True):
    """Who may see a response: a key, while it belongs to the person it was answered for."""

    key_id: str
    person_id: str


class NewResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A response to store; `previous` is the one that it continues.

    `items` are what its call added to the conversation, and `answer` is the rest of the answer;
    both are JSON, sealed by the store.
    """

    id: str
    owner: ResponseOwner
    items: bytes
    answer: bytes
    at: float
    expires_at: float
    previous: str | None = None


class StoredResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A stored response.

    `depth` counts the responses of its conversation up to it, and `context_size` the bytes of their
    items.
    """

    id: str
    items: bytes
    answer: bytes
    depth: int
    context_size: int
    at: float
    previous: str | None = None


class ResponseStore(Protocol):
    """Stored responses, sealed with the key of the person they were answered for."""

    async def put(self, new: NewResponse, *, keep: int, keep_bytes: int) -> None:
        """Store a response; its conversation expires with it.

        Of what the key has beyond `keep` and `keep_bytes`, the least recently continued is deleted.
        Raises `PreviousResponseNotFound` if what it continues is gone, and `PersonErased`.
        """
        ...

    async def get(
        self, response_id: str, *, owner: ResponseOwner, now: float
    ) -> StoredResponse | None:
        """Return a response of this owner that has not expired."""
        ...

    async def stored_until(self, response_id: str, *, now: float) -> float | None:
        """Return when a response expires, whoever owns it; None if it is not stored."""
        ...

    async def of_person(
        self, person_id: str, *, most_bytes: int
    ) -> tuple[tuple[StoredResponse, ...], int]:
        """Return the newest responses of a person, and how many more there are."""
        ...

    async def chain(self, response: StoredResponse, *, owner: ResponseOwner) -> tuple[bytes, ...]:
        """Return the items of a conversation up to a response, oldest first, without deleted ones."""
        ...

    async def delete(self, response_id: str, *, owner: ResponseOwner, now: float) -> bool:
        """Delete a response; false if this owner has none of this id."""
        ...

    async def forget(self, *, before: float) -> int:
        """Delete responses that expired before then; return how many."""
        ...
