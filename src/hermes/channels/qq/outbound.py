"""Turns deliveries into the bodies of QQ's API, and addresses into what QQ does not refuse. Pure."""

import base64
import re
from typing import Any, Final

from hermes.channel_kit.keys import key_as_number
from hermes.errors import DeliveryRejected, FailureClass
from hermes.message.parts import Media
from hermes.ports.channel import Delivery, Target

Json = dict[str, Any]
_OPENID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_KINDS: Final = {"image": 1, "video": 2, "audio": 3, "file": 4}
_HOST: Final = (
    r"((?:[a-z0-9-]{1,63}\.){1,8}(?:com|net|org|cn|io|dev|ai|app|co|me|gov|edu|info|top|xyz))"
)
# QQ takes a name with one of these endings for an address, too.
_NAME: Final = re.compile(rf"(?<![\w.@-]){_HOST}(?![\w-])", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"\b(?:https?|ftp|wss?)://([^\s/?#]{1,253})", re.IGNORECASE)
# Browsers read it as the dot that it looks like.
_WIDE_DOT: Final = "\uff0e"


def without_addresses(text: str) -> str:
    """Return a text in which QQ finds no address, and people still do."""
    shown = _ADDRESS.sub(lambda found: found[1].replace(".", _WIDE_DOT), text)
    return _NAME.sub(lambda found: found[1].replace(".", _WIDE_DOT), shown)


def chat_path(target: Target) -> str:
    """Return the address of a chat."""
    if _OPENID.fullmatch(target.chat_id) is None:
        raise DeliveryRejected(
            f"qq: expected an openid, found {target.chat_id[:40]!r}; people and groups get one by writing",
            FailureClass.INVALID_RECIPIENT,
        )
    return f"/v2/{'groups' if target.group else 'users'}/{target.chat_id}"


def message_body(delivery: Delivery, text: str, *, file_info: str, is_markdown: bool) -> Json:
    """Return the body of a message; with a handle QQ refuses the same number a second time."""
    reply: Json = {}
    if delivery.handle is not None:
        reply = {"msg_id": delivery.handle.token, "msg_seq": key_as_number(delivery.key)}
    if file_info:
        return {"msg_type": 7, "media": {"file_info": file_info}, "content": text, **reply}
    if is_markdown:
        return {"msg_type": 2, "markdown": {"content": text}, **reply}
    return {"msg_type": 0, "content": text, **reply}


def file_body(media: Media, data: bytes, *, kind: str) -> Json:
    """Return the body by which a file is uploaded, without being sent yet."""
    return {
        "file_type": _KINDS[kind],
        "file_data": base64.b64encode(data).decode(),
        "file_name": media.name or "file",
        "srv_send_msg": False,
    }
