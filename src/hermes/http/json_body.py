"""JSON over HTTP: strict decoding of request bodies and the encoding of answers.

Sits between the raw body and a channel's `inbound.py`; knows msgspec, no route and no channel.
"""

from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

from hermes.errors import BadRequest
from hermes.ports.channel import HttpResponse
from hermes.similar_words import nearest

T = TypeVar("T", bound=msgspec.Struct)

_encode = msgspec.json.Encoder().encode
_decode_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def json_response(
    value: object, status: int = 200, *, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return `value` as a JSON answer."""
    return HttpResponse(status=status, body=_encode(value), headers=headers or {})


class JsonBody(Generic[T]):
    """Decodes bodies into one struct type; every error is a `BadRequest` that says what to fix."""

    def __init__(self, model: type[T]) -> None:
        self._decode = msgspec.json.Decoder(model).decode
        self._keys = tuple(field.encode_name for field in msgspec.structs.fields(model))

    def decode(self, raw: bytes) -> T:
        """Return the struct in `raw`."""
        try:
            return self._decode(raw)
        except msgspec.ValidationError as problem:
            raise BadRequest(
                self._unknown_key(raw) or f"The JSON body does not fit: {problem}."
            ) from None
        except UnicodeDecodeError:
            raise BadRequest(
                "The request body is not valid UTF-8: encode the JSON as UTF-8."
            ) from None
        except msgspec.DecodeError as problem:
            raise BadRequest(
                f"The request body is not valid JSON ({problem}); lone surrogates are not allowed."
            ) from None
        except RecursionError:
            raise BadRequest(
                "The request body is nested too deeply; it should be one object."
            ) from None

    def _unknown_key(self, raw: bytes) -> str | None:
        try:
            unknown = [key for key in _decode_keys(raw) if key not in self._keys]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if not unknown:
            return None
        known = ", ".join(self._keys)
        near = nearest(unknown[0], self._keys)
        hint = f"did you mean {near!r}? " if near else ""
        return f"The JSON body has the unknown key {unknown[0][:80]!r}: {hint}Known keys: {known}."
