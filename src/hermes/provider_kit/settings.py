"""The settings that every model wire has: the base of each wire's own settings."""

from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import urlsplit

import msgspec

from hermes.errors import ConfigurationError
from hermes.ports.options import Option, ServiceOptions
from hermes.ports.provider import ModelRequest
from hermes.provider_kit.capabilities import model_options, service_options

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LOWEST_VISIBLE = 33
_HIGHEST_VISIBLE = 126


class WireSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One configured service; a wire adds its own fields and defaults.

    `SERVICE` is the word for the other side in error texts, `WIRE` the wire's row in the table of
    options.
    """

    SERVICE: ClassVar[str] = "service"
    WIRE: ClassVar[str] = ""

    name: str
    model: str
    base_url: str
    api_key: str | None = None
    enabled: bool = True
    headers: Mapping[str, str] = {}
    tools: bool = True
    vision: bool = True
    context_tokens: int
    max_output_tokens: int | None = None

    @property
    def secret(self) -> str | None:
        """The credential that goes out with each call."""
        return self.api_key

    @property
    def host(self) -> str | None:
        """The host name in the address."""
        return urlsplit(self.base_url).hostname

    @property
    def is_on_this_machine(self) -> bool:
        """Whether calls never leave this machine."""
        return self.host in _LOOPBACK

    @property
    def needs_key(self) -> bool:
        """Whether the service at this address refuses calls without a key."""
        return False

    @property
    def usable(self) -> bool:
        """Whether the service is enabled and has the key that its address needs."""
        return self.enabled and (bool(self.secret) or not self.needs_key)

    @property
    def known_service(self) -> str:
        """The name of a service that the table of options knows; empty for any other."""
        return ""

    @property
    def options(self) -> ServiceOptions:
        """The options beside the usual ones that the service's models have."""
        return service_options(self.WIRE, self.known_service)

    def has_option(self, option: Option, request: ModelRequest) -> bool:
        """Return whether the model of a request has an option."""
        name = request.model or self.model
        return option in model_options(self.WIRE, self.known_service, name)

    def url(self, path: str) -> str:
        """Return the address of `path` at the service."""
        return self.base_url.rstrip("/") + path

    def output_limit(self, request: ModelRequest) -> int | None:
        """Return the lower of the request's and the configured output limit, or None."""
        asked, own = request.max_output_tokens, self.max_output_tokens
        if asked is None or own is None:
            return own if asked is None else asked
        return min(asked, own)

    def check(self) -> None:
        """Raise `ConfigurationError` if a call with these settings cannot work."""
        self._check_credential("api_key", self.api_key)

    def _check_credential(self, field: str, value: str | None) -> None:
        if not all(_LOWEST_VISIBLE <= ord(letter) <= _HIGHEST_VISIBLE for letter in value or ""):
            raise ConfigurationError(
                f"providers.{self.name}.{field} contains a space, a line break or a non-ASCII "
                "letter; a key is one word: copy it again without anything around it"
            )
