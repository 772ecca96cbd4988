"""The settings of webhooks: one route for every sender. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from hermes.errors import BadRequest, ConfigurationError
from hermes.message.target import parse_target

Scheme = Literal["standard", "github", "gitlab", "hmac"]
PLATFORM: Final = "webhook"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_LEAST_SECRET: Final = 16
_KEY: Final = "platforms.webhook.routes"


class Route(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sender: how it authenticates, which events count, the prompt and where answers go.

    `events` are names as the sender's event header or `event_field` gives them; empty means all.
    `deliver` is where the answer goes: a target such as telegram:12345 or local (a file), which is
    the default. With a `reply_url` the answer is posted there instead, signed with `reply_secret`
    or the route's own secret. `equal_bodies` is `each` if two calls with the same body are two
    events; it matters only for schemes that do not sign the id. The headers are for `hmac` only.
    """

    secret: str
    scheme: Scheme = "standard"
    events: tuple[str, ...] = ()
    prompt: str = ""
    deliver: str = ""
    reply_url: str = ""
    reply_secret: str = ""
    signature_header: str = "x-signature"
    id_header: str = "x-request-id"
    event_header: str = "x-event"
    event_field: str = ""
    equal_bodies: Literal["once", "each"] = "once"
    agent: str | None = None

    @property
    def signs_ids(self) -> bool:
        """Whether the signature covers the id of a call."""
        return self.scheme == "standard"

    @property
    def is_kind_free(self) -> bool:
        """Whether a header that nobody signed decides if the route handles signed content."""
        # If equal bodies are one event each, the header alone tells them apart.
        is_alone = self.signs_ids or self.equal_bodies == "once"
        return bool(self.events) and not self.event_field and is_alone


def read_routes(table: Mapping[str, Any]) -> dict[str, Route]:
    """Return the routes by name; raise an error that names the first wrong one."""
    if not table:
        raise ConfigurationError(f"{_KEY}: expected at least one route, found none")
    return {name: _route(str(name), given) for name, given in table.items()}


def _route(name: str, given: object) -> Route:
    key = f"{_KEY}.{name[:64]}"
    try:
        route = msgspec.convert(given, Route)
    except msgspec.ValidationError as problem:
        raise ConfigurationError(f"{key} does not fit: {problem}") from None
    if wrong := _problem(name, route):
        raise ConfigurationError(f"{key}{wrong}")
    goes = route.deliver or ("" if route.reply_url else "local")
    return msgspec.structs.replace(route, deliver=goes)


def _problem(name: str, route: Route) -> str:
    """Return the setting that is wrong, and what was expected; nothing if all are right."""
    length = len(route.secret.strip())
    if _NAME.fullmatch(name) is None:
        return ": expected a name of lower-case letters, digits, '-' and '_', as in the address; rename it"
    if length < _LEAST_SECRET:
        return (
            f".secret: expected at least {_LEAST_SECRET} characters, found {length}; with a weak secret "
            "anyone could impersonate the sender"
        )
    if route.deliver and route.reply_url:
        return ": expected deliver or reply_url, found both; remove one"
    if route.reply_url and not route.reply_url.startswith(("https://", "http://")):
        return ".reply_url: expected an http or https address"
    try:
        parse_target(route.deliver or "local")
    except BadRequest as problem:
        return f".deliver: {problem}"
    return ""
