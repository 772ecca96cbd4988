"""Converts deliveries to calls of the Bot API: the method, its parameters and files. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from hermes.channel_kit.events import plain_mime
from hermes.channel_kit.multipart import UploadPart
from hermes.channels.telegram.entities import utf16_length
from hermes.channels.telegram.format import MarkupText
from hermes.channels.telegram.inbound import message_id_of
from hermes.channels.telegram.settings import TelegramSettings
from hermes.errors import DeliveryRejected, FailureClass
from hermes.message.parts import AudioPart, Choice, FilePart, ImagePart, Media, Part
from hermes.ports.channel import Target

MAX_CAPTION: Final = 1024
MAX_PHOTO_BYTES: Final = 10_000_000
MAX_UPLOAD_BYTES: Final = 50_000_000
MAX_ALBUM: Final = 10
_PHOTOS: Final = frozenset({"image/jpeg", "image/png", "image/webp"})
_VOICES: Final = frozenset({"audio/ogg", "audio/opus"})
# Telegram also shows these as a voice, if somebody speaks.
_SONGS: Final = frozenset({"audio/mpeg", "audio/mp3", "audio/mp4", "audio/m4a", "audio/x-m4a"})
_FAMILIES: Final = {"photo": "seen", "video": "seen", "document": "file", "audio": "heard"}
_STYLES: Final = {"good": "success", "bad": "danger"}
# Buttons that are this short stand beside each other.
_SHORT_LABEL: Final = 12
_SHORT_IN_ROW: Final = 3
# Telegram's id of the general topic of every forum; to write there, name no topic.
_GENERAL_TOPIC: Final = "1"


class BotUpload(UploadPart, frozen=True, kw_only=True):
    """A file to upload; `kind` is Telegram's name for how it is shown."""

    kind: str


class BotCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call: `text_field` names the parameter with markup, `plain` is the same without
    markup.
    """

    method: str
    # Any: parameters are whatever the method takes, as JSON.
    params: Mapping[str, Any]
    files: Mapping[str, BotUpload] = {}
    text_field: str = ""
    plain: str = ""

    def without_markup(self) -> "BotCall":
        """Return the call with its text in readable form, without markup."""
        params = {key: value for key, value in self.params.items() if key != "parse_mode"}
        if self.method == "sendMediaGroup":
            first, *others = params["media"]
            first = {key: value for key, value in first.items() if key != "parse_mode"}
            params["media"] = [{**first, "caption": self.plain}, *others]
        else:
            params[self.text_field] = self.plain
        return msgspec.structs.replace(self, params=params)

    def to_chat(self, chat_id: int) -> "BotCall":
        """Return the call for the chat that a group was migrated to."""
        return msgspec.structs.replace(self, params={**self.params, "chat_id": chat_id})

    def as_document(self) -> "BotCall":
        """Return a picture's call as a document's."""
        params = {key: value for key, value in self.params.items() if key != "photo"}
        upload = msgspec.structs.replace(self.files["photo"], kind="document")
        return msgspec.structs.replace(
            self, method="sendDocument", params=params, files={"document": upload}
        )


def chat_id_of(target: Target) -> int | str:
    """Return the chat as Telegram accepts it: a number, or @name of a public one."""
    chat = target.chat_id
    digits = chat.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 16:
        return int(chat)
    if chat.startswith("@") and 1 < len(chat) <= 64:
        return chat
    raise DeliveryRejected(
        f"telegram: {chat[:40]!r} is not a chat: expected a number or @name; correct the target",
        FailureClass.INVALID_RECIPIENT,
    )


def place(target: Target) -> dict[str, Any]:
    """Return the parameters of the place: the chat, and the topic in it."""
    params: dict[str, Any] = {"chat_id": chat_id_of(target)}
    thread = target.thread_id
    if thread and thread != _GENERAL_TOPIC:
        if not (thread.isascii() and thread.isdigit() and len(thread) <= 16):
            raise DeliveryRejected(
                f"telegram: {thread[:40]!r} is not a topic: expected a number; correct the target",
                FailureClass.INVALID_RECIPIENT,
            )
        params["message_thread_id"] = int(thread)
    return params


def text_call(
    target: Target, text: MarkupText, *, settings: TelegramSettings, choices: Sequence[Choice] = ()
) -> BotCall:
    """Return the call that sends a text, with its choices as buttons."""
    keyboard = {"reply_markup": {"inline_keyboard": _keyboard(choices)}} if choices else {}
    params = {**place(target), **_previews(settings), **_quote(target, settings), **keyboard}
    return _with_text("sendMessage", params, text)


def edit_call(
    target: Target, message_id: str, *, text: MarkupText, settings: TelegramSettings
) -> BotCall:
    """Return the call that replaces the text of a message; without a keyboard its buttons go."""
    params = {**message_of(target, message_id), **_previews(settings)}
    return _with_text("editMessageText", params, text)


def reaction_call(target: Target, message_id: str, *, emoji: str) -> BotCall:
    """Return the call that reacts to a message; a bot has one reaction to each."""
    reaction = [{"type": "emoji", "emoji": emoji}]
    params = {**message_of(target, message_id), "reaction": reaction}
    return BotCall(method="setMessageReaction", params=params)


def draft_call(target: Target, draft_id: int, *, text: MarkupText) -> BotCall:
    """Return the call that shows a draft; drafts are shown in private chats only."""
    params = place(target)
    chat = params["chat_id"]
    if not isinstance(chat, int) or chat < 0:
        raise DeliveryRejected(
            "telegram: drafts are shown in private chats only", FailureClass.REJECTED
        )
    # 0 is not a valid id; any other number that fits is.
    return _with_text("sendMessageDraft", {**params, "draft_id": draft_id or 1}, text)


def send_calls(
    target: Target,
    text: MarkupText,
    *,
    uploads: Sequence[BotUpload] = (),
    choices: Sequence[Choice] = (),
    settings: TelegramSettings,
) -> tuple[BotCall, ...]:
    """Return the calls that send a message: pictures together, the text as close as it fits."""
    if not uploads:
        return (text_call(target, text, settings=settings, choices=choices),)
    where = {**place(target), **_quote(target, settings)}
    groups = _albums(uploads)
    caption = {"caption": text.markup, "parse_mode": "HTML"}
    # A caption would be taken for the text of the question, which an edit could not replace.
    is_caption = bool(text.markup) and not choices and utf16_length(text.plain) <= MAX_CAPTION
    calls = [
        _group_call(
            group, {} if number or not is_caption else caption, where=where, plain=text.plain
        )
        for number, group in enumerate(groups)
    ]
    if text.markup and not is_caption:
        calls.insert(0, text_call(target, text, settings=settings, choices=choices))
    return tuple(calls)


def kind_of(part: Part, *, size: int) -> str:
    """Return how Telegram shows an attachment of this type and size."""
    media = media_of(part)
    mime = "" if media is None else plain_mime(media.mime)
    if isinstance(part, ImagePart) and mime in _PHOTOS and size <= MAX_PHOTO_BYTES:
        return "photo"
    if isinstance(part, AudioPart) and mime in _VOICES:
        return "voice"
    if isinstance(part, AudioPart) and mime in _SONGS:
        return "voice" if part.is_voice else "audio"
    return "video" if mime == "video/mp4" else "document"


def media_of(part: Part) -> Media | None:
    """Return the attachment of a part that has one."""
    return part.media if isinstance(part, ImagePart | AudioPart | FilePart) else None


def message_of(target: Target, message_id: str) -> dict[str, Any]:
    """Return the parameters that name a message."""
    number = message_id_of(message_id)
    if number is None:
        raise DeliveryRejected(
            f"telegram: {message_id[:40]!r} is not a message: expected a number",
            FailureClass.REJECTED,
        )
    return {"chat_id": chat_id_of(target), "message_id": number}


def _with_text(method: str, params: Mapping[str, Any], text: MarkupText) -> BotCall:
    params = {**params, "text": text.markup, "parse_mode": "HTML"}
    return BotCall(method=method, params=params, text_field="text", plain=text.plain)


def _keyboard(choices: Sequence[Choice]) -> list[list[dict[str, str]]]:
    """Return the rows of buttons: short ones beside each other, long ones below."""
    buttons = [
        {
            "text": one.label,
            "callback_data": one.value,
            **({"style": _STYLES[one.style]} if one.style in _STYLES else {}),
        }
        for one in choices
    ]
    is_short = all(len(one.label) <= _SHORT_LABEL for one in choices)
    step = _SHORT_IN_ROW if is_short else 1
    return [buttons[start : start + step] for start in range(0, len(buttons), step)]


def _previews(settings: TelegramSettings) -> dict[str, Any]:
    return {} if settings.link_previews else {"link_preview_options": {"is_disabled": True}}


def _quote(target: Target, settings: TelegramSettings) -> dict[str, Any]:
    number = message_id_of(target.reply_to)
    is_private = not target.chat_id.startswith(("-", "@"))
    if number is None or settings.quote == "never" or (settings.quote == "groups" and is_private):
        return {}
    # The message may be deleted by now; the reply is wanted all the same.
    return {"reply_parameters": {"message_id": number, "allow_sending_without_reply": True}}


def _albums(uploads: Sequence[BotUpload]) -> list[list[BotUpload]]:
    """Return the files in groups that can be one message or one album, in order."""
    groups: list[list[BotUpload]] = []
    for upload in uploads:
        family = _FAMILIES.get(upload.kind)
        last = groups[-1] if groups else []
        if family and 0 < len(last) < MAX_ALBUM and _FAMILIES.get(last[-1].kind) == family:
            last.append(upload)
        else:
            groups.append([upload])
    return groups


def _group_call(
    group: list[BotUpload], caption: dict[str, Any], *, where: dict[str, Any], plain: str
) -> BotCall:
    text = {"text_field": "caption", "plain": plain} if caption else {}
    if len(group) == 1:
        upload = group[0]
        method = f"send{upload.kind.capitalize()}"
        return BotCall(
            method=method, params={**where, **caption}, files={upload.kind: upload}, **text
        )
    media = [
        {"type": upload.kind, "media": f"attach://file{number}", **({} if number else caption)}
        for number, upload in enumerate(group)
    ]
    files = {f"file{number}": upload for number, upload in enumerate(group)}
    return BotCall(method="sendMediaGroup", params={**where, "media": media}, files=files, **text)
