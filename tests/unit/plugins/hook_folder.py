"""Writes hooks to disk as an operator would."""

from pathlib import Path
from textwrap import dedent


def write_hook(home: Path, name: str, *, said: str, code: str) -> Path:
    """Write `hooks/NAME/` with its two files; returns the folder."""
    folder = home / "hooks" / name
    folder.mkdir(parents=True)
    (folder / "HOOK.yaml").write_text(dedent(said), encoding="utf-8")
    (folder / "handler.py").write_text(dedent(code), encoding="utf-8")
    return folder
