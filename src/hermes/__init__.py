"""Hermes: the router between people on chat platforms and AI agents on models.

`from hermes import Hermes` runs a gateway inside another program; nothing of it is imported before
that. What the names are is in `__init__.pyi`.
"""

from hermes.lazy import late_names

__version__ = "0.1.0"

__getattr__ = late_names(
    globals(),
    Hermes="hermes.app.library",
    HermesPiece="hermes.app.library",
    HermesReply="hermes.app.library",
)
