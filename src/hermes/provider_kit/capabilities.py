"""The table of options by wire and service, read once from `capabilities.toml`.

It says what each service has; how an option is written on a wire is up to the wire.
"""

import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

from hermes.ports.options import ModelRule, Option, ServiceOptions

# Callers may name any model.
_REMEMBERED = 1024


class _Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    has: frozenset[Option]
    rules: tuple[ModelRule, ...] = ()
    services: Mapping[str, ServiceOptions] = {}


@cache
def _table() -> Mapping[str, _Wire]:
    text = files(__package__).joinpath("capabilities.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, _Wire])


@cache
def service_options(wire: str, service: str = "") -> ServiceOptions:
    """Return the options of a known service, or of any other one that speaks `wire`.

    A wire of a plugin has no row: whatever it has is in its own `ProviderInfo`.
    """
    row = _table().get(wire)
    if row is None:
        return ServiceOptions()
    return row.services.get(service) or ServiceOptions(row.has, row.rules)


@lru_cache(maxsize=_REMEMBERED)
def model_options(wire: str, service: str, model: str) -> frozenset[Option]:
    """Return the options of one model; every call asks."""
    return service_options(wire, service).of(model)


def known_services() -> tuple[tuple[str, str], ...]:
    """Return every row of the table, as (wire, service); an empty service is the wire's own row."""
    return tuple(
        (wire, service) for wire, row in _table().items() for service in ("", *row.services)
    )
