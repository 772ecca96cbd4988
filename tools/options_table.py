"""Writes the table of options in docs/providers.md, from `provider_kit/capabilities.toml`.

`python -m tools.options_table` prints the lines between the two markers of the page.
"""

import sys
from collections.abc import Iterable, Iterator

from hermes.ports.options import ModelRule
from hermes.provider_kit.capabilities import known_services, service_options
from hermes.providers.openai.presets import presets

BEGIN = "<!-- options: begin -->"
END = "<!-- options: end -->"
_WIRES = {
    "openai": "any other server with chat completions",
    "responses": "any other server with Responses",
    "anthropic": "Anthropic Messages",
    "gemini": "Gemini",
    "ollama": "Ollama",
    "local": "the demonstration model",
}
_KNOWN = {("responses", "openai"): "OpenAI, by Responses"}


def table() -> str:
    """Return the Markdown between the markers."""
    head = ["| service | options | models that differ |", "| --- | --- | --- |"]
    return "\n".join([*head, *_rows()]) + "\n"


def _rows() -> Iterator[str]:
    for wire, service in known_services():
        found = service_options(wire, service)
        name = _WIRES[wire]
        if service:
            name = _KNOWN.get((wire, service)) or presets()[service].label
        differ = "; ".join(_rule(rule) for rule in found.rules)
        yield f"| {name} | {_named(found.has) or 'none'} | {differ} |"


def _rule(rule: ModelRule) -> str:
    positive = [one for one in rule.models if not one.startswith("!")]
    others = [one[1:] for one in rule.models if one.startswith("!")]
    who = _named(positive) if positive else f"all but {_named(others)}"
    what = f"no {_named(rule.lacks)}" if rule.lacks else f"also {_named(rule.adds)}"
    return f"{who}: {what}"


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


if __name__ == "__main__":
    sys.stdout.write(table())
