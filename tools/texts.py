"""Reads what Hermes says to people out of its source, and holds the catalogues against it.

    python -m tools.texts                 how many texts each language has and lacks
    python -m tools.texts --missing de    the texts that `de` lacks, as TOML to fill in
    python -m tools.texts --tidy          write every catalogue again, in the order of the source

A catalogue has a table `texts`, English to translation, and a table `counts`: the English text for many,
to one translation for each plural form of the language.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hermes.texts.languages import LANGUAGES
from hermes.texts.say import catalogue, shipped

_SOURCE = Path("src/hermes")
_CATALOGUES = _SOURCE / "texts" / "catalogues"
_PLACE = re.compile(r"\{([a-z_]*)\}")


class SaidText(msgspec.Struct, frozen=True):
    """A text that is said somewhere; one with a count has a form for one."""

    text: str
    at: str
    one: str | None = None


class UnreadableCallError(Exception):
    """A call whose text is not written out, so that no catalogue could have it."""


def said_texts(root: Path = _SOURCE) -> dict[str, SaidText]:
    """Return everything that is said, by its English text, in the order of the files."""
    found: dict[str, SaidText] = {}
    for path in sorted(root.rglob("*.py")):
        for one in _said_in(path):
            found.setdefault(one.text, one)
    return found


def _said_in(path: Path) -> Iterator[SaidText]:
    source = path.read_text(encoding="utf-8")
    if "hermes.texts" not in source or path.parent.name == "texts":
        return
    tree = ast.parse(source)
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        at = f"{path}:{call.lineno}"
        if call.func.id == "words" or (call.func.id == "say" and not _is_marked(call.args[0])):
            yield SaidText(_written(call.args[0], at), at)
        elif call.func.id == "say_count":
            one, many = (_written(arg, at) for arg in call.args[:2])
            yield SaidText(many, at, one)


def _is_marked(arg: ast.expr) -> bool:
    """Return whether a text comes from elsewhere, where `words` has marked it."""
    return not isinstance(arg, ast.Constant | ast.JoinedStr | ast.BinOp)


def _written(arg: ast.expr, at: str) -> str:
    if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
        return arg.value
    raise UnreadableCallError(f"{at}: write the text out, with names in braces for values")


def placeholders(text: str) -> frozenset[str]:
    """Return the names in braces of a text."""
    return frozenset(_PLACE.findall(text))


def faults(language: str, said: dict[str, SaidText]) -> Iterator[str]:
    """Yield what is wrong with the catalogue of a language."""
    known = catalogue(language)
    forms = set(LANGUAGES[language].forms)
    for text in known.keys() - said.keys():
        yield f"{language}: nothing says {text!r}"
    for text, one in said.items():
        translated = known.get(text)
        if translated is None:
            yield f"{language}: {text!r} is missing"
        elif one.one is None and not isinstance(translated, str):
            yield f"{language}: {text!r} has no count"
        elif one.one is not None and (isinstance(translated, str) or set(translated) != forms):
            yield f"{language}: {text!r} needs the forms {', '.join(sorted(forms))}"
        else:
            yield from _unlike(language, text, translated)


def _unlike(language: str, text: str, translated: str | dict[str, str]) -> Iterator[str]:
    wanted = placeholders(text)
    is_counted = not isinstance(translated, str)
    for words in translated.values() if isinstance(translated, dict) else (translated,):
        found = placeholders(words)
        # "One message" needs no number.
        if found - wanted or wanted - found - ({"count"} if is_counted else set()):
            yield f"{language}: {text!r} has other names in braces than {words!r}"
        if "{" in _PLACE.sub("", words) or "}" in _PLACE.sub("", words):
            yield f"{language}: a brace of {words!r} names nothing"


def _toml(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _catalogue(language: str, said: dict[str, SaidText], *, only_missing: bool) -> str:
    known = catalogue(language)
    texts, counts = [], []
    for text, one in said.items():
        translated = known.get(text)
        if (translated is not None) is only_missing:
            continue
        if one.one is None:
            texts.append(f"{_toml(text)} = {_toml(str(translated or ''))}")
            continue
        forms = translated if isinstance(translated, dict) else {}
        shown = ", ".join(
            f"{form} = {_toml(forms.get(form, ''))}" for form in LANGUAGES[language].forms
        )
        counts.append(f"{_toml(text)} = {{ {shown} }}")
    return "\n".join(("[texts]", *texts, "", "[counts]", *counts, ""))


def main() -> int:
    """Say how the catalogues stand, or write what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tools.texts")
    parser.add_argument("--missing", metavar="LANGUAGE", choices=sorted(LANGUAGES))
    parser.add_argument("--tidy", action="store_true")
    asked = parser.parse_args()
    said = said_texts()
    if asked.missing:
        print(_catalogue(asked.missing, said, only_missing=True), end="")
        return 0
    problems = 0
    for code in sorted(shipped() - {"en"}):
        if asked.tidy:
            (_CATALOGUES / f"{code}.toml").write_text(
                _catalogue(code, said, only_missing=False), encoding="utf-8"
            )
            continue
        found = list(faults(code, said))
        problems += len(found)
        print(f"{code}: {len(catalogue(code))} texts of {len(said)}, {len(found)} faults")
        print("".join(f"  {fault}\n" for fault in found[:20]), end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
