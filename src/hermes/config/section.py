"""The base of every settings value, and the types its fields are made of.

Part of config; knows pydantic and nothing about files, variables or the sections themselves.
"""

import ast
import inspect
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
)

from hermes.message.channel_name import CHANNEL_PATTERN
from hermes.schema.checker import UnusableSchema, checker_of

V = TypeVar("V")

_SECRET_NAME = re.compile(r"(?:^|[_-])(?:token|secret|password|passphrase|key|credential)s?$")
# How the account is called whose settings are those of the platform itself.
OWN_ACCOUNT = "default"
# Ids are text on every platform, also where YAML reads them as numbers.
_ID_LISTS = frozenset({"allowed_users", "allowed_chats"})


class Section(BaseModel):
    """A frozen group of settings that refuses keys it does not know.

    The docstring below a field describes it in docs/settings.md.
    """

    # Deferred: only the root builds a validator, which halves the cost of importing the settings.
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True
    )


# Only the reference needs them: reading them from the source costs a start neither time nor memory.
@lru_cache
def descriptions(section: type[Section]) -> Mapping[str, str]:
    """Return the docstrings below the fields of a section, and of those it extends, by field."""
    found: dict[str, str] = {}
    for base in reversed(section.__mro__):
        if issubclass(base, Section) and base is not Section:
            found.update(_own_descriptions(base))
    return found


def _own_descriptions(section: type[Section]) -> Mapping[str, str]:
    module = ast.parse(inspect.getsource(sys.modules[section.__module__]))
    body = next(
        node.body
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name == section.__name__
    )
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


@dataclass(frozen=True, slots=True)
class Means:
    """Metadata on a type: a description of its values for errors and docs."""

    text: str


@dataclass(frozen=True, slots=True)
class OrNames:
    """Metadata on a table: a plain list of names may be written for entries with nothing set."""


def names_as_table(value: object) -> object:
    """Return a list of names as a table whose entries set nothing; anything else as it is."""
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        return {name: {} for name in value}
    return value


def _has_no_blanks(secret: SecretStr) -> SecretStr:
    """Refuse blanks: a key is sent in a header, and a pasted line end would break every call."""
    if any(character.isspace() for character in secret.get_secret_value()):
        raise ValueError
    return secret


def _freeze(table: Mapping[str, V]) -> Mapping[str, V]:
    return MappingProxyType(dict(table))


# Any: a table of whatever its field holds.
def no_entries() -> Mapping[str, Any]:
    """Return an empty table."""
    return MappingProxyType({})


def names_a_secret(key: str) -> bool:
    """Return whether the name of a free-form key marks it as a secret."""
    return _SECRET_NAME.search(key.lower()) is not None


def _is_account_name(name: str) -> str:
    if name == OWN_ACCOUNT:
        raise ValueError
    return name


def split_list(text: str) -> tuple[str, ...]:
    """Read a comma-separated text as a list, without empty items."""
    return tuple(item for item in (part.strip() for part in text.split(",")) if item)


def _frozen(key: str, value: object) -> object:
    if key in _ID_LISTS:
        items = split_list(value) if isinstance(value, str) else value
        return tuple(map(str, items)) if isinstance(items, list | tuple) else (str(items),)
    if isinstance(value, Mapping):
        return _freeze_extra(value)
    if isinstance(value, list | tuple):
        return tuple(_frozen(key, item) for item in value)
    if names_a_secret(key) and isinstance(value, str | int | float):
        return SecretStr(str(value))
    return value


def _freeze_extra(extra: Mapping[str, object]) -> Mapping[str, object]:
    return MappingProxyType({key: _frozen(key, value) for key, value in extra.items()})


def _off_is_a_word(value: object) -> object:
    """YAML reads a bare `off` as false; here it is a word."""
    return "off" if value is False else value


StreamTransport = Annotated[
    Literal["auto", "edit", "draft", "off"], BeforeValidator(_off_is_a_word)
]

NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,63}$"
NAME_MEANING = "a name of small letters, digits, '_' and '-'"

