"""Parses the Bot API's answers: results, and refusals as delivery errors. Pure.

For most of its refusals Telegram gives no code but a sentence, so its sentences are listed here and
nowhere else.
"""

from typing import Any, Final, TypeVar

import msgspec

from hermes.channels.telegram.wire import ApiAnswer, Hints
from hermes.errors import (
    ConfigurationError,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.net.platform_call import PlatformAnswer

_MAX_SAID: Final = 200
_NO_RECIPIENT: Final = (
    "chat not found",
    "user not found",
    "peer_id_invalid",
    "chat_write_forbidden",
    "not enough rights",
    "have no rights to send",
    "need administrator rights",
    "message thread not found",
    "topic_closed",
    "group chat was upgraded",
    "group chat was deactivated",
)
_NOT_MODIFIED: Final = "message is not modified"
_NO_ENTITIES: Final = "can't parse entities"
_NO_PICTURE: Final = ("photo_invalid_dimensions", "image_process_failed", "photo_ext_invalid")
_GONE: Final = ("message to delete not found", "message_id_invalid")
_TOO_BIG: Final = "file is too big"

Result = TypeVar("Result")


class BotAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One parsed answer of the Bot API; `said` is its sentence, shortened and on one line."""

    status: int
    is_ok: bool
    result: bytes = b""
    said: str = ""
    retry_after: float | None = None
    migrated_to: int | None = None

    @property
    def is_not_modified(self) -> bool:
        """Whether the message already was as the edit wanted it."""
        return self.status == 400 and _NOT_MODIFIED in self.said.lower()

    @property
    def is_bad_markup(self) -> bool:
        """Whether the markup was not understood; nothing was sent."""
        return self.status == 400 and _NO_ENTITIES in self.said.lower()

    @property
    def is_bad_picture(self) -> bool:
        """Whether the picture is not accepted as one; as a file it may be."""
        return self.status == 400 and any(word in self.said.lower() for word in _NO_PICTURE)

    @property
    def is_gone(self) -> bool:
        """Whether the message to delete is already gone."""
        return self.status == 400 and any(word in self.said.lower() for word in _GONE)

    @property
    def is_too_big(self) -> bool:
        """Whether the file is larger than bots may download."""
        return self.status == 400 and _TOO_BIG in self.said.lower()

    @property
    def is_bad_token(self) -> bool:
        """Whether Telegram does not know the bot: it answers 404 for a token of no bot at all."""
        return self.status in {401, 404}


def read_reply(answer: PlatformAnswer) -> BotAnswer:
    """Return the parsed answer; raise `DeliveryUnknown` for a success that cannot be parsed."""
    try:
        told = msgspec.json.decode(answer.body, type=ApiAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        told = None
    if told is not None and told.ok and answer.is_ok:
        return BotAnswer(status=answer.status, is_ok=True, result=bytes(told.result))
    if answer.is_ok and (told is None or not told.error_code):
        raise DeliveryUnknown(
            f"telegram: the answer {answer.status} is not from the Bot API; check "
            "platforms.telegram.api_url",
            FailureClass.NETWORK_TIMEOUT,
        )
    hints = (told.parameters if told is not None else None) or Hints()
    wait = hints.retry_after
    return BotAnswer(
        status=told.error_code if told is not None and answer.is_ok else answer.status,
        is_ok=False,
        said=" ".join(("" if told is None else told.description).split())[:_MAX_SAID],
        retry_after=answer.retry_after if wait is None else max(0.0, wait),
        migrated_to=hints.migrate_to_chat_id,
    )


def read_result(reply: BotAnswer, shape: type[Result]) -> Result:
    """Return the result of a success; raise `DeliveryUnknown` if it does not have its shape."""
    try:
        return msgspec.json.decode(reply.result, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise DeliveryUnknown(
            "telegram: the call was answered with success and a result that cannot be read",
            FailureClass.NETWORK_TIMEOUT,
        ) from None


def refusal(reply: BotAnswer) -> DeliveryError:
    """Return the delivery error of a refusal."""
    said = f"{reply.status} {reply.said}".strip()
    if reply.status == 429:
        return NotDelivered(
            f"telegram: too many messages ({said}); it will be sent again later",
            FailureClass.RATE_LIMITED,
            retry_after=reply.retry_after,
        )
    if reply.status == 409:
        return NotDelivered(_conflict(reply.said), FailureClass.SERVICE_UNAVAILABLE)
    if reply.status >= 500:
        return NotDelivered(
            f"telegram: the platform failed ({said}); it will be sent again later",
            FailureClass.SERVICE_UNAVAILABLE,
            retry_after=reply.retry_after,
        )
    if reply.is_bad_token:
        return DeliveryRejected(
            f"telegram: the bot token is not valid ({said}); set platforms.telegram.bot_token to "
            "the token that @BotFather shows for this bot, and `hermes reload`",
            FailureClass.UNAUTHORIZED,
            credential=True,
        )
    if reply.status == 403 or any(word in reply.said.lower() for word in _NO_RECIPIENT):
        return DeliveryRejected(
            f"telegram: the bot cannot write in this chat ({said}): it was blocked or removed, has "
            "no right to write there, or the chat is gone",
            FailureClass.INVALID_RECIPIENT,
        )
    return DeliveryRejected(
        f"telegram: the platform refused the call ({said}); correct the cause and replay the dead "
        "letter",
        FailureClass.REJECTED,
    )


def bad_token(reply: BotAnswer) -> ConfigurationError:
    """Return the error that tells an operator that the token is wrong or no longer valid."""
    return ConfigurationError(
        f"platforms.telegram.bot_token: Telegram answered {reply.status} {reply.said}, expected 200: "
        "the token is wrong or was revoked. Set the one that @BotFather shows for this bot under "
        "/mybots, API Token"
    )


def message_id(reply: BotAnswer) -> str:
    """Return the id of the message that a send created; for an album, of the first."""
    # Any: an album returns a list of messages, every other send one message.
    result: Any = read_result(reply, list[_Made] | _Made)  # type: ignore[arg-type]
    made = result if isinstance(result, list) else [result]
    if not made:
        raise DeliveryUnknown(
            "telegram: an album was answered with no message", FailureClass.NETWORK_TIMEOUT
        )
    return str(made[0].message_id)


class _Made(msgspec.Struct, frozen=True):
    message_id: int


def _conflict(said: str) -> str:
    if "webhook" in said.lower():
        return (
            f"telegram: polling is not possible while a webhook is set ({said}): somebody set one for "
            "this bot. It is deleted when the channel connects again; if it comes back, another "
            "program uses the same token"
        )
    return (
        f"telegram: another program polls with the same bot token ({said}): stop it, or give this "
        "gateway a bot of its own. Only one may poll"
    )
