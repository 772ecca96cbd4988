"""The parameters of a platform's calls, in a compact notation, and their check. Pure.

`chat_id:int! text:str!<=4096 mode:html|plain @paged *:file` is a required number, a required text of
at most 4096 characters, one of two words, the parameters of the row `paged`, and any number of files.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

# Any: parameters are JSON of the platform's own.
Json = dict[str, Any]
Kinds = Mapping[str, Callable[[Any], bool]]
_ENTRY = re.compile(r"(?P<name>[^:]+):(?P<kind>[^!<]+)(?P<needed>!?)(?:<=(?P<most>\d+))?")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


class SiteRefusal(Exception):
    """The platform refuses a call by the row `name`; `rule` is the rule that the caller broke."""

    def __init__(
        self, name: str, rule: str = "", *, wait: float | None = None, **more: object
    ) -> None:
        super().__init__(f"{name} {rule}".strip())
        self.name = name
        self.rule = rule
        self.wait = wait
        self.more = more


class Upload(msgspec.Struct, frozen=True):
    """A file that came with a call."""

    name: str
    mime: str
    data: bytes


class Parameter(NamedTuple):
    """One parameter; `most` is the maximum length of a text or list."""

    kind: str
    is_required: bool = False
    most: int | None = None


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


KINDS: Kinds = {
    "any": lambda _value: True,
    "str": lambda value: isinstance(value, str),
    "int": _is_int,
    "number": lambda value: _is_int(value) or isinstance(value, float),
    "bool": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "file": lambda value: isinstance(value, str | Upload),
}


class CallRules:
    """Checks calls by their notations; `objects` are the notations of parameters that are objects."""

    def __init__(
        self,
        takes: Mapping[str, str],
        *,
        groups: Mapping[str, str],
        objects: Mapping[str, str],
        kinds: Kinds,
    ) -> None:
        self._kinds = {**KINDS, **kinds}
        self._groups = groups
        self._takes = {name: self._read(text) for name, text in takes.items()}
        self._objects = {name: self._read(text) for name, text in objects.items()}

    def check(self, name: str, given: Mapping[str, Any], *, is_form: bool) -> Json:
        """Return the parameters of a call by their types; `is_form` means that they came as texts."""
        rules = self._takes[name]
        params = {
            key: self._from_form(key, value, rules.get(key)) if is_form else value
            for key, value in given.items()
        }
        self._check(params, rules, of=name)
        return params

    def parameters(self, name: str) -> Mapping[str, Parameter]:
        """Return the parameters of a call."""
        return self._takes[name]

    def check_object(self, name: str, value: object) -> None:
        """Refuse an object, or a list of them, that does not fit the row of this name."""
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, dict):
                raise SiteRefusal("parameter", f"{name} must be of type object")
            self._check(item, self._objects[name], of=name)

    def _read(self, text: str) -> dict[str, Parameter]:
        rules: dict[str, Parameter] = {}
        for entry in text.split():
            if entry.startswith("@"):
                rules |= self._read(self._groups[entry[1:]])
                continue
            found = _ENTRY.fullmatch(entry)
            assert found is not None, entry
            most = int(found["most"]) if found["most"] else None
            rules[found["name"]] = Parameter(found["kind"], bool(found["needed"]), most)
        return rules

    def _check(self, params: Mapping[str, Any], rules: dict[str, Parameter], *, of: str) -> None:
        for name, value in params.items():
            rule = rules.get(name)
            if rule is None and "*" in rules and isinstance(value, Upload):
                continue
            if rule is None:
                raise SiteRefusal("parameter", f"{of} has no parameter {name}")
            if not self._fits(value, rule.kind):
                raise SiteRefusal(
                    "parameter", f"{of}: parameter {name} must be of type {rule.kind}"
                )
            if rule.most is not None and len(value) > rule.most:
                raise SiteRefusal("too_long", f"{of}: parameter {name} is longer than {rule.most}")
            if name in self._objects and isinstance(value, dict | list):
                self.check_object(name, value)
        for name, rule in rules.items():
            if rule.is_required and name not in params:
                raise SiteRefusal("parameter", f"{of}: parameter {name} is required")

    def _fits(self, value: object, kind: str) -> bool:
        fits = self._kinds.get(kind)
        return value in kind.split("|") if fits is None else fits(value)

    def _from_form(self, name: str, value: Any, rule: Parameter | None) -> Any:
        """Convert a form's text to the type of its parameter."""
        if rule is None or not isinstance(value, str) or rule.kind in ("str", "file", "any"):
            return value
        if rule.kind == "bool":
            return _FLAGS.get(value.lower(), value)
        if "|" in rule.kind or value.startswith("@"):
            return value
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise SiteRefusal("parameter", f"can't parse parameter {name} as JSON") from None


def fill(row: Any, values: Mapping[str, Any]) -> Any:
    """Return a row with its `{names}` replaced; a text that is one name takes its value as it is.

    What has no value is left out, so that an event has only the fields that it has.
    """
    if isinstance(row, str):
        if row[:1] == "{" and row[-1:] == "}" and row[1:-1].isidentifier():
            return values.get(row[1:-1])
        return row.format_map(values) if "{" in row else row
    if isinstance(row, list):
        return [fill(item, values) for item in row]
    if isinstance(row, dict):
        filled = {name: fill(item, values) for name, item in row.items()}
        return {name: item for name, item in filled.items() if item is not None}
    return row
