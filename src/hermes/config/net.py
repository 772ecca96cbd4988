"""The settings of the guard: which addresses that strangers choose may be connected to.

Part of config; a reader of docs/settings.md sees these descriptions.
"""

from ipaddress import ip_network
from typing import Annotated

from pydantic import AfterValidator, Field

from hermes.config.section import Means, Section


def _is_network(text: str) -> str:
    return str(ip_network(text))


Network = Annotated[
    str, AfterValidator(_is_network), Means('an address or network such as "10.1.0.0/16"')
]
OpenPort = Annotated[int, Field(ge=1, le=65535)]


class NetSettings(Section):
    """What is fetched because a message, a model or a page says so."""

    exempt: tuple[Network, ...] = Field(
        default=(),
        description="Private networks that may be fetched from nevertheless, such as that of a "
        "wiki.",
    )
    refuse: tuple[Network, ...] = Field(
        default=(),
        description="Additional networks that may not be fetched from, such as your own public "
        "ones.",
    )
    ports: tuple[OpenPort, ...] = Field(
        default=(), description="Additional ports that may be fetched from, such as 81."
    )
