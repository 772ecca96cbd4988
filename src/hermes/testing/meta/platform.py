"""WhatsApp, Instagram or Messenger on loopback: its calls, and what people do there.

Fits `testing.stand_in.StandIn`. The rows of the three are in `platform.toml`. Calls of the webhook are
signed over a body whose letters beyond ASCII are escaped, as Meta's are.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hermes.ports.channel import HttpRequest
from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, SiteRefusal, Upload
from hermes.testing.event_delivery import PushRow, SignedPush
from hermes.testing.site import Site, SiteCall, load_platform
from hermes.testing.stand_in import PersonMessage, Post, PostButton
from hermes.testing.town import TownMessage

PLATFORMS = ("whatsapp", "instagram", "messenger")
_SECRETS = {"app_secret": "not-a-real-secret-0123456789abcdef", "verify_token": "not-a-real-word"}
_DIALOG = {"api_key": "not-a-real-key", "webhook_secret": "not-a-real-webhook-secret"}
_WINDOW_S = 86_400.0
_MOST_BYTES = {
    "image": 5_000_000,
    "audio": 16_000_000,
    "video": 16_000_000,
    "document": 100_000_000,
}
_TYPES = {"image": ("image/jpeg", "image/png"), "video": ("video/mp4", "video/3gpp")}
_FENCED = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_STYLED = re.compile(r"(?<![\w*_~`])([*_~`])(?=\S)([^\n]+?)(?<=\S)\1(?![\w*_~`])")


class MetaStandIn(Site):
    """One account of one platform; `provider` says who runs WhatsApp's API."""

    def __init__(
        self, platform: str = "whatsapp", *, provider: str = "meta", clock: Clock | None = None
    ) -> None:
        rows = load_platform("hermes.testing.meta")
        if provider == "360dialog":
            site = msgspec.structs.replace(rows.site, token="header:D360-API-KEY", scheme="")
            rows = msgspec.structs.replace(rows, site=site, tokens={"bot": _DIALOG["api_key"]})
        super().__init__(rows, clock=clock)
        self.platform, self.provider = platform, provider
        row = msgspec.convert(self.rows.more["push"], PushRow)
        self.push = self.own(SignedPush(row, self._signed, clock=self.clock))
        # What was shown to people besides messages: who was told that an answer is being written.
        self.actions: list[Json] = []
        # Ids that belong to a chat beside its own, such as a business-scoped one.
        self.scoped: dict[str, str] = {}
        self._heard: dict[str, float] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        if self.provider == "360dialog":
            return {"provider": "360dialog", "dialog_url": self.url, **_DIALOG}
        own = {"phone_number_id": self.rows.names["phone"]} if self.platform == "whatsapp" else {}
        return {"base_url": self.url, "access_token": self.tokens["bot"], **own, **_SECRETS}

    def _signed(self, call: HttpRequest, _now: float) -> HttpRequest:
        shown = {"authorization": f"Bearer {_DIALOG['webhook_secret']}"}
        if self.provider == "meta":
            mac = hmac.new(_SECRETS["app_secret"].encode(), call.body, hashlib.sha256).hexdigest()
            shown = {"x-hub-signature-256": f"sha256={mac}"}
        return msgspec.structs.replace(call, headers={**call.headers, **shown})

    def happen(self, said: PersonMessage) -> tuple[str, list[Json]]:
        """Write as a person; on WhatsApp each file is a message of its own."""
        chat = self.town.open_chat(said.chat, user=said.user)
        kind = "message" if self.platform == "whatsapp" else "mid"
        name = self.town.ids.of(kind, said.id) if said.id else self.town.ids.make(kind)
        self._heard[chat] = self.clock.now()
        self.town.post(chat, chat, id=name, text=said.text)
        if self.platform != "whatsapp":
            return name, [self.page_event(chat, {"message": self._page_message(name, said)})]
        text = {"type": "text", "text": {"body": said.text}}
        contents = [self._sent_file(one.data, one.mime, one.name) for one in said.files] or [text]
        if said.files and said.text:
            contents[0][contents[0]["type"]]["caption"] = said.text
        ids = [name, *(self.town.ids.make(kind) for _ in contents[1:])]
        wires = [{"id": one, **content} for one, content in zip(ids, contents, strict=True)]
        return name, [self.event_of(chat, wire, name=said.user_name) for wire in wires]

    def event_of(self, chat: str, *wires: Json, name: str = "Ada") -> Json:
        """Return the call that tells of messages of one person."""
        at, scoped = str(int(self.clock.now())), self.scoped.get(chat)
        who: Json = {"profile": {"name": name}, "wa_id": chat} | (
            {"user_id": scoped} if scoped else {}
        )
        sender: Json = {"from": chat, "timestamp": at}
        told = [
            {**sender, **({"from_user_id": scoped} if scoped else {}), **wire} for wire in wires
        ]
        return dict(self.event("whatsapp", contacts=[who], messages=told))

    def page_event(self, chat: str, wire: Json) -> Json:
        """Return the call that tells of one thing that a person did, or that the account has sent."""
        row = "page" if self.platform == "messenger" else "instagram"
        at = int(self.clock.now() * 1000)
        ends: Json = {"sender": {"id": chat}, "recipient": {"id": self._own}, "timestamp": at}
        return dict(self.event(row, at=at, wire={**ends, **wire}))

    @property
    def _own(self) -> str:
        return str(self.rows.names["page" if self.platform == "messenger" else "instagram"])

    async def press(self, said: PersonMessage) -> None:
        """Press the button with this value under the message `reply_to`, as a person."""
        chat = self.town.open_chat(said.chat, user=said.user)
        asked = self.town.find_own(chat, said.reply_to or "")
        label = next(one.label for one in self.shown(asked).buttons if one.value == said.text)
        if self.platform == "whatsapp":
            kind = f"{asked.more['type']}_reply"
            reply = {"type": kind, kind: {"id": said.text, "title": label}}
            wire = {"type": "interactive", "interactive": reply, "context": {"id": asked.id}}
            event = self.event_of(chat, {"id": self.town.ids.make("message"), **wire})
        else:
            quick = {"text": label, "quick_reply": {"payload": said.text}}
            event = self.page_event(chat, {"message": {"mid": self.town.ids.make("mid"), **quick}})
        await self.tell(event)

    def _sent_file(self, data: bytes, mime: str, name: str) -> Json:
        kind = mime.partition("/")[0]
        kind = kind if kind in _MOST_BYTES else "document"
        file = self.town.keep_file(name, data, mime=mime)
        named = {"filename": name} if kind == "document" else {}
        digest = hashlib.sha256(data).hexdigest()
        return {"type": kind, kind: {"id": file.id, "mime_type": mime, "sha256": digest, **named}}

    def _page_message(self, name: str, said: PersonMessage) -> Json:
        kept = [self.town.keep_file(one.name, one.data, mime=one.mime) for one in said.files]
        files = [
            {
                "type": kind
                if (kind := one.mime.partition("/")[0]) in ("image", "audio", "video")
                else "file",
                "payload": {"url": f"{self.url}/files/{one.id}"},
            }
            for one in kept
        ]
        text = {"text": said.text} if said.text else {}
        return {"mid": name, **text, **({"attachments": files} if files else {})}

    async def tell(self, event: Json) -> None:
        """Call the webhook until it accepts; letters beyond ASCII are escaped."""
        await self.push.deliver(json.dumps(event, ensure_ascii=True).encode())

    def tell_later(self, event: Json) -> None:
        """Call the webhook beside everything else, if there is one."""
        if self.push.url is not None:
            self.run_aside(self.push.deliver(json.dumps(event).encode()))

    def shown(self, message: TownMessage) -> Post:
        """Return a message as people see it."""
        post = super().shown(message)
        text = post.text if self.platform != "whatsapp" else as_read(post.text)
        buttons = tuple(_buttons(message.more))
        return msgspec.structs.replace(post, text=text, markup=message.text, buttons=buttons)

    def operation(self, call: SiteCall) -> str:
        """Return what faults call a call: only what people read is a send."""
        is_note = call.get("status") or call.get("sender_action") or call.get("type") == "reaction"
        return "other" if is_note else call.row.op

    def on_messages(self, call: SiteCall) -> Json:
        """Take a message, a reaction, or a note that a message was read."""
        if self.platform != "whatsapp":
            return self._take_page_message(call)
        if call.get("status"):
            self.actions.append(_without_place(call))
            return {"success": True}
        place, kind = call.get("to") or call.get("recipient") or "", call.get("type", "text")
        if not isinstance(place, str) or not isinstance(content := call.get(kind), dict):
            raise SiteRefusal("parameter", "a message has one recipient and its content")
        chat = self.town.chat_to_write(self._chat_of(call, place))
        message = self.town.post(chat.id, "us", text=_words(kind, content), is_own=True)
        if kind == "reaction":
            self.town.find(chat.id, content["message_id"]).reactions["us"] = {content["emoji"]}
            message.is_own = False
        message.more, message.files = content, self._files(kind, content)
        self._tell_status(chat.id, message.id, call.get("biz_opaque_callback_data"), kind=kind)
        known = {"messages": [{"id": message.id}], "contacts": [{"input": place, "wa_id": chat.id}]}
        return {"messaging_product": "whatsapp", **known}

    def _chat_of(self, call: SiteCall, place: str) -> str:
        if "to" in call.params and not re.fullmatch(r"\+?[0-9]{5,20}", place):
            raise SiteRefusal("parameter", "to is a number")
        known = {scoped: chat for chat, scoped in self.scoped.items()}
        return known.get(place, place.lstrip("+"))

    def _files(self, kind: str, content: Json) -> list[Any]:
        if kind not in _MOST_BYTES:
            return []
        file = self.town.find_file(content.get("id", ""))
        if file.mime not in _TYPES.get(kind, (file.mime,)) or file.size > _MOST_BYTES[kind]:
            raise SiteRefusal("bad_type", f"{file.mime} of {file.size} bytes is no {kind}")
        return [file]

    def _tell_status(self, chat: str, message_id: str, key: str | None, *, kind: str) -> None:
        """Tell what becomes of a message: without a template only a day after the person's last one."""
        is_late = self.clock.now() - self._heard.get(chat, 0.0) > _WINDOW_S and kind != "template"
        wrong = [{"code": 131047, "title": "Re-engagement message"}] if is_late else None
        for status in ("failed",) if is_late else ("sent", "delivered"):
            at = str(int(self.clock.now()))
            told = self.event(
                "status", id=message_id, status=status, at=at, user=chat, key=key, errors=wrong
            )
            self.tell_later(dict(self.event("whatsapp", statuses=[told])))

    def _take_page_message(self, call: SiteCall) -> Json:
        named = call.get("recipient")
        chat = self.town.chat_to_write(named.get("id", "") if isinstance(named, dict) else "")
        if call.get("sender_action"):
            self.actions.append(_without_place(call))
            return {"recipient_id": chat.id}
        message = call.get("message") or {}
        text, most = message.get("text", ""), 1000 if self.platform == "instagram" else 2000
        size = len(text.encode()) if self.platform == "instagram" else len(text)
        if size > most or bool(text) is ("attachment" in message):
            raise SiteRefusal("parameter", "a message is a text of some length, or an attachment")
        if self.clock.now() - self._heard.get(chat.id, 0.0) > _WINDOW_S:
            raise SiteRefusal("window", "outside of the window")
        held = message.get("attachment", {}).get("payload", {}).get("attachment_id")
        files = [self.town.find_file(held)] if held else []
        mid = self.town.ids.make("mid")
        self.town.post(chat.id, "us", id=mid, text=text, is_own=True, files=files, more=message)
        if self.platform == "messenger":
            echo = {"is_echo": True, "app_id": 1, "mid": mid, **message}
            ends = {"sender": {"id": self._own}, "recipient": {"id": chat.id}, "message": echo}
            self.tell_later(self.page_event(chat.id, ends))
        return {"recipient_id": chat.id, "message_id": mid}

    def on_upload(self, call: SiteCall) -> Json:
        """Keep a file that nobody sees yet."""
        upload = call.get("file") or call.get("filedata")
        if not isinstance(upload, Upload) or not upload.data:
            raise SiteRefusal("parameter", "no file")
        file = self.town.keep_file(upload.name, upload.data, mime=call.get("type") or upload.mime)
        return {"id": file.id} if self.platform == "whatsapp" else {"attachment_id": file.id}

    def on_node(self, call: SiteCall) -> Json:
        """Return what is known of the account, or where a file is."""
        if call["node"] in ("me", self.rows.names["phone"]):
            own: Json = {
                "name": "Hermes",
                "instagram_business_account": {"id": self.rows.names["instagram"]},
            }
            if self.platform == "whatsapp":
                own = {"verified_name": "Hermes", "display_phone_number": "+1 555-078-3881"}
            node = self.rows.names["phone" if self.platform == "whatsapp" else "page"]
            return {"id": node, **own}
        file = self.town.find_file(call["node"])
        url = f"{self.url}/files/{file.id}?mid={file.id}"
        digest = hashlib.sha256(file.data or b"").hexdigest()
        known = {"mime_type": file.mime, "sha256": digest, "file_size": file.size, "id": file.id}
        return {"messaging_product": "whatsapp", "url": url, **known}


