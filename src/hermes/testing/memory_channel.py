"""The in-memory twin of a push channel; fits `ports.channel.PushChannel`.

It keeps posts, deduplicates by key and answers from its history if its capabilities say so, and
fails on request.
"""

import asyncio
from collections import deque
from typing import Literal

import msgspec

from hermes.errors import DeliveryError, DeliveryRejected, DeliveryUnknown, FailureClass
from hermes.message.event import ReplyHandle
from hermes.message.parts import Choice, FilePart, Media, choices_of, text_of
from hermes.ports.channel import (
    Accept,
    Capabilities,
    ChatInfo,
    Delivery,
    ReactionName,
    Receipt,
    Target,
)
from hermes.ports.directory import ChatEntry

Verb = Literal["send", "edit", "find", "delete", "typing", "draft", "react", "chat_info"]


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """A posted message; an edit takes its choices away."""

    id: str
    chat: str
    text: str
    key: str
    files: tuple[Media, ...] = ()
    choices: tuple[Choice, ...] = ()
    handle: ReplyHandle | None = None


class MemoryChannel:
    """A platform inside the process."""

    def __init__(self, capabilities: Capabilities, *, name: str = "memory") -> None:
        self.name = name
        self.capabilities = capabilities
        self.posts: dict[str, Post] = {}
        self.drafts: dict[tuple[str, int], list[str]] = {}
        self._numbers = 0
        self.chats: tuple[ChatEntry, ...] = ()
        self.infos: dict[str, ChatInfo] = {}
        self.reactions: list[tuple[str, ReactionName]] = []
        self.calls: list[tuple[Verb, str]] = []
        self._failures: dict[Verb, deque[DeliveryError | None]] = {}
        self._lost: dict[Verb, int] = {}
        self._held: dict[str, asyncio.Event] = {}
        self._stops: dict[Verb, int] = {}
        self._accept: Accept | None = None

    async def connect(self, accept: Accept) -> None:
        """Start receiving."""
        self._accept = accept

    async def disconnect(self) -> None:
        """Stop receiving."""
        self._accept = None

    async def directory(self) -> tuple[ChatEntry, ...]:
        """Return all chats that were put here."""
        return self.chats

    def texts(self, chat: str) -> list[str]:
        """Return the texts in a chat, oldest first."""
        return [post.text for post in self.posts.values() if post.chat == chat]

    def fail(self, verb: Verb, *errors: DeliveryError | None) -> None:
        """Make the next calls fail without effect; None lets one succeed."""
        self._failures.setdefault(verb, deque()).extend(errors)

    def lose_answers(self, verb: Verb, times: int) -> None:
        """Make the next calls take effect, and lose their answers."""
        self._lost[verb] = times

    def hold(self, chat: str) -> None:
        """Make calls to this chat hang until `let_go`."""
        self._held[chat] = asyncio.Event()

    def let_go(self, chat: str) -> None:
        """Let the calls to this chat continue."""
        self._held.pop(chat).set()

    def stop_before(self, verb: Verb, count: int | None) -> None:
        """Make every call after the first `count` hang, as on a wire that is cut; None ends it."""
        self._stops = {} if count is None else {verb: count}

    async def send(self, delivery: Delivery) -> Receipt:
        """Post one message."""
        chat = delivery.target.chat_id
        await self._begin("send", chat)
        post = self._known(delivery.key)
        if post is None:
            text = text_of(delivery.parts)
            self._numbers += 1
            files = tuple(part.media for part in delivery.parts if isinstance(part, FilePart))
            name = f"x{self._numbers}"
            post = Post(
                id=name,
                chat=chat,
                text=text,
                key=delivery.key,
                files=files,
                choices=choices_of(delivery.parts),
                handle=delivery.handle,
            )
            self.posts[post.id] = post
        self._end("send")
        return Receipt(post.id)

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message that was sent before."""
        await self._begin("edit", target.chat_id)
        post = self.posts.get(platform_message_id)
        if post is None:
            raise DeliveryRejected("no such message", FailureClass.INVALID_RECIPIENT)
        self.posts[post.id] = msgspec.structs.replace(post, text=text, choices=())
        self._end("edit")

    async def find(self, target: Target, key: str) -> Receipt | None:
        """Look the message up in the history."""
        await self._begin("find", target.chat_id)
        found = [post for post in self.posts.values() if post.key == key]
        self._end("find")
        return Receipt(found[0].id) if found else None

    async def delete(self, target: Target, platform_message_id: str) -> None:
        """Delete a message; one that is already gone is not an error."""
        await self._begin("delete", target.chat_id)
        self.posts.pop(platform_message_id, None)
        self._end("delete")

    async def typing(self, target: Target) -> None:
        """Show a typing indicator."""
        await self._begin("typing", target.chat_id)

    async def react(self, target: Target, platform_message_id: str, name: ReactionName) -> None:
        """React to a message of the chat."""
        await self._begin("react", target.chat_id)
        self.reactions.append((platform_message_id, name))

    async def chat_info(self, target: Target) -> ChatInfo:
        """Return what was put here about a chat."""
        await self._begin("chat_info", target.chat_id)
        if target.chat_id not in self.infos:
            raise DeliveryRejected("no such chat", FailureClass.INVALID_RECIPIENT)
        return self.infos[target.chat_id]

    async def draft(self, target: Target, draft_id: int, *, text: str) -> None:
        """Show a reply that is being written."""
        await self._begin("draft", target.chat_id)
        self.drafts.setdefault((target.chat_id, draft_id), []).append(text)

    def _known(self, key: str) -> Post | None:
        if self.capabilities.key_window_s <= 0:
            return None
        return next((post for post in self.posts.values() if post.key == key), None)

    async def _begin(self, verb: Verb, chat: str) -> None:
        made = sum(call[0] == verb for call in self.calls)
        self.calls.append((verb, chat))
        if made >= self._stops.get(verb, made + 1):
            await asyncio.Event().wait()
        held = self._held.get(chat)
        if held is not None:
            await held.wait()
        planned = self._failures.get(verb)
        error = planned.popleft() if planned else None
        if error is not None:
            raise error

    def _end(self, verb: Verb) -> None:
        if self._lost.get(verb, 0) > 0:
            self._lost[verb] -= 1
            raise DeliveryUnknown("the answer was lost", FailureClass.NETWORK_TIMEOUT)
