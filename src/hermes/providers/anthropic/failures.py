"""What an error event inside a stream means, by the service's own names for its errors."""

import msgspec

from hermes.errors import ProviderError, ProviderRejected, ProviderUnavailable
from hermes.provider_kit.service_failure import is_refused_everywhere, mask

_REJECTED_TYPES = frozenset(
    {
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
    }
)
# The same, where the request may be at fault, with the status that each would be.
_REQUEST_TYPES = {"invalid_request_error": 400, "request_too_large": 413}


class _Detail(msgspec.Struct):
    type: str | None = None
    message: str | None = None


def stream_failure(name: str, error: bytes, *, secret: str | None) -> ProviderError:
    """Return what the error of an event stands for, as long as nothing was said before it."""
    try:
        detail = msgspec.json.decode(error, type=_Detail)
    except (msgspec.DecodeError, UnicodeDecodeError):
        detail = _Detail()
    said = mask(detail.message or "", secret=secret) or "it gave no reason"
    kind = mask(detail.type or "error", secret=secret)
    text = f"{name}: the service reported an error inside the stream: {kind}: {said}"
    if kind not in _REJECTED_TYPES:
        return ProviderUnavailable(text)
    status = _REQUEST_TYPES.get(kind)
    everywhere = status is not None and is_refused_everywhere(status, detail.message or "")
    return ProviderRejected(text, everywhere=everywhere)
