"""Something reads every setting: a proof by the source, so that no setting is without effect.

The proof follows names through each file: annotations, assignments, loops and attribute chains say
which section an expression is, and an attribute of it outside `hermes.config` is a read. It knows no
flow and no types beyond that, so it can miss a read; it does not mistake another `.default` for
`busy.default`.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeGuard, get_type_hints

import pytest

from hermes.config import settings
from hermes.config.section import Section
from hermes.config.settings import Settings

SOURCE = Path(settings.__file__).parents[1]
CONFIG = SOURCE / "config"
TABLES = frozenset({"get", "items", "values"})

# Read in a way that this proof cannot follow; each with the reader.
READ_ELSEWHERE = MappingProxyType(
    {
        "TaskKeywordSettings": "routing.tasks.keywords_of, by the names of the task types",
        "AliasSettings": "config.aliases.provider_meant, which routing calls",
        "MessageConditions": "config.chat_settings.conditions, which hermes.agents calls",
        "Settings.preset": "config.load, which reads the preset below the other layers",
    }
)
# What `.settings` is on these objects; on any other it is the root.
HOLDERS = MappingProxyType(
    {"agent": "AgentSettings", "plan": "McpServerSettings", "resets": "SessionSettings"}
)

Names = dict[str, set[type[Section]]]


@cache
def sections() -> dict[str, type[Section]]:
    """Return every section of the settings by its class name."""
    found: dict[str, type[Section]] = {}

    def walk(one: type[Section]) -> None:
        if one.__name__ not in found:
            found.update({base.__name__: base for base in one.__mro__ if issubclass_of(base)})
            for field in one.model_fields.values():
                for inner in inside(field.annotation):
                    walk(inner)

    walk(Settings)
    return found


# Any: an annotation is any object at run time.
def inside(annotation: Any) -> Iterator[type[Section]]:
    """Yield the sections that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from inside(part)


@cache
def below(one: type[Section], field: str) -> frozenset[type[Section]]:
    """Return the sections that a field or a property of a section holds, itself or as a table."""
    computed = getattr(one, field, None)
    if isinstance(computed, property):
        return frozenset(inside(get_type_hints(computed.fget)["return"]))
    info = one.model_fields.get(field)
    return frozenset() if info is None else frozenset(inside(info.annotation))


class Reads(ast.NodeVisitor):
    """Collects the fields of sections that one file reads."""

    def __init__(self, shared: Names) -> None:
        self.names: Names = defaultdict(set)
        self.shared = shared
        self.found: set[tuple[type[Section], str]] = set()

    def known(self, name: str) -> set[type[Section]]:
        plain = name.lstrip("_")
        return self.names[plain] if self.names.get(plain) else self.shared.get(plain, set())

    def of(self, node: ast.expr | None) -> set[type[Section]]:
        """Return the sections that an expression may be, or may hold as a table."""
        if isinstance(node, ast.Name):
            return self.known(node.id)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript | ast.Await | ast.Starred | ast.NamedExpr):
            return self.of(node.value)
        if isinstance(node, ast.Call):
            return self.called(node)
        if isinstance(node, ast.BoolOp):
            return set().union(*map(self.of, node.values))
        if isinstance(node, ast.IfExp):
            return self.of(node.body) | self.of(node.orelse)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return set().union(*map(self.of, node.elts))
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            return self.of(node.elt)
        if isinstance(node, ast.DictComp):
            return self.of(node.value)
        return set()

    def attribute(self, node: ast.Attribute) -> set[type[Section]]:
        fields = [below(one, node.attr) for one in self.of(node.value)]
        found: set[type[Section]] = set().union(*fields)
        if node.attr == "settings" and not is_self(node.value):
            return {sections()[HOLDERS.get(last_word(node.value), "Settings")]}
        return found or self.known(node.attr)

    def called(self, node: ast.Call) -> set[type[Section]]:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in (*TABLES, "model_copy"):
            return self.of(function.value)
        if isinstance(function, ast.Name) and function.id in sections():
            return {sections()[function.id]}
        if isinstance(function, ast.Name) and function.id in (
            "filter",
            "sorted",
            "next",
            "enumerate",
        ):
            return set().union(*map(self.of, node.args))
        return self.of(function)

    def take(self, target: ast.expr, found: set[type[Section]]) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id.lstrip("_")] |= found
        elif isinstance(target, ast.Attribute):
            self.names[target.attr.lstrip("_")] |= found
        elif isinstance(target, ast.Tuple):
            for one in target.elts:
                self.take(one, found)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for one, value in zip(target.elts, node.value.elts, strict=False):
                    self.take(one, self.of(value))
            else:
                self.take(target, self.of(node.value))
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.take(node.target, mentioned(node.annotation) | self.of(node.value))
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        self.names[node.arg.lstrip("_")] |= mentioned(node.annotation)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.names[node.name.lstrip("_")] |= mentioned(node.returns)
        self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the visitor's name for it

    def visit_For(self, node: ast.For) -> None:
        self.take(node.target, self.of(node.iter))
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.take(node.target, self.of(node.iter))
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.take(node.target, self.of(node.value))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "model_dump":
            for one in self.of(function.value):
                self.found |= {(one, field) for field in one.model_fields}
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        for one in self.of(node.value):
            self.found |= {(base, node.attr) for base in one.__mro__ if issubclass_of(base)}
        self.generic_visit(node)


