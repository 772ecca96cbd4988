"""Imports structlog without rich, which it loads whenever it is installed.

The command line needs rich, the server does not: leaving it out saves 50 ms of start and 5 MB.
"""

import sys

_PACKAGE = "rich"


def import_structlog() -> None:
    """Import structlog alone; call it before anything else imports structlog."""
    if "structlog" in sys.modules or _PACKAGE in sys.modules:
        return
    # None under a name makes `import` of it fail, which structlog takes as "not installed".
    sys.modules[_PACKAGE] = None  # type: ignore[assignment]
    try:
        import structlog  # noqa: F401, PLC0415 - while rich is hidden
    finally:
        del sys.modules[_PACKAGE]
