"""Converts replies to messages of Twilio's API, and counts the segments that they are paid by. Pure."""

from typing import Any, Final

from hermes.channels.sms.inbound import canonical_number

_GSM: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
_GSM_TWICE: Final = frozenset("^{}\\[~]|€\f")
# A segment of several has room for its number.
_GSM_ALONE, _GSM_EACH = 160, 153
_UCS_ALONE, _UCS_EACH = 70, 67


def segments(text: str) -> int:
    """Return how many segments a text is: 160 letters of GSM-7, or 70 UTF-16 units, of one alone."""
    if all(char in _GSM or char in _GSM_TWICE for char in text):
        size = sum(2 if char in _GSM_TWICE else 1 for char in text)
        return 1 if size <= _GSM_ALONE else -(-size // _GSM_EACH)
    size = len(text.encode("utf-16-le", "replace")) // 2
    return 1 if size <= _UCS_ALONE else -(-size // _UCS_EACH)


# Any: the parameters of the call.
def message_form(
    to: str, *, sender: str, body: str = "", media_url: str = "", callback: str = ""
) -> dict[str, Any]:
    """Return the form of a message; `sender` is a number, or the SID of a messaging service."""
    name = "MessagingServiceSid" if sender.startswith("MG") else "From"
    form = {"To": canonical_number(to), name: sender}
    optional = {"Body": body, "MediaUrl": media_url, "StatusCallback": callback}
    return {**form, **{key: value for key, value in optional.items() if value}}
