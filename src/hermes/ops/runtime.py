"""What a gateway writes down about itself for those who look from outside, also after its end.

`run/status.json` says how it stands, `run/starts.json` whether the last one ended properly and how
often one did not of late. Neither decides anything about ownership; the lock does.
"""

from pathlib import Path

import msgspec

from hermes.control.status import Runtime
from hermes.ops.private_files import read_as, write_private

_STATUS = "status.json"
_STARTS = "starts.json"


class Starts(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a gateway is up, or died; and when a start found that the one before had died."""

    is_open: bool = False
    crashes: tuple[float, ...] = ()


class RuntimeFiles:
    """The two files of one home."""

    def __init__(self, home: Path) -> None:
        self._run = home / "run"

    def status(self) -> Runtime | None:
        """Return what the last gateway said of itself."""
        return read_as(self._run / _STATUS, Runtime)

    def tell(self, runtime: Runtime) -> None:
        """Record the state of this gateway."""
        write_private(self._run / _STATUS, msgspec.json.encode(runtime))

    def starts(self) -> Starts:
        """Return how the last gateways ended."""
        return read_as(self._run / _STARTS, Starts) or Starts()

    def begin(self, now: float, *, window_s: float) -> Starts:
        """Note a start; return the crashes within the window, with the one before this start."""
        last = self.starts()
        recent = [at for at in last.crashes if now - window_s <= at <= now]
        starts = Starts(is_open=True, crashes=(*recent, *((now,) if last.is_open else ())))
        self._keep(starts)
        return starts

    def end(self, starts: Starts) -> None:
        """Note that a gateway has ended properly."""
        self._keep(msgspec.structs.replace(starts, is_open=False))

    def _keep(self, starts: Starts) -> None:
        write_private(self._run / _STARTS, msgspec.json.encode(starts))


def read_runtime(home: Path) -> Runtime | None:
    """Return what the last gateway of a home said of itself."""
    return RuntimeFiles(home).status()
