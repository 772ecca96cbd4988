"""What people say to a gateway under torture: rounds of messages, all of them fixed by a seed.

A round passes every failpoint that its platform's abilities allow. Every message begins with a
word of its own, by which the model's calls, the transcripts and the platform's posts are told
apart. One person of the story is poor: they write from many chats at once, and an operator gives
them fewer credits than they ask for.
"""

import random
import struct
from typing import Literal

import msgspec

from hermes.testing.stand_in import FaultKind
from tests.torture.homes import START_GRANT, Mode

_HEAD = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 8, 8) + bytes(9)
PICTURE = _HEAD + bytes(4) + b"IDAT" + bytes(8) + b"IEND" + bytes(4)
Way = Literal["wait", "later", "events", "webhook"]
# What the model that learns is to learn from.
LEARN = "[[learn]]"
# What the poor one is left with beside a refund, gets for each later round, and in how many chats they spend it.
LEFT, GIVEN, CHATS = 2, 2, 5
# Now and then a story begins with a crowd: as many chats on one wallet of so many credits.
CROWD, CROWD_LEFT, CROWDED = 100, 9, 0.1


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One message: who says what where, how it is sent, and how often.

    `clashes` sends it under an id that another text has; `faults` are committed on the way out. A
    photo is sent where the platform has any, with the text as its caption. One that `denies` says so
    itself (REST); where messages interrupt, any of a chat denies what its person was asked there.
    """

    way: Way
    chat: str
    id: str
    text: str
    copies: int = 1
    clashes: bool = False
    sender: str = ""
    is_photo: bool = False
    denies: bool = False
    faults: tuple[FaultKind, ...] = ()

    @property
    def user(self) -> str:
        """Who says it: the one whose chat it is, unless there is a sender."""
        return self.sender or self.chat


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator wants, as often as it takes; the id in the body makes it happen once."""

    path: str
    body: dict[str, str | int]


Conversation = tuple[Said | Order, ...]


