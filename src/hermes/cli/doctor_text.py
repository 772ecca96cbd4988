"""What `hermes doctor` found, for people: a line for each check, with its reason and its fix."""

from rich.console import Console
from rich.text import Text

from hermes.cli.terminal import clean
from hermes.control.doctor import Check, DoctorReport, Status

_MARKS: dict[Status, tuple[str, str]] = {
    "ok": ("ok  ", "green"),
    "warn": ("warn", "yellow"),
    "fail": ("FAIL", "bold red"),
}


def show_report(report: DoctorReport, out: Console) -> None:
    """Print every check, and how many need something."""
    width = max(len(check.name) for check in report.checks)
    for check in report.checks:
        mark, style = _MARKS[check.status]
        line = Text.assemble((mark, style), f"  {check.name:<{width}}  {clean(check.what)}")
        out.print(line)
        for note in _notes(check):
            out.print(Text(" " * (width + 8) + clean(note), style="dim"))
    out.print(_summary(report))


def _notes(check: Check) -> list[str]:
    notes = list(check.details)
    if check.why:
        notes.append(f"why: {check.why}")
    if check.fix:
        notes.append(f"fix: {check.fix}")
    return notes


def _summary(report: DoctorReport) -> str:
    failed = sum(check.status == "fail" for check in report.checks)
    warned = sum(check.status == "warn" for check in report.checks)
    fixed = sum(check.fixed for check in report.checks)
    counts = [f"{failed} failed", f"{warned} to look at", f"{len(report.checks)} checks"]
    counts += [f"{fixed} set right"] if fixed else []
    return ", ".join(counts) + "."
