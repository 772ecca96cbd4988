"""The known keys, read from the settings: what a key may hold, and which key was meant.

Part of config; pure. It knows the shape of the settings, not where a value comes from.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from hermes.config.section import (
    NAME_MEANING,
    AccountName,
    ChannelKey,
    Means,
    Name,
    OrNames,
    Section,
    descriptions,
    names_a_secret,
)
from hermes.config.settings import Key, Settings
from hermes.lazy import lazy
from hermes.similar_words import nearest

if TYPE_CHECKING:
    from difflib import SequenceMatcher
else:
    SequenceMatcher = lazy("difflib:SequenceMatcher")

ANY_NAME = "<name>"
_WITHOUT_DOTS = (Name, ChannelKey, AccountName)


@dataclass(frozen=True, slots=True)
class Node:
    """What a key may hold: named keys below it, any name below it, or one value."""

    children: Mapping[str, "Node"] = field(default_factory=dict)
    entry: "Node | None" = None
    is_free: bool = False
    expected: str = ""
    section: type[Section] | None = None
    """The section that it is, or whose field it is."""
    name: str = ""
    default: object = None
    is_secret: bool = False
    is_list: bool = False
    is_number: bool = False
    may_be_none: bool = False
    names: str = NAME_MEANING
    """The names that its entries may have, in words."""
    has_dotted_names: bool = False
    """Whether the name of an entry may have dots, as those of models do."""
    takes_names: bool = False
    """Whether a list of names may be written for entries with nothing set."""
    # Any: an annotation.
    value_type: Any = None
    """The type of its one value, as the section declares it."""

    @property
    def is_leaf(self) -> bool:
        """Whether it holds one value."""
        return not self.children and self.entry is None and not self.is_free

    @property
    def description(self) -> str:
        """What the reference says about it."""
        if self.section is None:
            return ""
        return descriptions(self.section)[self.name] if self.name else self.section.__doc__ or ""

    def child(self, name: str) -> "Node | None":
        """The node one step down, or None if the name is not known here."""
        return self if self.is_free else self.children.get(name, self.entry)


# Annotations are any object at run time, hence Any here and below.
def _plain(annotation: Any, metadata: tuple[Any, ...] = ()) -> tuple[Any, tuple[Any, ...]]:
    """Split an annotation into its bare type and its metadata."""
    if get_origin(annotation) is Annotated:
        bare, *said = get_args(annotation)
        return _plain(bare, (*said, *metadata))
    return annotation, metadata


def _constraints(metadata: tuple[Any, ...]) -> Iterator[Any]:
    for item in metadata:
        yield from getattr(item, "metadata", None) or [item]


def _bounds(metadata: tuple[Any, ...]) -> str:
    words = {"ge": "at least", "gt": "more than", "le": "at most"}
    found = {
        name: getattr(item, name)
        for item in _constraints(metadata)
        for name in words
        if getattr(item, name, None) is not None
    }
    return " and ".join(f"{words[name]} {found[name]}" for name in words if name in found)


_BARE = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _expected(annotation: Any, metadata: tuple[Any, ...] = ()) -> str:
    """Describe a value of this type in words."""
    bare, said = _plain(annotation, metadata)
    meaning = next((item.text for item in said if isinstance(item, Means)), None)
    if meaning is not None:
        return str(meaning)
    if get_origin(bare) is Literal:
        return "one of " + ", ".join(f'"{word}"' for word in get_args(bare))
    if get_origin(bare) in (Union, UnionType):
        return " or ".join(_expected(part) for part in get_args(bare) if part is not NoneType)
    if get_origin(bare) is tuple:
        return f"a list, each item {_expected(get_args(bare)[0])}"
    bounds = _bounds(said) if bare in (int, float) else ""
    name = _BARE.get(bare, "a secret text" if bare is SecretStr else "a path")
    return f"{name}, {bounds}" if bounds else name


def _parts(annotation: Any) -> list[Any]:
    bare = _plain(annotation)[0]
    is_union = get_origin(bare) in (Union, UnionType)
    return [_plain(part)[0] for part in (get_args(bare) if is_union else (bare,))]


def _node(annotation: Any, metadata: tuple[Any, ...], **about: Any) -> Node:
    bare = _plain(annotation)[0]
    if isinstance(bare, type) and issubclass(bare, Section):
        return Node(children=_children(bare), section=bare)
    if get_origin(bare) is Mapping:
        names, inside = get_args(bare)
        if inside is object:
            return Node(is_free=True, expected="anything", **about)
        takes_names = any(isinstance(item, OrNames) for item in metadata)
        return Node(
            entry=_node(inside, ()),
            names=_expected(names),
            has_dotted_names=names not in _WITHOUT_DOTS,
            takes_names=takes_names,
            **about,
        )
    parts = _parts(annotation)
    return Node(
        expected=_expected(annotation, metadata),
        is_secret=SecretStr in parts,
        is_list=any(get_origin(part) is tuple for part in parts),
        is_number=int in parts or float in parts,
        may_be_none=NoneType in parts,
        value_type=Annotated[annotation, *metadata] if metadata else annotation,
        **about,
    )


def _own_first(section: type[Section]) -> list[tuple[str, FieldInfo]]:
    """Return the fields of a section; those of a section that it extends come last."""
    return sorted(
        section.model_fields.items(), key=lambda item: item[0] not in section.__annotations__
    )


def _children(section: type[Section]) -> dict[str, Node]:
    return {
        name: _node(
            info.annotation,
            tuple(info.metadata),
            section=section,
            name=name,
            default=None if info.default_factory else info.default,
        )
        for name, info in _own_first(section)
    }


@lru_cache(maxsize=1)
def root() -> Node:
    """The node at the top of the settings."""
    return Node(children=_children(Settings))


def node_at(key: Key) -> Node | None:
    """What a key may hold, or None if the key is not known."""
    node: Node | None = root()
    for name in key:
        if node is None:
            return None
        node = node.child(name)
    return node


def names_at(key: Key) -> str:
    """Return the names that the entries of a table may have, in words."""
    node = node_at(key)
    return NAME_MEANING if node is None else node.names


def is_secret(key: Key) -> bool:
    """Whether the value at a key must never be shown."""
    node = node_at(key)
    if node is None or node.is_free:
        return any(map(names_a_secret, own_setting(key) or key[2:]))
    # What was written in place of a table of accounts may be an account's settings.
    in_place_of_account = key[:1] == ("platforms",) and key[2:3] == ("accounts",)
    return node.is_secret or (in_place_of_account and any(map(names_a_secret, key[3:4])))


def own_setting(key: Key) -> Key | None:
    """Return the part of a key below a platform's or an account's `extra`; None for other keys."""
    if key[:1] != ("platforms",):
        return None
    below = key[4:] if key[2:3] == ("accounts",) else key[2:]
    return below[1:] if below[:1] == ("extra",) else None


def dotted(key: Key) -> str:
    """Return a key in dotted form."""
    return ".".join(key)


def known_keys(like: Key = ()) -> Iterator[Key]:
    """Every known key; where any name is allowed, the name that `like` has there."""
    for name, child in root().children.items():
        yield from _keys_below(child, (name,), like=like)


def _keys_below(node: Node, at: Key, *, like: Key) -> Iterator[Key]:
    yield at
    for name, child in node.children.items():
        yield from _keys_below(child, (*at, name), like=like)
    if node.entry is not None:
        depth = len(at)
        fits = len(like) > depth and like[:depth] == at
        yield from _keys_below(node.entry, (*at, like[depth] if fits else ANY_NAME), like=like)


def closeness(first: str, second: str) -> float:
    """The similarity of two words, from 0 to 1."""
    return SequenceMatcher(None, first, second).ratio()


def nearest_key(key: Key) -> Key | None:
    """The known key that was most likely meant."""
    known = {dotted(found): found for found in known_keys(key) if found != key}
    same_end = [text for text, found in known.items() if found[-1] == key[-1]]
    siblings = [text for text, found in known.items() if found[:-1] == key[:-1]]
    by_last = nearest(key[-1], [known[text][-1] for text in siblings])
    if by_last is not None:
        return (*key[:-1], by_last)
    if same_end:
        return known[max(same_end, key=lambda text: closeness(dotted(key), text))]
    text = nearest(dotted(key), list(known))
    return known[text] if text is not None else None
