"""The settings of metrics, traces and alerts: who may read them, and where they are sent.

Part of config; a reader of docs/settings.md sees these descriptions.
"""

import re
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from hermes.config.section import Count, Headers, Means, Seconds, Section, Url, Word

_ADDRESS = re.compile(r"https?://[^\s/@]+(/\S*)?")


def _is_address(secret: SecretStr) -> SecretStr:
    if not _ADDRESS.fullmatch(secret.get_secret_value()):
        raise ValueError
    return secret


# Whoever has the address of a webhook can write there: it is a secret.
SecretUrl = Annotated[
    SecretStr,
    AfterValidator(_is_address),
    Means("an address that starts with http:// or https:// and holds no user name"),
]


class MetricsSettings(Section):
    """`/metrics` for Prometheus."""

    public: bool = Field(default=False, description="Whether /metrics needs no token.")


class OtelSettings(Section):
    """OpenTelemetry traces of turns, their model calls and their tools."""

    endpoint: Url | None = Field(
        default=None,
        description="The address to which traces are sent by OTLP over HTTP, such as "
        "http://localhost:4318; /v1/traces is appended. Unset, nothing is traced.",
    )
    headers: Headers = Field(
        default_factory=lambda: MappingProxyType({}),
        description="Headers of those requests, such as the key of a service.",
    )
    service_name: Word = Field(
        default="hermes", description="The name of this gateway in traces (service.name)."
    )
    content: bool = Field(
        default=False, description="Whether traces contain what was said; ids are always hashed."
    )
    queue: Count = Field(
        default=2_048,
        description="At most this many turns are buffered for sending; more are dropped.",
    )
    every_s: Seconds = Field(default=5, description="How often buffered traces are sent.")


class AlertSettings(Section):
    """Telling operators of what needs them."""

    webhooks: tuple[SecretUrl, ...] = Field(
        default=(), description="Webhooks of Slack, Discord or others that receive alerts."
    )
    format: Literal["auto", "slack", "discord", "json"] = Field(
        default="auto",
        description="The format of the post; auto chooses by the host of the address.",
    )
    to: tuple[Word, ...] = Field(
        default=(),
        description="Chats that receive alerts, such as telegram (its home channel) or "
        "telegram:4711.",
    )
    least: Literal["warning", "critical"] = Field(
        default="warning", description="The lowest severity that is sent; all alerts are listed."
    )
    window_s: Seconds = Field(
        default=900,
        description="The same alert is sent once in this time, then with a count of its repeats.",
    )
