"""Lists the items that a stored response was answered from, as OpenAI's API lists them. Pure.

Requests may omit what every listed item has: its id, its type, its status, and content as parts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from hermes.errors import BadRequest
from hermes.server.v1.stored_items import StoredItems

# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]

_PAGE = 20
_LARGEST_PAGE = 100
_ORDERS = ("desc", "asc")
_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "local_shell_call": "lsh",
    "tool_search_call": "tsc",
}
# Items whose shape has no status.
_WITHOUT_STATUS = frozenset({"reasoning", "additional_tools"})
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Json).decode


def write_input_items(chain: Sequence[StoredItems], query: Mapping[str, str]) -> bytes:
    """Return a page of the items that the last response of a conversation answers."""
    items = list(_items(chain))
    if _order(query.get("order")) == "desc":
        items.reverse()
    start = _start(items, query.get("after"))
    page = items[start : start + _limit(query.get("limit"))]
    return _encode(
        {
            "object": "list",
            "data": page,
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            "has_more": start + len(page) < len(items),
        }
    )


def _items(chain: Sequence[StoredItems]) -> Iterable[Json]:
    for number, stored in enumerate(chain, start=1):
        for place, raw in enumerate(stored.input):
            yield _listed(_decode(raw), f"{stored.id}_in{place}")
        if number < len(chain):
            yield from map(_decode, stored.output)


def _listed(item: Json, name: str) -> Json:
    """Return an item of a request with all that a listed one has."""
    kind = str(item.get("type") or "message")
    made_up = f"{_PREFIXES.get(kind, 'item')}_{name.removeprefix('resp_')}"
    told = item | {"type": kind, "id": item.get("id") or made_up}
    if kind not in _WITHOUT_STATUS:
        told["status"] = item.get("status") or "completed"
    if kind == "message":
        told["content"] = _content(item.get("content"), is_model=item.get("role") == "assistant")
    return told


def _content(content: object, *, is_model: bool) -> list[Json]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    assert isinstance(parts, list)
    return [_part(part, is_model=is_model) for part in parts]


def _part(part: Json, *, is_model: bool) -> Json:
    if part["type"] in {"text", "input_text", "output_text"}:
        if is_model:
            return {"annotations": [], "logprobs": []} | part | {"type": "output_text"}
        return part | {"type": "input_text"}
    return {"detail": "auto"} | part if part["type"] == "input_image" else part


def _order(text: str | None) -> str:
    if text is None:
        return _ORDERS[0]
    if text in _ORDERS:
        return text
    raise BadRequest(f"order is {text[:80]!r}: expected 'asc' or 'desc'; send one or leave it out.")


def _limit(text: str | None) -> int:
    if text is None:
        return _PAGE
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST_PAGE))
    if is_number and 1 <= int(text) <= _LARGEST_PAGE:
        return int(text)
    raise BadRequest(
        f"limit is {text[:80]!r}: expected a number from 1 to {_LARGEST_PAGE}; send one or leave it"
        " out."
    )


def _start(items: Sequence[Json], after: str | None) -> int:
    if after is None:
        return 0
    for place, item in enumerate(items):
        if item["id"] == after:
            return place + 1
    raise BadRequest(
        f"after is {after[:80]!r}, which is no item of this response: use an id from the previous"
        " page."
    )
