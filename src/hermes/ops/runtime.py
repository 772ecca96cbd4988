"""Files in which a gateway describes its state, readable also after its end.

`run/status.json` holds its state, `run/starts.json` whether the last gateway ended properly and how
often one recently did not. Neither decides about ownership; the lock does.
"""

from pathlib import Path

import msgspec

from hermes.control.status import Runtime
from hermes.ops.private_files import read_as, write_private

_STATUS = "status.json"
_STARTS = "starts.json"


class Starts(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a gateway runs or crashed; and which starts found that the previous gateway had
    crashed.
    """

    is_open: bool = False
    crashes: tuple[float, ...] = ()


class RuntimeFiles:
    """The two files of one home."""

    def __init__(self, home: Path) -> None:
        self._run = home / "run"

    def status(self) -> Runtime | None:
        """Return the last state that a gateway wrote."""
        return read_as(self._run / _STATUS, Runtime)

    def tell(self, runtime: Runtime) -> None:
        """Record the state of this gateway."""
        write_private(self._run / _STATUS, msgspec.json.encode(runtime))

    def starts(self) -> Starts:
        """Return how the last gateways ended."""
        return read_as(self._run / _STARTS, Starts) or Starts()

    def begin(self, now: float, *, window_s: float) -> Starts:
        """Record a start; return the crashes within the window, including the previous
        gateway's.
        """
        last = self.starts()
        recent = [at for at in last.crashes if now - window_s <= at <= now]
        starts = Starts(is_open=True, crashes=(*recent, *((now,) if last.is_open else ())))
        self._keep(starts)
        return starts

    def end(self, starts: Starts) -> None:
        """Record that a gateway has ended properly."""
        self._keep(msgspec.structs.replace(starts, is_open=False))

    def _keep(self, starts: Starts) -> None:
        write_private(self._run / _STARTS, msgspec.json.encode(starts))


def read_runtime(home: Path) -> Runtime | None:
    """Return the last state that a gateway of this home wrote."""
    return RuntimeFiles(home).status()
