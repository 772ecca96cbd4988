"""What a run prints and writes: the machine, the settings, one row per number, one flat JSON."""

import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from bench.registry import Target

OUT = Path("bench/out/latest.json")


def machine_lines(numbers: Mapping[str, float], *, cores: int) -> list[str]:
    """Say on what the numbers were measured, and how busy it was."""
    before, after = numbers["load_average_before"], numbers["load_average_after"]
    busy = before > cores
    note = "  (busy: CPU times and ratios hold better than rates)" if busy else ""
    return [
        f"machine    {cores} cores, {platform.machine()}, Python {platform.python_version()}",
        f"load       {before:.1f} before, {after:.1f} after, by the last minute{note}",
        f"piece      {numbers['fixed_piece_ms_before']:.2f} ms before, "
        f"{numbers['fixed_piece_ms_after']:.2f} ms after, the fixed piece of Python, "
        f"version {numbers['fixed_piece_version']:g}",
    ]


def table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> str:
    """Return rows as aligned columns; `right` are the columns of numbers."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def result_rows(
    numbers: Mapping[str, float], targets: Mapping[str, Target]
) -> list[tuple[str, str, str, str, str]]:
    """Return one row per number: its name, value, target, verdict, and the peer's value."""
    rows = [("number", "value", "target", "", "peer")]
    for name, value in numbers.items():
        target = targets.get(name)
        shown = "" if target is None else target.text
        verdict = "" if target is None else ("ok" if target.is_met(value) else "OVER")
        rows.append((name, format_number(value), shown, verdict, target.peer if target else ""))
    return rows


def format_number(value: float) -> str:
    """Return a number with as many digits as it is worth."""
    if 0 < abs(value) < 0.1:
        return f"{value:.3g}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) >= 10 else f"{value:.3f}"


def write(numbers: Mapping[str, float], path: Path, *, keep: bool = False) -> Path:
    """Write the numbers as one flat object, with `keep` into the one that is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if keep and path.exists():
        numbers = {**msgspec.json.decode(path.read_bytes(), type=dict[str, float]), **numbers}
    rounded = {name: _rounded(value) for name, value in numbers.items()}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(rounded), indent=2) + b"\n")
    return path


def _rounded(value: float) -> float:
    """Return four digits behind the point, or the first four of a small number."""
    return round(value, 4) if abs(value) >= 1 else float(f"{value:.4g}")


class Progress:
    """Says on standard error what is being measured; on a terminal in one line that changes."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        """Show the step that runs now."""
        end = "" if self._is_terminal else "\n"
        start = "\r\x1b[K" if self._is_terminal else ""
        print(f"{start}... {text}", end=end, file=sys.stderr, flush=True)

    def done(self) -> None:
        """Leave the line clean for what follows."""
        if self._is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
