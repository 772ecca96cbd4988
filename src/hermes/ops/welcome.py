"""What a gateway that has just started prints for the person who started it.

Filled by the composition root, shown by the command line.
"""

import msgspec


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """The address, the sign-in link and the answering model; `api_token` only on the first
    start.
    """

    version: str
    address: str
    home: str
    model: str
    sign_in_link: str | None = None
    api_token: str | None = None
    is_demonstration: bool = False
    is_listening_widely: bool = False
