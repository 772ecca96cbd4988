"""A strict reader of Prometheus' text format 0.0.4, for tests: whatever is odd raises `Malformed`."""

import math
import re
from dataclasses import dataclass, field

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf)|NaN")
KINDS = {"counter", "gauge", "histogram"}
ESCAPES = {"\\": "\\", "n": "\n", '"': '"'}
Labels = tuple[tuple[str, str], ...]


class Malformed(AssertionError):
    """A text that Prometheus would not take, or not as it is meant."""


@dataclass
class Family:
    """One metric."""

    kind: str
    text: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def value(self, suffix: str = "", **labels: str) -> float:
        """Return one sample by its labels, in any order."""
        found = [
            value
            for (name, have), value in self.samples.items()
            if name.endswith(suffix) and dict(have) == labels and (suffix or name == self.name)
        ]
        assert len(found) == 1, (suffix, labels, sorted(self.samples))
        return found[0]

    @property
    def name(self) -> str:
        return next(iter(self.samples))[0].removesuffix("_bucket")


def parse(content: bytes) -> dict[str, Family]:
    """Return every metric by its name."""
    text = content.decode("utf-8")
    if not text.endswith("\n"):
        raise Malformed("the last line has no end")
    families: dict[str, Family] = {}
    current, helped, told = "", "", ""
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            helped, _, told = line.removeprefix("# HELP ").partition(" ")
            if helped in families:
                raise Malformed(f"{helped} stands twice")
            if not NAME.fullmatch(helped) or not told:
                raise Malformed(line)
        elif line.startswith("# TYPE "):
            current, _, kind = line.removeprefix("# TYPE ").partition(" ")
            if not told or current != helped or kind not in KINDS:
                raise Malformed(line)
            families[current] = Family(kind, told)
        else:
            _take(line, current, families[current])
    for name, family in families.items():
        _check(name, family)
    return families


def _take(line: str, current: str, family: Family) -> None:
    found = NAME.match(line)
    if found is None:
        raise Malformed(line)
    name, rest = found[0], line[found.end() :]
    own = {current} if family.kind != "histogram" else {
        f"{current}_{part}" for part in ("bucket", "sum", "count")
    }  # fmt: skip
    if name not in own:
        raise Malformed(f"{name} stands below {current}")
    labels: Labels = ()
    if rest.startswith("{"):
        labels, rest = _labels(rest[1:])
    if not rest.startswith(" ") or not NUMBER.fullmatch(rest[1:]):
        raise Malformed(line)
    if len(dict(labels)) != len(labels) or (name, labels) in family.samples:
        raise Malformed(f"said twice: {line}")
    family.samples[name, labels] = float(rest[1:])


def _labels(text: str) -> tuple[Labels, str]:
    labels: list[tuple[str, str]] = []
    while not text.startswith("}"):
        found = LABEL.match(text)
        if found is None or not text[found.end() :].startswith('="'):
            raise Malformed(text)
        value, text = _quoted(text[found.end() + 2 :])
        labels.append((found[0], value))
        if text.startswith(","):
            text = text[1:]
        elif not text.startswith("}"):
            raise Malformed(text)
    return tuple(labels), text[1:]


def _quoted(text: str) -> tuple[str, str]:
    out, place = [], 0
    while text[place] != '"':
        if text[place] == "\\":
            place += 1
            out.append(ESCAPES[text[place]])
        else:
            out.append(text[place])
        place += 1
    return "".join(out), text[place + 1 :]


def _check(name: str, family: Family) -> None:
    values = family.samples.values()
    if family.kind != "gauge" and any(value < 0 or math.isnan(value) for value in values):
        raise Malformed(f"{name} is negative")
    if family.kind != "histogram":
        return
    series: dict[Labels, list[tuple[float, float]]] = {}
    for (sample, labels), value in family.samples.items():
        if sample == f"{name}_bucket":
            rest = tuple(pair for pair in labels if pair[0] != "le")
            series.setdefault(rest, []).append((float(dict(labels)["le"]), value))
    for labels, buckets in series.items():
        if buckets != sorted(buckets) or buckets[-1][0] != math.inf:
            raise Malformed(f"{name}{labels}: buckets out of order or without +Inf")
        if [count for _, count in buckets] != sorted(count for _, count in buckets):
            raise Malformed(f"{name}{labels}: counts fall")
        if family.samples[f"{name}_count", labels] != buckets[-1][1]:
            raise Malformed(f"{name}{labels}: the count is not that of +Inf")
        if (f"{name}_sum", labels) not in family.samples:
            raise Malformed(f"{name}{labels}: no sum")
