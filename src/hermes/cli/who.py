"""Names the person who gives orders at this terminal."""

import os
import pwd


def operator_name() -> str:
    """Return the name of this machine's user who gives the order."""
    uid = os.geteuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
