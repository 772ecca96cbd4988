"""A gateway's clock that a test moves while the gateway runs."""

from pathlib import Path

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


def faked(clock: Path) -> dict[str, str]:
    """Return the variables of a process whose clock follows the file `clock`."""
    return {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_NO_CACHE": "1",
        "HERMES_TIME_ZONE": "UTC",
    }


def put_clock(clock: Path, days: int) -> None:
    """Put the clock so many days ahead of the real one."""
    new = clock.with_suffix(".new")
    new.write_text(f"{days:+d}d\n")
    new.rename(clock)
