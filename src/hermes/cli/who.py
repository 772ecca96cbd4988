"""Who gives the orders at this terminal."""

import os
import pwd


def operator_name() -> str:
    """Return who gives the order, as this machine names them."""
    uid = os.geteuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
