"""What a SKILL.md says: its front matter, checked, and the instructions below it. Pure.

The format is that of Agent Skills (agentskills.io). The front matter is YAML of text, lists and tables;
what makes YAML surprising, such as aliases and tags, is refused before anything is made of it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hermes.errors import BadRequest

FILE: Final = "SKILL.md"
MOST_BYTES: Final = 100_000
NAME_RULE: Final = "1 to 64 small letters, digits and single '-' between them"
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 1_024
_LONGEST_NOTE: Final = 500
_MOST_FRONT: Final = 16_384
_DEEPEST: Final = 5
_MOST_METADATA: Final = 50
_MARK: Final = "---"
_EMPTY: Final = "write what the skill does and when to use it"


class SkillFile(msgspec.Struct, frozen=True, kw_only=True):
    """A checked SKILL.md; `body` are the instructions.

    `allowed_tools` is what its author would let run without asking. It is shown, and nothing else: which
    tools ask first is decided by the settings.
    """

    name: str
    description: str
    body: str
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = {}
    allowed_tools: tuple[str, ...] = ()


def is_skill_name(name: str) -> bool:
    """Return whether a skill can have this name."""
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def read_skill_file(content: bytes) -> SkillFile:
    """Return what a SKILL.md says; raises `BadRequest` if it is none."""
    if len(content) > MOST_BYTES:
        raise BadRequest(
            f"{FILE} has {len(content):,} bytes; at most {MOST_BYTES:,} are read: move parts of it into "
            "further files."
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise BadRequest(f"{FILE} is not UTF-8 at byte {fault.start}: save it as UTF-8.") from None
    if "\0" in text:
        raise BadRequest(f"{FILE} contains a NUL character, so it is not a text.")
    front, body = _parts(text.replace("\r\n", "\n"))
    fields = _fields(front)
    return SkillFile(
        name=_name(fields),
        description=_text(fields, "description", most=_LONGEST_DESCRIPTION, if_empty=_EMPTY),
        body=body.strip("\n"),
        license=_text(fields, "license", most=_LONGEST_NOTE),
        compatibility=_text(fields, "compatibility", most=_LONGEST_NOTE),
        metadata=_metadata(fields.get("metadata", {})),
        allowed_tools=_words(fields.get("allowed-tools", "")),
    )


def _parts(text: str) -> tuple[str, str]:
    """Return the front matter and what is below it."""
    lines = text.split("\n")
    ends = (at for at, line in enumerate(lines) if at and line.rstrip() == _MARK)
    end = next(ends, None) if lines[0].rstrip() == _MARK else None
    if end is None:
        raise BadRequest(
            f"{FILE} has no front matter: begin it with a line of three dashes, the fields name and "
            "description, and another line of three dashes."
        )
    front = "\n".join(lines[1:end])
    if len(front) > _MOST_FRONT:
        raise BadRequest(
            f"The front matter of {FILE} has {len(front):,} characters; at most {_MOST_FRONT:,} are read."
        )
    return front, "\n".join(lines[end + 1 :])


# Any: text, lists and tables, as the file has them.
def _fields(front: str) -> dict[str, Any]:
    # A third-party package, imported on use only: most homes have no skills.
    import yaml  # noqa: PLC0415

    # It makes text of every value: nothing becomes a date, a number or an object.
    base = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        _check_events(yaml.parse(front, Loader=base))
        loader = base(front)
        node = loader.get_single_node()
        fields = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark
        # The line of dashes is above it.
        place = "" if mark is None else f" at line {mark.line + 2}"
        raise BadRequest(
            f"The front matter of {FILE} is not YAML{place}: {fault.problem}."
        ) from None
    except yaml.YAMLError:
        raise BadRequest(f"The front matter of {FILE} is not YAML: correct it.") from None
    if node is None or not isinstance(fields, dict):
        raise BadRequest(f"The front matter of {FILE} is not a table of fields such as name.")
    seen: set[str] = set()
    for key, _ in node.value:
        if key.value in seen:
            raise BadRequest(
                f"The front matter of {FILE} has {key.value[:40]!r} twice: remove one."
            )
        seen.add(key.value)
    return fields


# Any: an event of the yaml package, which is imported on use only.
def _check_events(events: Any) -> None:
    """Refuse aliases, tags and deep nesting, before a value is made of them."""
    depth = 0
    for event in events:
        kind, line = type(event).__name__, event.start_mark.line + 2
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise BadRequest(
                f"The front matter of {FILE} uses an anchor or alias at line {line}: write the value out."
            )
        if getattr(event, "tag", None):
            raise BadRequest(f"The front matter of {FILE} uses a tag at line {line}: leave it out.")
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            depth += 1
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            depth -= 1
        if depth > _DEEPEST:
            raise BadRequest(
                f"The front matter of {FILE} is nested deeper than {_DEEPEST} levels at line {line}."
            )


def _name(fields: Mapping[str, Any]) -> str:
    name = _text(fields, "name", most=_LONGEST_NAME, if_empty=f"expected {NAME_RULE}")
    if not is_skill_name(name):
        raise BadRequest(f"The name in {FILE} is {name[:80]!r}: expected {NAME_RULE}.")
    return name


def _text(fields: Mapping[str, Any], field: str, *, most: int, if_empty: str = "") -> str:
    value = fields.get(field, "")
    if not isinstance(value, str):
        raise BadRequest(f"The field {field!r} of {FILE} is a list or a table: expected a text.")
    text = value.strip()
    if if_empty and not text:
        raise BadRequest(f"The field {field!r} of {FILE} is missing or empty: {if_empty}.")
    if len(text) > most:
        raise BadRequest(
            f"The field {field!r} of {FILE} has {len(text):,} characters: {most:,} are the most."
        )
    return text


def _metadata(value: Any) -> dict[str, str]:
    if value == "":
        return {}
    is_table = isinstance(value, dict) and len(value) <= _MOST_METADATA
    if not is_table or not all(isinstance(one, str) for pair in value.items() for one in pair):
        raise BadRequest(
            f"The field 'metadata' of {FILE} must be a table of at most {_MOST_METADATA} texts."
        )
    return {name[:_LONGEST_NOTE]: text[:_LONGEST_NOTE] for name, text in value.items()}


def _words(value: Any) -> tuple[str, ...]:
    words = value.split() if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise BadRequest(f"The field 'allowed-tools' of {FILE} must be a text or a list of texts.")
    return tuple(word[:_LONGEST_NOTE] for word in words[:_MOST_METADATA])
