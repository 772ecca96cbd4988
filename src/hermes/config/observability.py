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

    public: bool = Field(
        default=False, description="Whether /metrics is shown to anybody, without a token."
    )


class OtelSettings(Section):
    """OpenTelemetry traces of turns, their model calls and their tools."""

    endpoint: Url | None = Field(
        default=None,
        description="Where traces are sent by OTLP over HTTP, such as http://localhost:4318; "
        "/v1/traces is added. Without it nothing is traced.",
    )
    headers: Headers = Field(
        default_factory=lambda: MappingProxyType({}),
        description="Headers of those requests, such as the key of a service.",
    )
    service_name: Word = Field(
        default="hermes", description="What the traces call this gateway (service.name)."
    )
    content: bool = Field(
        default=False, description="Whether traces hold what was said; ids are hashed in any case."
    )
    queue: Count = Field(
        default=2_048, description="At most this many turns wait to be sent; more are dropped."
    )
    every_s: Seconds = Field(default=5, description="How often what waits is sent.")


class AlertSettings(Section):
    """Telling operators of what needs them."""

    webhooks: tuple[SecretUrl, ...] = Field(
        default=(), description="Webhooks that alerts are posted to, of Slack, Discord or others."
    )
    format: Literal["auto", "slack", "discord", "json"] = Field(
        default="auto", description="What is posted there; auto goes by the host of the address."
    )
    to: tuple[Word, ...] = Field(
        default=(),
        description="Chats that alerts are sent to, such as telegram (its home channel) or "
        "telegram:4711.",
    )
    least: Literal["warning", "critical"] = Field(
        default="warning", description="The least severe alerts that are sent; all are listed."
    )
    window_s: Seconds = Field(
        default=900,
        description="The same alert is told once in this time, then with how often it came.",
    )