def issubclass_of(base: type) -> TypeGuard[type[Section]]:
    return issubclass(base, Section) and base is not Section


def last_word(node: ast.expr) -> str:
    """Return the last name of a chain."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def mentioned(annotation: ast.expr | None) -> set[type[Section]]:
    """Return the sections that an annotation names, also in quotes."""
    if annotation is None:
        return set()
    words = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
    return {sections()[word] for word in words & sections().keys()}


def files() -> Iterator[ast.Module]:
    for path in sorted(SOURCE.rglob("*.py")):
        if CONFIG not in path.parents:
            yield ast.parse(path.read_text(encoding="utf-8"))


@cache
def reads() -> frozenset[tuple[type[Section], str]]:
    """Return every field of a section that the code outside of `config` reads."""
    shared: Names = {"settings": {Settings}}
    found: set[tuple[type[Section], str]] = set()
    for module in files():
        reader = Reads(shared)
        # A name may be used above the place that says what it is.
        for _ in range(2):
            reader.visit(module)
        found |= reader.found
    return frozenset(found)


def own_fields(one: type[Section]) -> list[str]:
    """Return the fields that a section declares itself; those it inherits are its base's, also
    with another default.
    """
    bases = [base for base in one.__mro__[1:] if issubclass(base, Section)]
    inherited = {field for base in bases for field in base.model_fields}
    return [field for field in one.model_fields if field not in inherited]


def fields() -> list[tuple[str, str]]:
    every = {base for one in sections().values() for base in one.__mro__ if issubclass_of(base)}
    ordered = sorted(every, key=lambda one: one.__name__)
    return [
        (one.__name__, field)
        for one in ordered
        if one.__name__ not in READ_ELSEWHERE
        for field in own_fields(one)
        if f"{one.__name__}.{field}" not in READ_ELSEWHERE
    ]


@pytest.mark.req("W1")
@pytest.mark.parametrize(("name", "field"), fields())
def test_a_setting_is_read(name, field):
    readers = {one.__name__ for one, read in reads() if read == field}

    assert name in readers, f"nothing reads {name}.{field}"


def test_a_setting_that_nothing_reads_would_be_found():
    module = ast.parse("def f(settings: Settings, other: Any): return settings.busy, other.default")
    reader = Reads({})
    reader.visit(module)

    found = {(one.__name__, field) for one, field in reader.found}
    assert ("Settings", "busy") in found
    assert ("BusySettings", "default") not in found
