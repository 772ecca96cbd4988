"""Writes src/hermes/cli/command_words.json: what a shell can complete, read from the commands.

`python -m tools.command_words` writes the file; a test compares it with the commands.
"""

import json
from pathlib import Path
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperOption

from hermes.cli.command_table import WORDS
from hermes.cli.commands import CommandGroup, choices_of, first_clause, root, value_name
from hermes.cli.complete import WORDS_FILE
from hermes.plugins.manifest import ManifestFile, load_manifest, manifests_in

SOURCE = Path(__file__).resolve().parents[1] / "src" / "hermes"
FILE = SOURCE / "cli" / WORDS_FILE


def page() -> str:
    """Return the text of the file."""
    tree = root()
    words = {name: _word(tree, name) for name in tree.list_commands(None)}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in words.items())
    return f'{{"platforms": {json.dumps(_platforms())}, "words": {{\n{rows}\n}}}}\n'


# Any: a piece of JSON.
def _word(tree: CommandGroup, name: str) -> dict[str, Any]:
    found, word = tree.get_command(None, name), WORDS[name]
    if not isinstance(found, CommandGroup):
        return {"help": word.about, **_spec(found)}
    commands = {
        row.name: {"help": first_clause(one.help or ""), **_spec(one)}
        for row in word.rows
        if (one := found.get_command(None, row.name))
    }
    return {"help": word.about, "first": word.rows[0].name, "commands": commands}


def _spec(command: TyperCommand) -> dict[str, Any]:
    options = [one for one in command.params if isinstance(one, TyperOption) and not one.hidden]
    names = [(name, one) for one in options for name in (*one.opts, *one.secondary_opts)]
    return {
        "arguments": [_value(one) for one in command.params if isinstance(one, TyperArgument)],
        "options": {name: [] if one.is_flag else _value(one) for name, one in names},
        "about": {name: first_clause(one.help or "") for name, one in names},
    }


def _value(parameter: TyperArgument | TyperOption) -> list[str]:
    return [value_name(parameter), *choices_of(parameter)]


def _platforms() -> dict[str, dict[str, list[str]]]:
    """Return the platforms that come along, each with its settings."""
    found = {**manifests_in("hermes.channels"), **manifests_in("hermes.contrib")}
    return {name: _settings(one) for name, one in sorted(found.items())}


def _settings(file: ManifestFile) -> dict[str, list[str]]:
    """Return the settings that config.yaml may have of a platform, with the words each takes."""
    manifest = load_manifest(file.package, file.file)
    return {
        name: ["true", "false"] if one.type == "flag" else list(one.choices)
        for name, one in manifest.settings.items()
        if one.type not in ("secret", "table")
    }


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
