"""A thousand people with a secret each, the gateway that serves them, and who was shown what."""

import asyncio
import random
import re
import string
from collections import Counter
from collections.abc import Awaitable, Iterable
from itertools import count
from typing import Any

import aiohttp

from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.webhooks import InboundMessage
from tests.system.live import Live

SECRET = re.compile(r"Kestrel\d{4}[a-z]{8}")
AT_ONCE = 24
_SETTLED_S = 240.0
Json = dict[str, Any]  # Any: answers of the gateway.


class Person:
    """Somebody with a secret that nobody else is to hear."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.number = number
        self.name = f"person-{number}"
        word = "".join(chance.choices(string.ascii_lowercase, k=8))
        self.secret = f"Kestrel{number:04d}{word}"

    @property
    def user(self) -> str:
        """Their name for an operator."""
        return f"rest:{self.name}"

    @property
    def tells(self) -> bool:
        """Whether they tell their secret themselves; an operator tells those of the others."""
        return self.number % 2 == 0


class Town:
    """Everybody; whatever is shown to anyone is judged at once."""

    def __init__(
        self, live: Live, http: aiohttp.ClientSession, pigeon: SamplePlatform, *, people: int
    ) -> None:
        chance = random.Random(5)
        self.people = [Person(number, chance) for number in range(people)]
        self.live = live
        self.crossed: list[str] = []
        self.shown: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.said: dict[str, Person] = {}
        self._http = http
        self._pigeon = pigeon
        self._places = asyncio.Semaphore(AT_ONCE)
        self._numbers = count(1)

    def judge(self, text: str, *, owner: Person | None, what: str) -> None:
        """Note every secret in a text that is not its owner's, and whether theirs is in it."""
        found = set(SECRET.findall(text))
        own = None if owner is None else owner.secret
        self.crossed += [f"{what}: {secret}" for secret in found if secret != own]
        self.shown[what] += own in found

    async def say(self, person: Person, text: str, *, what: str, **more: str | bool) -> Json:
        """Say something over REST, and judge the whole answer."""
        body = {"sender": person.name, "text": text, **more}
        async with self._places, self._http.post("/api/messages", json=body) as answer:
            self.judge(await answer.text(), owner=person, what=what)
            content: Json = await answer.json()
        self.outcomes[f"{what} {content.get('outcome')}"] += 1
        self.said[str(content.get("id"))] = person
        return content

    async def write(self, person: Person, text: str, *, chat: str, kind: str = "dm") -> None:
        """Say something on the push platform, under the same user id as over REST."""
        self._pigeon.state.open_chat(chat)
        message = InboundMessage(
            chat=chat,
            user=person.name,
            text=text,
            event_id=f"e{next(self._numbers)}",
            chat_type=kind,
            user_name=person.name,
        )
        assert await self._pigeon.webhooks.tell(message) == 200

    async def order(self, path: str, **body: object) -> Json:
        """Do what an operator's command does."""
        async with self._places, self._http.post(f"/control/{path}", json=body) as answer:
            content: Json = await answer.json()
            assert answer.status == 200, (path, content)
            return content

    async def read(self, path: str, *, what: str, owner: Person | None = None) -> str:
        """Return what an operator is shown, judged; without an owner it may hold no secret."""
        async with self._places, self._http.get(path) as answer:
            text = await answer.text()
        self.judge(text, owner=owner, what=what)
        return text

    async def call(self, person: Person, key: str, *, text: str, model: str, what: str) -> None:
        """Call `/v1` as a program does that acts for a person."""
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        head = {"authorization": f"Bearer {key}"}
        url = "/v1/chat/completions"
        async with self._places, self._http.post(url, json=body, headers=head) as answer:
            self.judge(await answer.text(), owner=person, what=what)
            self.outcomes[f"{what} {answer.status}"] += 1

    def judge_posts(self, owners: dict[str, Person], *, what: str) -> None:
        """Judge what stands on the push platform; a chat that nobody owns may hold no secret."""
        for post in self._pigeon.state.posted:
            self.judge(post.text, owner=owners.get(post.chat), what=what)

    async def settled(self) -> None:
        """Wait until nothing is waiting, running or on its way."""
        async with asyncio.timeout(_SETTLED_S):
            while True:
                async with self._http.get("/control/status") as answer:
                    told: Json = await answer.json()
                left = ("waiting_messages", "running_turns", "waiting_deliveries")
                if not any(told[name] for name in left):
                    return
                await asyncio.sleep(0.1)

    async def learnt(self, people: Iterable[Person]) -> None:
        """Wait until the secrets of people are known as facts."""
        async with asyncio.timeout(_SETTLED_S):
            for one in people:
                path = f"/control/memory?user={one.user}"
                while True:
                    if one.secret in await self.read(path, what="learnt", owner=one):
                        break
                    await asyncio.sleep(0.1)


async def everybody(acts: Iterable[Awaitable[object]]) -> None:
    """Let them all act at once."""
    await asyncio.gather(*acts)
