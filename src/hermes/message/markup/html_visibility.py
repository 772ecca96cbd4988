"""Which text of HTML a person would see: what hides a whole element, and what its content may undo.

Pure; it sits under `html_reader.py`. `display: none`, an `opacity` of less than a tenth, the attribute
`hidden` and a `dialog` that is not open hide an element with all it holds. `font-size: 0`, also in `font`, and `visibility: hidden` are inherited, and an element inside
may set a size of its own: templates of mails wrap every column in a text of no size.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from hermes.message.markup.html_tokens import End, Start

VOID: Final = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
))  # fmt: skip
# Their end tag may be left out.
OPEN_ENDED: Final = frozenset((
    "body", "caption", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "rp",
    "rt", "tbody", "td", "tfoot", "th", "thead", "tr",
))  # fmt: skip
_MAX_LAYERS: Final = 200
_HIDES_TREE: Final = re.compile(
    r"display\s*:\s*none"
    r"|opacity\s*:\s*\+?(?:(?:0+(?:\.(?:0\d*+)?)?|\.0\d*+)(?![.\d%])|\d?(?:\.\d*+)?(?<=[.\d])%)",
    re.IGNORECASE,
)
# Style, weight and the like, before the size in `font`.
_FONT: Final = r"font\s*:\s*(?:[\w-]+\s+){0,4}"
_HIDES_TEXT: Final = re.compile(
    rf"visibility\s*:\s*(?:hidden|collapse)|(?:font-size\s*:\s*|{_FONT})\+?\.?0(?![.\d]*[1-9])",
    re.IGNORECASE,
)
# A size in em or per cent is zero inside an element of size zero.
_SHOWS_TEXT: Final = re.compile(
    rf"visibility\s*:\s*visible|(?:font-size\s*:\s*|{_FONT})\+?(?:[.0]*+[1-9][\d.]*+\s*(?:px|pt|pc|cm|mm|in|q|rem|vw|vh)"
    r"|(?:xx?-|x{3}-)?(?:small|large)|medium)",
    re.IGNORECASE,
)


def hides_all(tag: Start) -> bool:
    """Whether nobody sees the element, whatever is inside it."""
    if tag.name == "dialog" and "open" not in tag.attributes:
        return True
    return "hidden" in tag.attributes or _HIDES_TREE.search(_style(tag.attributes)) is not None


class _Layer(msgspec.Struct):
    """An element that hides or shows the text inside it; `depth` counts those of its name."""

    name: str
    is_shown: bool
    depth: int = 1
    tables: int = 0


class TextLayers:
    """Follows the tags and knows whether text at the current place is visible."""

    def __init__(self) -> None:
        self._layers: list[_Layer] = []

    @property
    def is_shown(self) -> bool:
        """Whether text that comes now is visible."""
        return not self._layers or self._layers[-1].is_shown

    def follow(self, tag: Start | End) -> None:
        """Take the next tag."""
        if self._layers:
            self._end(tag)
        if isinstance(tag, End) or tag.name in VOID:
            return
        style = _style(tag.attributes)
        hides = tag.name not in OPEN_ENDED and _HIDES_TEXT.search(style) is not None
        shows = not hides and not self.is_shown and _SHOWS_TEXT.search(style) is not None
        if (hides or shows) and len(self._layers) < _MAX_LAYERS:
            self._layers.append(_Layer(tag.name, shows))
        elif self._layers and tag.name == self._layers[-1].name:
            self._layers[-1].depth += 1

    def _end(self, tag: Start | End) -> None:
        """End the innermost layer if the tag does."""
        layer = self._layers[-1]
        if layer.name in OPEN_ENDED:
            is_inside = layer.tables > 0
            if tag.name == "table":
                layer.tables += 1 if isinstance(tag, Start) else -1
            is_over = tag.name in OPEN_ENDED if not is_inside else layer.tables < 0
            if is_over or layer.tables < 0:
                self._layers.pop()
        elif isinstance(tag, End) and tag.name == layer.name:
            layer.depth -= 1
            if layer.depth == 0:
                self._layers.pop()


def _style(attributes: Mapping[str, str]) -> str:
    """Return the style of an element without its comments."""
    first, *others = attributes.get("style", "").split("/*")
    return first + "".join(one.partition("*/")[2] for one in others)