class Script:
    """The rounds of one story; `tag` begins every id and chat of it."""

    def __init__(self, tag: str, mode: Mode, *, seed: int) -> None:
        self.tag = tag
        self.mode = mode
        self._chance = random.Random(seed)
        self._count = 0
        self._is_crowded = self._chance.random() < CROWDED
        self._is_new = True

    @property
    def poor(self) -> str:
        """The user with too few credits."""
        return f"{self.tag}-poor"

    @property
    def closed_chat(self) -> str:
        """The chat in which the bot may not write."""
        return f"{self.tag}-closed"

    def chats(self) -> set[str]:
        """Return every pigeon chat of the story."""
        return {f"{self.tag}-{name}" for name in ("p1", "p2", "p3", "lost", "held", "slow")}

    def round(self) -> tuple[Conversation, ...]:
        """Return what is said next, as conversations that go on side by side."""
        talks = [
            self._rest_talk(),
            self._slow_talk(),
            self._push_talk("p1"),
            self._approval_talk(),
            self._denied_talk(),
            self._failing_talk(),
            self._faulty_talk("lost", ("reset_after",)),
            self._faulty_talk("held", ("reset_after", "reset_after")),
            self._faulty_talk("slow", ("server_error",)),
            (self._said("webhook", "closed", "nobody hears this"),),
            self._poor_talk(),
        ]
        self._chance.shuffle(talks)
        return tuple(talks)

    def approvals(self) -> tuple[Said, ...]:
        """Return the words that let waiting turns go on."""
        return (
            self._command("webhook", "p3", "/approve"),
            self._command("wait", "r4", "/approve"),
        )

    def _said(self, way: Way, chat: str, text: str, **more: object) -> Said:
        self._count += 1
        word = f"{self.tag}-m{self._count}"
        fields: dict[str, object] = {
            "way": way,
            "chat": f"{self.tag}-{chat}",
            "id": word,
            "text": f"{word} {text}",
            **more,
        }
        return msgspec.convert(fields, Said)

    def _command(self, way: Way, chat: str, text: str) -> Said:
        return msgspec.structs.replace(self._said(way, chat, ""), text=text)

    def _tool(self, name: str) -> str:
        return f'[[tool:{name} {{"value":"{self.tag}-v{self._count}"}}]]'

    def _rest_talk(self) -> Conversation:
        chat = self._chance.choice(("r1", "r2"))
        first = self._said("wait", chat, f"{LEARN} hello", copies=self._chance.choice((1, 2)))
        said = [
            first,
            self._said("events", chat, f"[[deltas:{self._chance.randint(2, 6)}]]"),
            self._said("later", chat, self._tool("count_once")),
            msgspec.structs.replace(first, way="later", text="another text", clashes=True),
            self._said("later", chat, self._chance.choice(("[[fail:503]]", "[[truncate:1]]"))),
            msgspec.structs.replace(first, way="later"),
        ]
        if self._chance.random() < 0.3:
            said.append(self._command("wait", chat, "/new"))
        return tuple(said)

    def _slow_talk(self) -> Conversation:
        """A turn that outlives a third of its lease, and what comes meanwhile."""
        slow = self._said("later", "r3", "[[slow:0.4]][[deltas:3]]")
        if self._chance.random() < 0.5:
            return slow, self._command("wait", "r3", self._chance.choice(("/stop", "/status")))
        tool = self._tool("count_safe")
        return slow, self._said("wait", "r3", f"[[slow:0.05]]{tool}")

    def _push_talk(self, chat: str) -> Conversation:
        said = [
            self._said("webhook", chat, f"[[deltas:{self._chance.randint(4, 10)}]]", copies=2),
            self._said("webhook", chat, f"[[slow:0.05]]{self._tool('count_once')}[[deltas:4]]"),
            self._said(
                "webhook", chat, f"{LEARN} {self._tool('count_safe')}{self._tool('count_once')}"
            ),
        ]
        if self._chance.random() < 0.4:
            said.append(self._command("webhook", chat, "/stop"))
        if self._chance.random() < 0.3:
            said.append(self._said("webhook", "p2", "long " * 500))
        if self._chance.random() < 0.5:
            said.append(
                self._said("webhook", "p2", "what is this?", is_photo=bool(self.mode.place))
            )
        return tuple(said)

    def _approval_talk(self) -> Conversation:
        """A tool that asks first; without an answer, what is said there next may deny it."""
        way: Way = self._chance.choice(("webhook", "later"))
        chat = "p3" if way == "webhook" else "r4"
        asks = self._said(way, chat, self._tool("ask_first"))
        answer = self._chance.choice(("/approve", "/approve", "/deny", ""))
        return (asks, self._command(way, chat, answer)) if answer else (asks,)

    def _denied_talk(self) -> Conversation:
        """A tool that asks first, and a message that denies it once the question was read."""
        return (
            self._said("events", "r5", self._tool("ask_first")),
            self._said("later", "r5", "something else", denies=True),
        )

    def _failing_talk(self) -> Conversation:
        """Two people whose calls fail until the model is left alone, and who ask again at once."""
        fault = self._chance.choice(("[[fail:503]]", "[[fail:429]]"))
        chats = ("r6", "r7")
        failing = [self._said("wait", chat, fault) for chat in (*chats, *chats)]
        return (*failing, *(self._said("later", chat, "and now?") for chat in chats))

    def _poor_talk(self) -> Conversation:
        """More messages than there are credits, each in a chat of its own."""
        if self._is_new:
            first = self._spent("wait", "hello")
            self._is_new = False
            left = CROWD_LEFT if self._is_crowded else LEFT
            number = CROWD if self._is_crowded else CHATS
            refund = Order(path="refund", body={"message": first.id})
            opening: Conversation = (first, self._grant(left - START_GRANT + 1), refund)
        else:
            number = CHATS
            opening = (self._grant(GIVEN),)
        texts = ["[[fail:503]]", f"{LEARN} [[slow:0.05]]", *[f"{LEARN} hello"] * (number - 2)]
        self._chance.shuffle(texts)
        return (*opening, *(self._spent("later", text) for text in texts))

    def _spent(self, way: Way, text: str) -> Said:
        return self._said(way, f"poor{self._count + 1}", text, sender=self.poor)

    def _grant(self, amount: int) -> Order:
        self._count += 1
        name = f"{self.tag}-g{self._count}"
        return Order(path="grant", body={"user": f"rest:{self.poor}", "amount": amount, "id": name})

    def _faulty_talk(self, chat: str, faults: tuple[FaultKind, ...]) -> Conversation:
        text = self._chance.choice(("short", "[[deltas:6]]"))
        return (self._said("webhook", chat, text, faults=faults),)
