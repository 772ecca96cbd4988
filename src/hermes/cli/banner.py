"""The few lines that `hermes up` prints once it answers; plain text, no terminal library."""

import sys
from typing import TextIO

from hermes.ops.welcome import Welcome

_NO_MODEL = frozenset({"", "none"})
_HOW_TO_ADD = (
    "export OPENAI_API_KEY=...   (or ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY;",
    "                             OPENAI_BASE_URL for any other server)",
)


def show_banner(welcome: Welcome, out: TextIO | None = None) -> None:
    """Print the banner, at once even when the output is a pipe."""
    target = out or sys.stdout
    print(banner(welcome, bold=target.isatty()), file=target, flush=True)


def banner(welcome: Welcome, *, bold: bool) -> str:
    """Return the text of the banner."""
    title = f"Hermes {welcome.version} is running."
    rows = [("address", welcome.address), ("home", welcome.home)]
    if welcome.sign_in_link:
        rows.append(("sign in", f"{welcome.sign_in_link}"))
        rows.append(("", "(works once; `hermes link` prints another)"))
    if welcome.api_token:
        rows.append(("API token", welcome.api_token))
        rows.append(("", "(shown only this once: keep it in a safe place)"))
    rows += _model_rows(welcome)
    if welcome.is_listening_widely:
        rows.append(("note", "other machines can reach this address; the token protects it"))
    rows.append(("talk", "`hermes chat` in another terminal"))
    lines = [f"  {name:<10}{text}" for name, text in rows]
    shown = f"\x1b[1m{title}\x1b[0m" if bold else title
    return "\n".join(["", shown, "", *lines, "", "Ctrl-C stops it.", ""])


def _model_rows(welcome: Welcome) -> list[tuple[str, str]]:
    how = [("", line) for line in _HOW_TO_ADD]
    if welcome.model in _NO_MODEL:
        return [("model", "none can answer yet; set a key and start again, for example"), *how]
    if not welcome.is_demonstration:
        return [("model", welcome.model)]
    demonstration = f"{welcome.model}, a small demonstration model that is often wrong;"
    better = ("", "for a better one set a key and start again, for example")
    return [("model", demonstration), better, *how]
