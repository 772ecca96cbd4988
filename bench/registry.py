"""The groups of measurements: every module in `bench/groups` is one, its `GROUP`, by the same name.

Peers are groups in `bench/peers`, which run only when they are asked for. A later group is a new file
there; nothing else has to know of it.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType

import msgspec

import bench.groups

Say = Callable[[str], None]
Settings = Mapping[str, str]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What a number must reach, and what the peer reached; one of the bounds is given."""

    at_most: float | None = None
    at_least: float | None = None
    peer: str = ""

    @property
    def text(self) -> str:
        """The target as people read it."""
        return f"<= {self.at_most:g}" if self.at_most is not None else f">= {self.at_least:g}"

    def is_met(self, value: float) -> bool:
        """Tell whether `value` is good enough."""
        if self.at_most is not None:
            return value <= self.at_most
        return self.at_least is None or value >= self.at_least


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One group: what it measures, with which settings, and what it must reach.

    `settings` are told in the report beside the shipped defaults; `run` tells its steps to the
    callable that it is given and yields flat numbers as it gets them. `run_small` does the same with
    less of everything that has a CPU figure, and nothing else. `library_figures` are the beginnings of
    the CPU figures that are measured in the process of the bench; the others are those of a gateway,
    which the group has if `has_gateway_cpu`.
    """

    name: str
    about: str
    targets: Mapping[str, Target]
    settings: Callable[[], Settings]
    run: Callable[[Say], Iterator[dict[str, float]]]
    run_small: Callable[[Say], Iterator[dict[str, float]]] | None = None
    library_figures: tuple[str, ...] = ()
    has_gateway_cpu: bool = True


def find_groups(folder: ModuleType = bench.groups) -> dict[str, Group]:
    """Return every group of a folder by name."""
    return {name: _load(folder, name) for name in _names(folder)}


def choose(only: Sequence[str], folder: ModuleType = bench.groups) -> list[Group]:
    """Return the groups that were asked for, or all; raises `LookupError` with the known names.

    The others are not imported: over the packages of another commit they might not load.
    """
    known = _names(folder)
    unknown = [name for name in only if name not in known]
    if unknown:
        raise LookupError(
            f"there is no group {unknown[0]!r}; known groups: {', '.join(known)}. "
            f"A group is a module in {folder.__name__.replace('.', '/')}"
        )
    return [_load(folder, name) for name in known if not only or name in only]


def _names(folder: ModuleType) -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(folder.__path__))


def _load(folder: ModuleType, name: str) -> Group:
    group: Group = importlib.import_module(f"{folder.__name__}.{name}").GROUP
    return group