def _buttons(content: Json) -> Iterator[PostButton]:
    """Return what can be pressed under a message: buttons, a list, or quick replies."""
    action = content.get("action", {})
    rows = [one["reply"] for one in action.get("buttons", ())]
    rows += [row for section in action.get("sections", ()) for row in section["rows"]]
    yield from (PostButton(row["title"], row["id"]) for row in rows)
    yield from (
        PostButton(one["title"], one["payload"]) for one in content.get("quick_replies", ())
    )


def as_read(text: str) -> str:
    """Return what people read of a text with WhatsApp's marks."""
    pieces, end = [], 0
    for found in _FENCED.finditer(text):
        pieces += [_plain(text[end : found.start()]), found[1]]
        end = found.end()
    return "".join((*pieces, _plain(text[end:]))).replace("\u200b", "")


def _plain(text: str) -> str:
    while (bare := _STYLED.sub(r"\2", text)) != text:
        text = bare
    return text


def _without_place(call: SiteCall) -> Json:
    return {name: value for name, value in call.params.items() if name != "sender"}


def _words(kind: str, content: Json) -> str:
    if kind == "interactive":
        return str(content["body"]["text"])
    if kind == "template":
        return " ".join(one["text"] for part in content["components"] for one in part["parameters"])
    return str(content.get("body") or content.get("caption") or "")
