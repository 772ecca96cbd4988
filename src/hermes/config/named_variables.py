"""`${NAME}` in the secrets of MCP servers and platforms: replaced by a variable, so that no file
need contain the secret. MCP servers may also name stored secrets, which come first.

Part of config, between the merge and the validation in `load`; pure. Nothing else in the
configuration is expanded. A platform's secret that names an unset variable is refused where its
channel is made, so that it stops only that channel.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hermes.config.keys import is_secret, own_setting
from hermes.config.layers import LayerValue
from hermes.config.settings import Key, Settings
from hermes.config.tool_settings import McpServerSettings

_NAMED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRETS = ("env", "headers")
_CLIENT = ("client_id", "client_secret")


def has_named(winners: Mapping[Key, LayerValue]) -> bool:
    """Return whether any value names a variable."""
    return any(may_name(key) and _names(leaf.value) for key, leaf in winners.items())


def is_name(value: object) -> bool:
    """Return whether a value is nothing but the name of a variable."""
    return isinstance(value, str) and _NAMED.fullmatch(value) is not None


def without_names(text: str) -> str:
    """Return a text without the names of variables in it."""
    return _NAMED.sub("", text)


def fill(winners: dict[Key, LayerValue], variables: Mapping[str, str]) -> None:
    """Replace the names by their values; an unset name stays, and `unfilled` finds it."""

    def value_of(match: re.Match[str]) -> str:
        return variables.get(match[1], match[0])

    for key, leaf in list(winners.items()):
        if may_name(key) and isinstance(leaf.value, str):
            winners[key] = replace(leaf, value=_NAMED.sub(value_of, leaf.value))


def unfilled(settings: Settings) -> Iterator[tuple[Key, str]]:
    """Yield every place of an MCP server that still names a variable, and the variable's name."""
    for name, server in settings.mcp.servers.items():
        for (field, inner), text in _texts(server):
            left = name_in(text)
            if left is not None:
                yield ("mcp", "servers", name, field, inner), left


def server_names(winners: Mapping[Key, LayerValue]) -> dict[str, tuple[str, ...]]:
    """Return the MCP servers whose settings contain a name, by this name."""
    found: dict[str, dict[str, None]] = {}
    for key, leaf in winners.items():
        if len(key) == 5 and may_name(key) and isinstance(leaf.value, str):
            for name in _NAMED.findall(leaf.value):
                found.setdefault(name, {})[key[2]] = None
    return {name: tuple(servers) for name, servers in found.items()}


def name_in(text: str) -> str | None:
    """Return the first name of a variable in a text."""
    found = _NAMED.search(text)
    return None if found is None else found[1]


def names_in(server: McpServerSettings) -> frozenset[str]:
    """Return the names of variables and secrets that the settings of an MCP server still contain."""
    return frozenset(_NAMED.findall(" ".join(text for _, text in _texts(server))))


def _texts(server: McpServerSettings) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the values of a server that may contain names, by their place below it."""
    for field, table in (("env", server.env), ("headers", server.headers)):
        for inner, secret in table.items():
            yield (field, inner), secret.get_secret_value()
    oauth = server.oauth
    if oauth.client_id is not None:
        yield ("oauth", "client_id"), oauth.client_id
    if oauth.client_secret is not None:
        yield ("oauth", "client_secret"), oauth.client_secret.get_secret_value()


def may_name(key: Key) -> bool:
    """Return whether the value at a key may name a variable."""
    if own_setting(key) is not None:
        return is_secret(key)
    if len(key) != 5 or key[:2] != ("mcp", "servers"):
        return False
    return key[3] in _SECRETS or (key[3] == "oauth" and key[4] in _CLIENT)


def _names(value: object) -> bool:
    return isinstance(value, str) and _NAMED.search(value) is not None