Name = Annotated[str, Field(pattern=NAME_PATTERN), Means(NAME_MEANING)]
Named = Annotated[Mapping[Name, V], AfterValidator(_freeze), PlainSerializer(dict)]
# A platform, or platform/account for one of its further accounts.
ChannelKey = Annotated[
    str,
    Field(pattern=CHANNEL_PATTERN),
    Means('a platform such as "telegram", or an account of one such as "telegram/sales"'),
]
# A variable spells it in capitals between two `__`.
ACCOUNT_PATTERN = r"^[a-z0-9]([_-]?[a-z0-9]){0,31}$"
ACCOUNT_MEANING = "a name of at most 32 small letters and digits, with single '_' and '-' between them; not 'default'"
AccountName = Annotated[
    str,
    Field(pattern=ACCOUNT_PATTERN),
    AfterValidator(_is_account_name),
    Means(ACCOUNT_MEANING),
]
Accounts = Annotated[Mapping[AccountName, V], AfterValidator(_freeze), PlainSerializer(dict)]
OfChannels = Annotated[Mapping[ChannelKey, V], AfterValidator(_freeze), PlainSerializer(dict)]
ChatTypeName = Annotated[
    str,
    Field(pattern=r"^(dm|group|channel|thread)$"),
    Means("one of dm, group, channel and thread"),
]
GroupTypeName = Annotated[
    str, Field(pattern=r"^(group|channel)$"), Means("one of group and channel")
]
OfGroupTypes = Annotated[Mapping[GroupTypeName, V], AfterValidator(_freeze), PlainSerializer(dict)]
OfChatTypes = Annotated[Mapping[ChatTypeName, V], AfterValidator(_freeze), PlainSerializer(dict)]
Table = Annotated[Mapping[str, V], AfterValidator(_freeze), PlainSerializer(dict)]
# Entries that may be given by their names alone.
Listed = Annotated[
    Mapping[Annotated[str, Field(min_length=1, max_length=200)], V],
    OrNames(),
    BeforeValidator(names_as_table),
    AfterValidator(_freeze),
    PlainSerializer(dict),
]
Headers = Table[Annotated[SecretStr, Field(min_length=1)]]


def _usable(schema: Mapping[str, object]) -> Mapping[str, object]:
    """Refuse a JSON schema that no answer can be checked with."""
    if schema:
        try:
            checker_of(msgspec.json.encode(dict(schema)))
        except (UnusableSchema, TypeError) as problem:
            raise ValueError(f"the schema {problem}") from problem
    return schema


# Empty: none.
JsonSchema = Annotated[
    Mapping[str, object],
    AfterValidator(_usable),
    AfterValidator(_freeze),
    PlainSerializer(dict),
]
# The channel interprets a platform's own settings: here they are only frozen and kept secret.
Extra = Annotated[Mapping[str, object], AfterValidator(_freeze_extra), PlainSerializer(dict)]

Whole = Annotated[int, Field(ge=0, le=10**12)]
Count = Annotated[int, Field(ge=1, le=10**12)]
Rounds = Annotated[int, Field(ge=0, le=100)]
Port = Annotated[int, Field(ge=0, le=65535)]
Days = Annotated[int, Field(ge=1, le=3650)]
Seconds = Annotated[float, Field(gt=0, le=31_536_000, allow_inf_nan=False)]
Delay = Annotated[float, Field(ge=0, le=31_536_000, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Price = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
Secret = Annotated[
    SecretStr,
    Field(min_length=1),
    AfterValidator(_has_no_blanks),
    Means("a secret text without spaces or line ends"),
]
Word = Annotated[str, Field(min_length=1)]
# No user name or password in an address: it would appear with the address.
Url = Annotated[
    str,
    Field(pattern=r"^https?://[^\s/@]+(/[^\s]*)?$"),
    Means("an address that starts with http:// or https:// and holds no user name"),
]
ProxyUrl = Annotated[
    str, Field(pattern=r"^https?://[^\s]+$"), Means("an address that starts with http://")
]
ModelName = Annotated[
    str,
    Field(pattern=r"^(auto|[a-z0-9][a-z0-9_-]*:\S+)$"),
    Means(
        '"auto", "auto:TASK" such as "auto:large_reasoning", or "provider:model" such as '
        '"openai:gpt-4o-mini"'
    ),
]
SkillName = Annotated[
    str,
    Field(pattern=r"^(\*|[a-z0-9]+(-[a-z0-9]+)*)$", max_length=64),
    Means('the name of a skill, such as "invoice", or "*"'),
]
SkillNames = Annotated[tuple[SkillName, ...], Field(max_length=200)]
AdminId = Annotated[
    str,
    Field(pattern=r"^[a-z0-9][a-z0-9_-]*:\S+$"),
    Means('"platform:user_id" such as "telegram:12345"'),
]
