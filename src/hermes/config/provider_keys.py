"""The credentials of model services by the names under which people store them; pure.

Part of config, beside `variables`: a stored secret has the name of the variable that it stands for,
such as ANTHROPIC_API_KEY, or HERMES_PROVIDERS__HOUSE__API_KEY for a service of one's own.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import SecretStr

from hermes.config.entries import LOCAL, PROVIDERS
from hermes.config.model_settings import ProviderSettings
from hermes.config.settings import Key
from hermes.config.variables import LEVELS, PREFIX, WELL_KNOWN, key_of

CredentialField = Literal["api_key", "oauth_token"]
_FIELDS: Mapping[str, CredentialField] = {"api_key": "api_key", "oauth_token": "oauth_token"}
_ONE_WORD = re.compile(r"[!-~]+")


def credential_of(name: str, providers: Iterable[str]) -> tuple[str, CredentialField] | None:
    """Return the provider and the field that a secret of this name is for; None for any other."""
    key = _key(name)
    field = _FIELDS.get(key[2]) if len(key) == 3 and key[0] == "providers" else None
    if field is None:
        return None
    found = next((one for one in providers if one.replace("-", "_") == key[1]), None)
    return None if found is None else (found, field)


def is_platform_variable(name: str) -> bool:
    """Return whether a name is a variable of a chat platform, which no secret stands for."""
    return _key(name)[:1] == ("platforms",)


def is_credential(value: str) -> bool:
    """Return whether a value can be a key of a model service: one word of visible ASCII letters."""
    return _ONE_WORD.fullmatch(value) is not None


def known_providers(configured: Mapping[str, ProviderSettings]) -> dict[str, ProviderSettings]:
    """Return the configured providers and the built-in ones that only lack a key, in their order."""
    keyed = {row.key[1] for row in WELL_KNOWN.values() if row.key[0] == "providers"}
    tables = {
        name: configured[name] if name in configured else ProviderSettings.model_validate(entry)
        for name, entry in PROVIDERS.items()
        if name in configured or name in keyed
    }
    tables |= {name: table for name, table in configured.items() if name not in tables}
    return {name: tables[name] for name in sorted(tables, key=lambda name: name == LOCAL)}


def with_credentials(
    table: ProviderSettings, given: Mapping[CredentialField, str]
) -> ProviderSettings:
    """Return a provider with stored credentials in the place of its own; an empty one is none.

    A key and a token of one service exclude each other, so a stored one replaces both.
    """
    stored = {field: SecretStr(value) for field, value in given.items() if value}
    replaced = _FIELDS.values() if stored else given
    return table.model_copy(update={str(field): stored.get(field) for field in replaced})


def _key(name: str) -> Key:
    row = WELL_KNOWN.get(name)
    if row is not None:
        return row.key
    return key_of(name) if name.startswith(PREFIX) and LEVELS in name else ()
