"""Answers a shell that asks for completions, from a file of words and a running gateway.

Each Tab starts a process, so it imports neither typer nor the settings. Ids, people, agents and
models are asked from the gateway of this home with a short limit of time; without one there are none.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from hermes.home_path import home_folder
from hermes.lazy import lazy

if TYPE_CHECKING:
    from hermes.cli.complete_settings import SettingNames
    from hermes.cli.gateway_client import known_ids
else:
    SettingNames = lazy("hermes.cli.complete_settings:SettingNames")
    known_ids = lazy("hermes.cli.gateway_client:known_ids")

VARIABLE = "_HERMES_COMPLETE"
WORDS_FILE = "command_words.json"
# What a value is called, and the kinds of ids or names that the gateway knows for it.
KINDS = {
    "ID": "message,refusal,call",
    "MESSAGE": "message",
    "USER": "person,channel",
    "CHANNEL": "channel",
    "JOB": "job",
    "SESSION": "session",
    "LETTER": "letter",
    "KEY_ID": "key",
    "TOKEN": "token",
    "APPROVAL": "approval",
    "CALL": "answer",
    "AGENT": "agent",
    "MODEL": "model",
}
# A setting, and the argument after it that is its value.
_SETTING, _VALUE = "SETTING", "VALUE"
_MOST = 200
_LINE_ENDS = re.compile(r"\s+")
# Ids contain names that strangers chose, and a shell may run what it is offered: others are left out.
_SAFE = re.compile(r"[A-Za-z0-9_.:@+/-]+")


class Completion(NamedTuple):
    """A word that fits, and what it is."""

    text: str
    about: str = ""


class CommandLine(NamedTuple):
    """The complete words after `hermes`, and the beginning of the next one.

    Of that, the shell keeps what is `kept`, and wants only the rest.
    """

    words: list[str]
    part: str
    environ: Mapping[str, str]
    kept: str = ""


class CommandWords(NamedTuple):
    """A command of the file of words: its arguments and options, each with the values it takes."""

    arguments: list[list[str]]
    options: dict[str, list[str]]
    about: dict[str, str]
    platforms: dict[str, dict[str, list[str]]]


def answer(environ: Mapping[str, str]) -> int:
    """Print the completions that a shell asks for; return the exit code that it expects."""
    shell = environ[VARIABLE].removeprefix("complete_")
    found = _found(environ, shell)
    if shell == "fish" and environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return 0 if found else 1
    print(_WRITERS.get(shell, _bash)(found))
    return 0


def _found(environ: Mapping[str, str], shell: str) -> list[Completion]:
    """Return what fits; nothing if the shell does not say where the cursor is."""
    try:
        typed = _asked(environ, shell)
    except ValueError:
        return []
    return [
        one._replace(text=one.text.removeprefix(typed.kept))
        for one in candidates(typed)
        if one.text.startswith(typed.kept)
    ]


def candidates(typed: CommandLine) -> Iterable[Completion]:
    """Return what may come next, after complete words and the beginning of one."""
    known = json.loads((resources.files("hermes.cli") / WORDS_FILE).read_text(encoding="utf-8"))
    level, words = known["words"], list(typed.words)
    while words and "commands" in (word := level.get(words[0], {})):
        level = word["commands"]
        if len(words) > 1 and words[1] in level:
            words = words[1:]
        elif len(words) == 1 and not typed.part.startswith("-"):
            return _names(level, typed.part)
        else:
            words = [word["first"], *words[1:]]
    if not words:
        return _names(level, typed.part)
    if words[0] not in level:
        return ()
    one = level[words[0]]
    spec = CommandWords(one["arguments"], one["options"], one["about"], known["platforms"])
    return _after(spec, typed._replace(words=words[1:]))


def _after(spec: CommandWords, typed: CommandLine) -> Iterable[Completion]:
    """Return the values or the options that can follow the words of a command."""
    words, part = typed.words, typed.part
    if words and spec.options.get(words[-1]):
        return _values(spec.options[words[-1]], spec, typed)
    if part.startswith("-"):
        return [
            Completion(name, spec.about.get(name, ""))
            for name in (*spec.options, "--help")
            if name.startswith(part) and name not in words
        ]
    place = _place(spec, words)
    return _values(spec.arguments[place], spec, typed) if place < len(spec.arguments) else ()


def _place(spec: CommandWords, words: list[str]) -> int:
    """Return how many arguments are complete."""
    count, takes_value = 0, False
    for word in words:
        is_option = word.startswith("-") and not takes_value
        count += not is_option and not takes_value
        takes_value = is_option and bool(spec.options.get(word))
    return count


def _values(values: list[str], spec: CommandWords, typed: CommandLine) -> Iterable[Completion]:
    name, *choices = values
    choices = choices or (list(spec.platforms) if name == "PLATFORM" else [])
    if choices:
        return [Completion(one) for one in choices if one.startswith(typed.part)]
    try:
        home = _home(typed)
    except RuntimeError:
        # There is no such user.
        return ()
    return [Completion(one) for one in _known(name, spec, typed, home=home) if _SAFE.fullmatch(one)]


def _known(name: str, spec: CommandWords, typed: CommandLine, *, home: Path) -> Iterable[str]:
    """Return the ids, names or settings that a value may be; others chose some of them."""
    if name == _SETTING:
        return SettingNames(home, spec.platforms).beginning_with(typed.part)
    if name == _VALUE and [_SETTING] in spec.arguments:
        setting = next((one for one in typed.words if not one.startswith("-")), "")
        words = SettingNames(home, spec.platforms).values(setting)
        return [one for one in words if one.startswith(typed.part)]
    if name not in KINDS:
        return ()
    return known_ids(home, urlencode({"kinds": KINDS[name], "part": typed.part, "limit": _MOST}))


def _home(typed: CommandLine) -> Path:
    """Return the home that the words name, otherwise that of the environment."""
    named = [after for word, after in pairwise(typed.words) if word == "--home"]
    return Path(named[-1]).expanduser().absolute() if named else home_folder(typed.environ)


def _names(level: Mapping[str, Mapping[str, str]], part: str) -> Iterable[Completion]:
    return [Completion(name, one["help"]) for name, one in level.items() if name.startswith(part)]


def _asked(environ: Mapping[str, str], shell: str) -> CommandLine:
    """Return what was typed, as each shell says it."""
    if shell == "bash":
        words, at = _split(environ.get("COMP_WORDS", "")), abs(int(environ.get("COMP_CWORD", "1")))
        typed = words[at] if at < len(words) else ""
        *words, part = _rejoined([*words[:at], typed])
        kept = part[: part.rfind(":") + 1] if part != typed else ""
        return CommandLine(words[1:], part, environ, kept)
    line = environ.get("_TYPER_COMPLETE_ARGS", "")
    words = _split(line)[1:]
    if not words or line[-1].isspace():
        return CommandLine(words, "", environ)
    return CommandLine(words[:-1], words[-1], environ)


def _rejoined(words: list[str]) -> list[str]:
    """Return the words that were typed: bash splits `telegram:47` into three."""
    joined: list[str] = []
    for word in words:
        is_cut = bool(joined) and (word == ":" or joined[-1].endswith(":"))
        if is_cut and word and not word.startswith("-"):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _split(line: str) -> list[str]:
    """Split a line as a shell does; a quote may still be open."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        words.append(lexer.token)
    return words


def _bash(found: list[Completion]) -> str:
    return "\n".join(one.text for one in found)


def _zsh(found: list[Completion]) -> str:
    rows = [f'"{_zsh_text(one.text)}":"{_zsh_text(one.about)}"' for one in found]
    return f"_arguments '*: :(({chr(10).join(rows)}))'" if rows else "_files"


def _zsh_text(text: str) -> str:
    """Return a text that the shell's `eval` takes as it is."""
    text = text.replace('"', '""').replace("'", "''").replace("$", "\\$").replace("`", "\\`")
    return text.replace(":", "\\\\:")


def _fish(found: list[Completion]) -> str:
    return "\n".join(f"{one.text}\t{_LINE_ENDS.sub(' ', one.about)}" for one in found)


_WRITERS: Mapping[str, Callable[[list[Completion]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
