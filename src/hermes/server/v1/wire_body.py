"""Decodes the JSON body of a compatible wire into its struct, and lists unknown fields.

Unlike Hermes's own API these wires accept unknown fields: clients are newer than any list. Unknown
fields are listed, so that the answer can say what had no effect.
"""

import re
from typing import Annotated, Generic, TypeVar

import msgspec

from hermes.errors import BadRequest

T = TypeVar("T", bound=msgspec.Struct)
# The largest output limit a caller may set. No model writes nearly as much, and sums of it stay
# countable.
OutputTokens = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]

_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_MAX_NAMES = 32
_MAX_NAME = 80
# A little more than the quoted input, which follows a few words from msgspec.
_MAX_FAULT = 95
_NOT_IN_A_NAME = re.compile(r"[^\w.-]", re.ASCII)
_NULL = b"null"
_TOO_DEEP = "The request body is nested too deeply: send a flatter schema or content."


class WireBody(Generic[T]):
    """Decodes bodies of one wire; raises a `BadRequest` that says where a fault is."""

    def __init__(self, model: type[T], what: str) -> None:
        self._decode = msgspec.json.Decoder(model).decode
        self._known = frozenset(field.encode_name for field in msgspec.structs.fields(model))
        self._what = what

    def decode(self, raw: bytes) -> tuple[T, tuple[str, ...]]:
        """Return the request, and the names of the fields that the struct does not have."""
        try:
            return self._decode(raw), self._unknown(raw)
        except msgspec.ValidationError as problem:
            raise BadRequest(f"This is not a {self._what}: {_shortened(str(problem))}.") from None
        except UnicodeDecodeError:
            raise BadRequest("The request body is not UTF-8: encode the JSON as UTF-8.") from None
        except msgspec.DecodeError as problem:
            hint = "; lone surrogates are not allowed" if b"\\u" in raw else ""
            raise BadRequest(f"The request body is not valid JSON: {problem}{hint}.") from None
        except RecursionError:
            raise BadRequest(_TOO_DEEP) from None

    def _unknown(self, raw: bytes) -> tuple[str, ...]:
        fields = _decode_fields(raw)
        if self._known.issuperset(fields):
            return ()
        found = (
            _NOT_IN_A_NAME.sub("?", name[:_MAX_NAME])
            for name, value in fields.items()
            if name not in self._known and is_given(value)
        )
        return tuple(name for _, name in zip(range(_MAX_NAMES), found, strict=False))


def is_given(raw: msgspec.Raw) -> bool:
    """Return whether a field was sent with a value other than null."""
    return bytes(raw) not in {b"", _NULL}


def checked_object(raw: msgspec.Raw, field: str) -> msgspec.Raw:
    """Return the JSON object in `raw`, its depth checked, because others will parse it again."""
    try:
        msgspec.json.decode(raw, type=dict)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise BadRequest(f"{field}: expected a JSON object; {_shortened(str(problem))}.") from None
    except RecursionError:
        raise BadRequest(_TOO_DEEP) from None
    return raw


def _shortened(fault: str) -> str:
    """Return msgspec's message with its path, and with at most a line of the input."""
    words, at, path = fault.rpartition(" - at ")
    return f"{words[:_MAX_FAULT]}{at}{path}" if at else fault[:_MAX_FAULT]
