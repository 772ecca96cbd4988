"""One way to press buttons and to react on the stand-ins of Telegram, Slack and Discord, and a gateway on it.

Each desk knows where its platform keeps buttons and reactions; a person is told apart by name, and the
direct chat of a person has the name of the person.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import yaml

from hermes.message.source import ChatType
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import ReactionName
from hermes.testing.discord.platform import DiscordStandIn
from hermes.testing.slack.platform import SlackStandIn
from hermes.testing.stand_in import PersonMessage, Post
from hermes.testing.telegram.platform import TelegramStandIn
from hermes.testing.town import Town, TownMessage
from tests.system.live import Live, live_gateway, model_server, run_command, with_model

LAB: Final = "lab"
PAY: Final = '[[tool:pay {"to":"bob"}]] please'
TOOL: Final = '''
from pathlib import Path

from hermes.tools import tool


@tool(needs_approval=True)
def pay(to: str) -> str:
    """Pay somebody."""
    with (Path(__file__).parent / "paid").open("a") as file:
        file.write(f"{to}\\n")
    return f"paid {to}"
'''
_NO_RATES: Final = {"per_second": 0, "chat_gap_s": 0, "group_gap_s": 0}
_QUICK: Final = {
    "HERMES_OUTBOX__LOOK_AFTER_S": "0.2",
    "HERMES_OUTBOX__SETTLE_AFTER_S": "0.1",
    "HERMES_LANES__LEASE_S": "1",
    "HERMES_BUSY__JOIN_S": "0",
    "HERMES_STREAMING__TRANSPORT": "off",
    "HERMES_TOOLS__MODULES": '["shop.py"]',
}


_STATES: Final[dict[str, Mapping[ReactionName, str]]] = {
    "telegram": load_manifest("hermes.channels.telegram").reactions,
    "slack": load_manifest("hermes.channels.slack").reactions,
    "discord": load_manifest("hermes.channels.discord").reactions,
}


class Button(msgspec.Struct, frozen=True):
    """What a person sees on a button, and what pressing it sends."""

    label: str
    value: str


class Desk(Protocol):
    """A platform with people at it."""

    name: str

    @property
    def site(self) -> TelegramStandIn | SlackStandIn | DiscordStandIn: ...

    def buttons(self, message: TownMessage) -> list[Button]: ...

    async def press(self, said: PersonMessage, button: Button) -> None: ...

    async def react(self, said: PersonMessage, thumb: str, *, is_removed: bool) -> None: ...

    def marks(self, message: TownMessage) -> list[str]: ...

    def key_of(self, said: str) -> str: ...


class TelegramDesk:
    name = "telegram"

    def __init__(self) -> None:
        self.site = TelegramStandIn()

    def buttons(self, message: TownMessage) -> list[Button]:
        rows = (message.more.get("reply_markup") or {}).get("inline_keyboard", [])
        return [Button(one["text"], one["callback_data"]) for row in rows for one in row]

    async def press(self, said: PersonMessage, button: Button) -> None:
        await self.site.press(msgspec.structs.replace(said, text=button.value))

    async def react(self, said: PersonMessage, thumb: str, *, is_removed: bool) -> None:
        await self.site.react(msgspec.structs.replace(said, text="" if is_removed else thumb))

    def marks(self, message: TownMessage) -> list[str]:
        return [one for one in (message.more.get("bot_reaction"),) if one]

    def key_of(self, said: str) -> str:
        return said.partition("@")[0]


class SlackDesk:
    name = "slack"
    _names: Final = {"👍": "+1", "👎": "-1"}

    def __init__(self) -> None:
        self.site = SlackStandIn("socket", resend_s=1.0)

    def buttons(self, message: TownMessage) -> list[Button]:
        under = [
            one for block in message.more.get("blocks") or [] for one in block.get("elements", ())
        ]
        return [
            Button(one["text"]["text"], one["value"]) for one in under if one["type"] == "button"
        ]

    async def press(self, said: PersonMessage, button: Button) -> None:
        await self.site.press(msgspec.structs.replace(said, text=button.value))

    async def react(self, said: PersonMessage, thumb: str, *, is_removed: bool) -> None:
        name = said.reply_to or ""
        await self.site.react(said, self._names[thumb], message_id=name, is_removed=is_removed)

    def marks(self, message: TownMessage) -> list[str]:
        return [name for name, who in message.reactions.items() if who]

    def key_of(self, said: str) -> str:
        return said.rpartition(":")[2]


class DiscordDesk:
    name = "discord"

    def __init__(self) -> None:
        self.site = DiscordStandIn(heartbeat_s=0.05)

    def buttons(self, message: TownMessage) -> list[Button]:
        rows = message.more.get("components") or []
        return [Button(one["label"], one["custom_id"]) for row in rows for one in row["components"]]

    async def press(self, said: PersonMessage, button: Button) -> None:
        await self.site.press(msgspec.structs.replace(said, text=button.value))

    async def react(self, said: PersonMessage, thumb: str, *, is_removed: bool) -> None:
        await self.site.react(msgspec.structs.replace(said, text=thumb), is_removed=is_removed)

    def marks(self, message: TownMessage) -> list[str]:
        return [name for name, who in message.reactions.items() if who]

    def key_of(self, said: str) -> str:
        return said


DESKS: Final[dict[str, Callable[[], Desk]]] = {
    "telegram": TelegramDesk,
    "slack": SlackDesk,
    "discord": DiscordDesk,
}


class ButtonTown:
    """A platform, a model, and a home; `account` is the bot's name if it is a further one."""

    def __init__(self, desk: Desk, home: Path, model_url: str, *, account: str = "") -> None:
        self.desk = desk
        self.home = home
        self.town: Town = desk.site.town
        self.channel = f"{desk.name}/{account}" if account else desk.name
        self._model_url = model_url
        home.mkdir(mode=0o700)
        (home / "shop.py").write_text(TOOL)
        (home / "shop.py").chmod(0o600)
        extra = {**desk.site.settings}
        chosen: dict[str, Any] = {"enabled": True, "rates": _NO_RATES, "extra": extra}
        if account:
            chosen = {"accounts": {account: chosen}}
        (home / "config.yaml").write_text(yaml.safe_dump({"platforms": {desk.name: chosen}}))
        (home / "config.yaml").chmod(0o600)

    def user(self, name: str) -> str:
        """Return the id of a person on the platform."""
        return self.town.ids.of("person", name)

    @asynccontextmanager
    async def gateway(self, **more: str) -> AsyncIterator[Live]:
        """Run a gateway; everybody is let in unless settings say who is."""
        everybody = (
            {} if "HERMES_ACCESS__PLATFORMS" in more else {"HERMES_ACCESS__ALLOW_ALL": "true"}
        )
        admins = f'["{self.desk.name}:{self.user("root")}"]'
        variables = {"HERMES_APPROVALS__ADMINS": admins, **_QUICK, **everybody, **more}
        async with live_gateway(self.home, {**with_model(self._model_url), **variables}) as live:
            yield live

    async def say(self, text: str, *, user: str = "ada", chat: str = "") -> str:
        """Write to the bot; return the name of the message."""
        return await self.desk.site.say(self._at(user, chat, text=text, mentions=bool(chat)))

    async def command(self, text: str, *, user: str = "ada") -> None:
        """Use a slash command of the platform, in a direct chat."""
        site, said = self.desk.site, self._at(user, "", text=text)
        assert not isinstance(site, TelegramStandIn), "a command is a message there"
        await site.command(said)

    async def press(self, post: Post, button: Button, *, user: str = "ada", chat: str = "") -> None:
        """Press a button under a message."""
        await self.desk.press(self._at(user, chat, reply_to=post.id), button)

    async def react(
        self, post: Post, thumb: str, *, user: str = "ada", chat: str = "", is_removed: bool = False
    ) -> None:
        """Put a thumb on a message, or take it away."""
        said = self._at(user, chat, reply_to=post.id)
        await self.desk.react(said, thumb, is_removed=is_removed)

    def _at(self, user: str, chat: str, **more: Any) -> PersonMessage:
        kind: ChatType = "group" if chat else "dm"
        return PersonMessage(
            chat=chat or user, chat_type=kind, user=user, user_name=user.title(), **more
        )

    def posts(self, chat: str = "ada") -> list[Post]:
        return [post for post in self.desk.site.posts(chat) if not post.deleted]

    def texts(self, chat: str = "ada") -> list[str]:
        return [post.text for post in self.posts(chat)]

    def buttons(self, post: Post, chat: str = "ada") -> list[Button]:
        """Return the buttons that a message has now."""
        return self.desk.buttons(self._message(self.desk.key_of(post.id), chat))

    def labels(self, post: Post, chat: str = "ada") -> list[str]:
        return [one.label for one in self.buttons(post, chat)]

    def now(self, post: Post, chat: str = "ada") -> str:
        """Return what a message says now."""
        return next(one.text for one in self.posts(chat) if one.id == post.id)

    def marks(self, said: str, chat: str = "ada") -> list[str]:
        """Return the states that the bot's reactions to a person's message show."""
        rows = {emoji: name for name, emoji in _STATES[self.desk.name].items()}
        found = self.desk.marks(self._message(self.desk.key_of(said), chat))
        return [rows.get(one, one) for one in found]

    def _message(self, key: str, chat: str) -> TownMessage:
        return self.town.messages[self.town.find_chat(chat).id][key]

    def paid(self) -> list[str]:
        """Return whom the tool has paid."""
        file = self.home / "paid"
        return file.read_text().split() if file.exists() else []

    async def until(self, claim: Callable[[], bool], chat: str = "ada") -> None:
        """Wait for a claim to become true; the time limit is only for a broken test."""
        try:
            async with asyncio.timeout(20):
                while not claim():  # noqa: ASYNC110 - the stand-in tells nobody
                    await asyncio.sleep(0.01)
        except TimeoutError:
            seen = (self.texts(chat), self.desk.site.rejections, self.desk.site.log[-20:])
            raise AssertionError(f"it did not come; seen: {seen}") from None

    async def question(
        self, words: str = "May I run", *, chat: str = "ada", number: int = 0
    ) -> Post:
        """Wait for a message that asks, with buttons; return it."""

        def found() -> list[Post]:
            return [
                one for one in self.posts(chat) if words in one.text and self.buttons(one, chat)
            ]

        await self.until(lambda: len(found()) > number, chat)
        return found()[number]

    async def told(self, *texts: str, chat: str = "ada", after: Sequence[Post] = ()) -> None:
        """Wait until the bot has written exactly this, in any order, beside what is there already."""
        known = {one.id for one in after}

        def found() -> list[str]:
            return sorted(one.text for one in self.posts(chat) if one.id not in known)

        await self.until(lambda: found() == sorted(texts), chat)

    async def hermes(self, *arguments: str) -> str:
        """Run a command of the operator."""
        done = await run_command(self.home, *arguments, is_merged=True)
        assert done.returncode == 0, done.stdout
        return done.stdout


@asynccontextmanager
async def button_town(
    folder: Path, platform: str, *, account: str = ""
) -> AsyncIterator[ButtonTown]:
    """Run a platform and a scripted model."""
    desk = DESKS[platform]()
    await desk.site.start()
    try:
        async with model_server() as url:
            yield ButtonTown(desk, folder / "home", url, account=account)
    finally:
        await desk.site.stop()
