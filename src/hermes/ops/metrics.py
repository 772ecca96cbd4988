"""Counters, histograms and gauges, and the text format of Prometheus (0.0.4).

An increment is one entry of a dictionary. Every label has a maximum number of values: further ones
are counted as `other`, so that nobody outside can make this grow. Used from the event loop only.
"""

import math
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, Protocol

import structlog

from hermes.errors import HermesError

OTHER = "other"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_log = structlog.get_logger(__name__)
_MOST_VALUES = 64
_MOST_SERIES = 2_000

Labels = tuple[str, ...]
Reading = Iterable[tuple[Labels, float]]


class Metric(Protocol):
    """Anything that yields metric lines."""

    async def lines(self) -> Iterable[str]:
        """Return its lines, HELP and TYPE first."""
        ...


class _Bounded:
    """Limits the label values of one metric."""

    def __init__(self, names: Sequence[str], most_values: int) -> None:
        self.names = tuple(names)
        self._most_values = most_values
        self._known: tuple[set[str], ...] = tuple(set() for _ in names)

    def fold(self, labels: Labels, series: int) -> Labels:
        """Return the labels under which a new value is counted, given the series so far."""
        if series >= _MOST_SERIES:
            return (OTHER,) * len(self.names)
        return tuple(
            self._value(known, value) for known, value in zip(self._known, labels, strict=True)
        )

    def _value(self, known: set[str], value: str) -> str:
        if value in known:
            return value
        if len(known) >= self._most_values:
            return OTHER
        known.add(value)
        return value


class Counter:
    """A number that only grows, for each combination of its labels."""

    def __init__(
        self, name: str, text: str, *, labels: Sequence[str] = (), most_values: int = _MOST_VALUES
    ) -> None:
        self._name = name
        self._text = text
        self._labels = _Bounded(labels, most_values)
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, labels: Labels = (), amount: float = 1.0) -> None:
        """Count; labels in the order of the metric's label names."""
        try:
            self._values[labels] += amount
        except KeyError:
            labels = self._labels.fold(labels, len(self._values))
            self._values[labels] = self._values.get(labels, 0.0) + amount

    async def lines(self) -> Iterable[str]:
        """Return its lines."""
        return self._lines()

    def _lines(self) -> Iterable[str]:
        yield from _head(self._name, self._text, "counter")
        for labels, value in sorted(self._values.items()):
            yield _line(self._name, _pairs(self._labels.names, labels), value)


class Histogram:
    """How often a value was at most as large as each bound, for each combination of labels."""

    def __init__(
        self,
        name: str,
        text: str,
        *,
        labels: Sequence[str] = (),
        bounds: Sequence[float],
        most_values: int = _MOST_VALUES,
    ) -> None:
        self._name = name
        self._text = text
        self._labels = _Bounded(labels, most_values)
        self._bounds = tuple(bounds)
        # The counts between the bounds, followed by the sum.
        self._empty = [0.0] * (len(self._bounds) + 2)
        self._rows: dict[Labels, list[float]] = {}

    def observe(self, labels: Labels, value: float) -> None:
        """Record a value; labels in the order of the metric's label names."""
        row = self._rows.get(labels)
        if row is None:
            row = self._rows.setdefault(
                self._labels.fold(labels, len(self._rows)), self._empty.copy()
            )
        row[bisect_left(self._bounds, value)] += 1.0
        row[-1] += value

    async def lines(self) -> Iterable[str]:
        """Return its lines."""
        return self._lines()

    def _lines(self) -> Iterable[str]:
        # The format wants cumulative counts.
        yield from _head(self._name, self._text, "histogram")
        bounds = (*self._bounds, math.inf)
        for labels, row in sorted(self._rows.items()):
            pairs, count = _pairs(self._labels.names, labels), 0.0
            for bound, here in zip(bounds, row, strict=False):
                count += here
                yield _line(f"{self._name}_bucket", [*pairs, ("le", _number(bound))], count)
            yield _line(f"{self._name}_sum", pairs, row[-1])
            yield _line(f"{self._name}_count", pairs, count)


class MetricReader:
    """A number that another part holds, read on demand."""

    def __init__(
        self,
        name: str,
        text: str,
        *,
        read: Callable[[], Reading | Awaitable[Reading]],
        labels: Sequence[str] = (),
        kind: Literal["gauge", "counter"] = "gauge",
    ) -> None:
        self._name = name
        self._text = text
        self._read = read
        self._labels = _Bounded(labels, _MOST_VALUES)
        self._kind = kind

    async def lines(self) -> Iterable[str]:
        """Return its lines; only the head if there is nothing to read."""
        values: dict[Labels, float] = {}
        for labels, value in await self._reading():
            folded = self._labels.fold(labels, len(values))
            values[folded] = values.get(folded, 0.0) + value
        return [
            *_head(self._name, self._text, self._kind),
            *(
                _line(self._name, _pairs(self._labels.names, labels), value)
                for labels, value in sorted(values.items())
            ),
        ]

    async def _reading(self) -> Reading:
        try:
            reading = self._read()
            return tuple(await reading if isinstance(reading, Awaitable) else reading)
        except (HermesError, OSError) as error:
            # One number that cannot be read must not hide the others.
            _log.warning("metric_not_read", metric=self._name, problem=str(error))
            return ()


async def expose(metrics: Iterable[Metric]) -> bytes:
    """Return the whole text."""
    lines = [line for metric in metrics for line in await metric.lines()]
    return "".join(f"{line}\n" for line in lines).encode()


def _head(name: str, text: str, kind: str) -> tuple[str, str]:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    return f"# HELP {name} {escaped}", f"# TYPE {name} {kind}"


def _pairs(names: Labels, values: Labels) -> list[tuple[str, str]]:
    return list(zip(names, values, strict=True))


def _line(name: str, labels: Sequence[tuple[str, str]], value: float) -> str:
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{{{shown}}} {_number(value)}" if shown else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    # A lone surrogate, which a platform may send, cannot be encoded.
    clean = text.encode("utf-8", "replace").decode()
    return clean.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value):
        return "NaN"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
