"""What a tool answered, as text for the model: bounded, cleaned, and pictures told of in words."""

from typing import Any

import mcp_types as types
import msgspec

from hermes.tools.mcp.clean_text import cleaned, one_line

_RESULT_CHARS = 4_000_000
_NAME_CHARS = 300
_NOTHING = "(the tool returned nothing)"


def result_text(result: types.CallToolResult) -> str:
    """Return the text of a result; what is no text becomes a note in brackets."""
    told = [_block(block) for block in result.content]
    has_text = any(isinstance(block, types.TextContent) for block in result.content)
    # A server that gives data gives the same as text, too, unless it is new.
    if result.structured_content is not None and not has_text:
        told.insert(0, _json(result.structured_content))
    text = "\n".join(piece for piece in told if piece)
    return cleaned(text, _RESULT_CHARS) or _NOTHING


def _block(block: types.ContentBlock) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.ImageContent):
        return _note("picture", block.mime_type, data=block.data)
    if isinstance(block, types.AudioContent):
        return _note("sound", block.mime_type, data=block.data)
    if isinstance(block, types.ResourceLink):
        about = f"{block.name}: {block.description}" if block.description else block.name
        return f"[resource {one_line(block.uri, _NAME_CHARS)} ({one_line(about, _NAME_CHARS)})]"
    resource = block.resource
    where = one_line(str(resource.uri), _NAME_CHARS)
    if isinstance(resource, types.TextResourceContents):
        return f"[resource {where}]\n{resource.text}"
    return _note(f"file {where}", resource.mime_type, data=resource.blob)


def _note(what: str, mime: str | None, *, data: str) -> str:
    """Tell of what cannot be shown; four characters of base64 are three bytes."""
    kind = one_line(mime or "of an unknown type", _NAME_CHARS)
    return f"[{what}, {kind}, {len(data) * 3 // 4:,} bytes; not shown]"


# Any: JSON of the server's making.
def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
