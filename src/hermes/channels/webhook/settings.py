"""The settings of webhooks: one route for every sender. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from hermes.errors import BadRequest, ConfigurationError
from hermes.message.target import parse_target

Scheme = Literal["standard", "github", "gitlab", "hmac"]
EqualBodies = Literal["once", "each"]
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_LEAST_SECRET: Final = 16
_KEY: Final = "platforms.webhook.routes"


class Route(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sender: how it authenticates, which events count, the prompt and where answers go.

    `events` are names as the sender's event header or `event_field` gives them; empty means all.
    `deliver` is where the answer goes: a target such as telegram:12345 or local (a file), which is
    the default. With a `reply_url` the answer is posted there instead, signed with `reply_secret`
    or the route's own secret. `equal_bodies` is `each` if two calls with the same body are two
    events; it matters only for schemes that do not sign the id. `signature_header`, `id_header` and `event_header` are for the scheme
    `hmac` only.
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
    equal_bodies: EqualBodies = "once"
    agent: str | None = None


def read_routes(table: Mapping[str, Any]) -> dict[str, Route]:
    """Return the routes by name; raise an error that names the first wrong one."""
    if not table:
        raise ConfigurationError(f"{_KEY}: expected at least one route, found none")
    return {name: _route(str(name), given) for name, given in table.items()}


def _route(name: str, given: object) -> Route:
    key = f"{_KEY}.{name[:64]}"
    if _NAME.fullmatch(name) is None:
        raise ConfigurationError(
            f"{key}: expected a name of lower-case letters, digits, '-' and '_', as used in the "
            "address; rename it"
        )
    try:
        route = msgspec.convert(given, Route)
    except msgspec.ValidationError as problem:
        raise ConfigurationError(f"{key} does not fit: {problem}") from None
    if len(route.secret.strip()) < _LEAST_SECRET:
        raise ConfigurationError(
            f"{key}.secret: expected at least {_LEAST_SECRET} characters, found "
            f"{len(route.secret.strip())}; with a weak secret anyone could impersonate the sender"
        )
    if route.deliver and route.reply_url:
        raise ConfigurationError(f"{key}: expected deliver or reply_url, found both; remove one")
    if route.deliver:
        try:
            parse_target(route.deliver)
        except BadRequest as problem:
            raise ConfigurationError(f"{key}.deliver: {problem}") from None
    if route.reply_url and not route.reply_url.startswith(("https://", "http://")):
        raise ConfigurationError(f"{key}.reply_url: expected an http or https address")
    return route if route.deliver or route.reply_url else _local(route)


def _local(route: Route) -> Route:
    return msgspec.structs.replace(route, deliver="local")
