"""Writes the reference of all settings: `python -m hermes.config.reference > docs/settings.md`.

Part of config; generated from the settings themselves, so the page always matches them.
"""

import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.resources import files

from hermes.config.entries import ALWAYS_THERE, EMBEDDER, PROVIDERS
from hermes.config.findings import printed
from hermes.config.keys import ANY_NAME, Node, dotted, root
from hermes.config.settings import Key
from hermes.config.variables import ENVIRONMENT_ONLY, OF_PLATFORMS, WELL_KNOWN, variable_of

_INTRODUCTION = """\
# Settings

First [the ten that matter](#the-ten-that-matter), then every setting, its default and how to set it. Most gateways need no
other than the ten. This page is generated from the code.

Hermes reads, each over the one before: its defaults, `gateway.json` (of an older gateway), `.env`,
`config.yaml`, and the environment. The files are in the home folder: `HERMES_HOME`, else
`~/.hermes`. `hermes config show --origin` prints every value in force and where it came from.

- `hermes config set SETTING VALUE` changes one setting in `config.yaml`, and `hermes config check` lists what is wrong. With
  the JSON Schema that `hermes init` puts beside the file, editors complete and explain the keys.
- An unknown key in a file is an error that names the nearest known key; an unknown `HERMES_`
  variable is a warning.
- Any key can be set by a variable: `HERMES_`, then the key in capitals with `__` between its
  levels. Lists are separated by commas; a whole table can be given as JSON.
- `telegram.x` and `platforms.telegram.extra.x` mean the same, as for every platform.
- Secrets are never printed, not in errors either.
"""


def settings_reference() -> str:
    """The page as Markdown, with a heading for every setting."""
    parts = [_INTRODUCTION, *_ten(), *_sections(), _well_known(), _of_platforms(), _providers()]
    return "\n".join(parts)


def ten_settings() -> Mapping[str, Mapping[str, str]]:
    """Return the settings that most operators change, each with what it is for and an example."""
    text = files(__package__).joinpath("ten_settings.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _ten() -> Iterator[str]:
    yield _title("The ten that matter", "Write them into `config.yaml` in the home folder.")
    for number, (key, entry) in enumerate(ten_settings().items(), start=1):
        anchor = "".join(char for char in key if char.isalnum() or char == "_")
        yield (
            f"**{number}. [`{key}`](#{anchor})** {entry['about']}\n\n"
            f"```yaml\n{entry['example'].strip()}\n```\n"
        )


def _sections() -> Iterator[str]:
    tops = root().children
    yield _title("General", "What belongs to no section.")
    for name, node in tops.items():
        if node.is_leaf:
            yield _setting((name,), node)
    for name, node in tops.items():
        if not node.is_leaf:
            yield _title(name, node.description)
            yield from _settings((name,), node)


def _title(name: str, description: str) -> str:
    return f"## {name}\n\n{description}\n"


def _settings(key: Key, node: Node) -> Iterator[str]:
    if node.is_leaf or node.is_free:
        yield _setting(key, node)
    elif node.entry is not None:
        about = node.entry if node.entry.children else _described(node)
        yield from _settings((*key, ANY_NAME), about)
    for name, child in node.children.items():
        yield from _settings((*key, name), child)


def _described(table: Node) -> Node:
    """Return the description of an entry; one that is a single value is described by its table."""
    entry = table.entry or table
    return replace(entry, section=table.section, name=table.name)


def _setting(key: Key, node: Node) -> str:
    is_named = ANY_NAME in key
    default = "none" if node.default is None else f"`{printed(key, node.default)}`"
    lines = [f"### `{dotted(key)}`", "", node.description, ""]
    lines.append(f"- Takes: {node.expected}{' (secret)' if node.is_secret else ''}")
    if not (node.is_free or key[-1] == ANY_NAME):
        lines.append(
            f"- Default: {default}" + (", or that of a built-in entry" if is_named else "")
        )
    lines.append(f"- Variable: {_variables(key, node)}")
    return "\n".join(lines) + "\n"


def _variables(key: Key, node: Node) -> str:
    names = [row.name for row in WELL_KNOWN.values() if row.key == key]
    path = (*key, "<setting>") if node.is_free else key
    return ", ".join(f"`{name}`" for name in [variable_of(path).replace("-", "_"), *names])


def _well_known() -> str:
    lines = [_title("Well-known variables", "Names that people already use.").rstrip(), ""]
    lines += ["| variable | sets | |", "| --- | --- | --- |"]
    for row in WELL_KNOWN.values():
        notes = f"switches {row.enables} on" if row.enables else ""
        if row.key in ENVIRONMENT_ONLY:
            notes = "environment only"
        lines.append(f"| `{row.name}` | `{dotted(row.key)}` | {notes} |")
    return "\n".join(lines) + "\n"


def _of_platforms() -> str:
    text = (
        "Names that every platform has, plugins included: `<NAME>` is the platform in capitals, with "
        "`_` for `-`, such as `SLACK_HOME_CHANNEL`. A platform that Hermes does not know by itself "
        "must be named in a file or by a `HERMES_PLATFORMS__<NAME>__` variable. A row of the table "
        "above takes precedence."
    )
    lines = [_title("Variables of every platform", text).rstrip(), ""]
    lines += ["| variable | sets |", "| --- | --- |"]
    for end, (before, after) in OF_PLATFORMS.items():
        lines.append(f"| `<NAME>_{end}` | `{dotted((*before, ANY_NAME, *after))}` |")
    return "\n".join(lines) + "\n"


def _providers() -> str:
    text = (
        "Preferred in this order when no model is named. Those marked always exist; the others "
        "exist once a key of theirs is set."
    )
    lines = [_title("Built-in providers", text).rstrip(), ""]
    lines += ["| provider | always | settings |", "| --- | --- | --- |"]
    for name, entry in PROVIDERS.items():
        values = ", ".join(f"{field} `{value}`" for field, value in entry.items())
        always = name in (*ALWAYS_THERE, EMBEDDER)
        lines.append(f"| {name} | {'yes' if always else ''} | {values} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(settings_reference())
