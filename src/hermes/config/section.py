"""The base of every settings value, and the bounded types its fields are made of.

Part of config; knows pydantic and nothing about files, variables or the sections themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
)

V = TypeVar("V")


class Section(BaseModel):
    """A frozen group of settings that refuses keys it does not know."""

    # Deferred: only the root builds a validator, which halves the cost of importing the settings.
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True
    )


@dataclass(frozen=True, slots=True)
class Means:
    """Metadata on a type: what a value must be, in words for errors and docs."""

    text: str


def _has_no_blanks(secret: SecretStr) -> SecretStr:
    """A key is sent in a header: a line end pasted along with it would break every call."""
    if any(character.isspace() for character in secret.get_secret_value()):
        raise ValueError
    return secret


def _freeze(table: Mapping[str, V]) -> Mapping[str, V]:
    return MappingProxyType(dict(table))


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
Headers = Annotated[
    Mapping[str, Annotated[SecretStr, Field(min_length=1)]],
    AfterValidator(_freeze),
    PlainSerializer(dict),
]

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
    Means('"auto", or "provider:model" such as "openai:gpt-4o-mini"'),
]
AdminId = Annotated[
    str,
    Field(pattern=r"^[a-z0-9][a-z0-9_-]*:\S+$"),
    Means('"platform:user_id" such as "telegram:12345"'),
]
