"""Faults that operators make in Python code: conditions, comparisons, constants, calls, ways out. Pure.

Only the bodies of functions and numbers at the top of a module are changed, since those can be
exchanged in a running interpreter. Logging, annotations, assertions and texts are left alone.
"""

import ast
from collections.abc import Iterator

from tests.mutants.faults import Edit, Fault, make_fault

Found = tuple[str, Edit]
_SHIFTED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_ORDERING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SMALL = 10
_LOGGERS = frozenset({"log", "_log", "logger", "warnings"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def faults_of(source: str, *, area: str, path: str) -> Iterator[Fault]:
    """Yield every fault that the operators make in a file."""
    text = _Text(source)
    tree = ast.parse(source)
    for function, edit, operator in _all(tree, text):
        yield make_fault(source, edit, area=area, path=path, function=function, operator=operator)


def _all(tree: ast.Module, text: "_Text") -> Iterator[tuple[str, Edit, str]]:
    for name, function in functions(tree):
        for operator, edit in _Walker(text, function).found:
            yield name, edit, operator
    for name, number in _constants(tree):
        yield name, text.edit(number, _other_number(number)), "constant"


def functions(
    scope: ast.Module | ast.ClassDef, prefix: str = ""
) -> Iterator[tuple[str, _Function]]:
    """Yield every function that is not inside another one, by its qualified name."""
    for node in scope.body:
        if isinstance(node, _Function):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")


class _Text:
    """A source, by the positions of its syntax tree."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._starts = [0]
        self._lines = source.splitlines(keepends=True)
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        """Return the position of a column, which the tree counts in bytes."""
        chars = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(chars)

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno, node.end_col_offset
        assert end_line is not None
        assert end_column is not None
        return self.at(node.lineno, node.col_offset), self.at(end_line, end_column)

    def edit(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        return Edit(*self.span(node), text)

    def of(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.source[start:end]


class _Walker(ast.NodeVisitor):
    """Collects the faults of one function."""

    def __init__(self, text: _Text, function: _Function) -> None:
        self.found: list[Found] = []
        self._text = text
        self._conditions: set[ast.expr] = set()
        for node in function.body:
            self.visit(node)

    def _add(self, operator: str, node: ast.expr | ast.stmt, text: str) -> None:
        self.found.append((operator, self._text.edit(node, text)))

    def _negate(self, test: ast.expr) -> None:
        self._conditions.add(test)
        self._add("condition", test, f"(not ({self._text.of(test)}))")

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self._negate(node.test)
        for inner in node.body:
            if isinstance(inner, ast.Return) and not _yields(inner):
                self._add("early return", inner, "pass")
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        # The negation of a whole condition is another operator's.
        if len(node.ops) == 1 and (
            isinstance(node.ops[0], _ORDERING) or node not in self._conditions
        ):
            self._shift(node, node.ops[0])
        self.generic_visit(node)

    def _shift(self, node: ast.Compare, operator: ast.cmpop) -> None:
        left, right = self._text.span(node.left)[1], self._text.span(node.comparators[0])[0]
        between = self._text.source[left:right]
        now = {ast.NotIn: "not in", ast.IsNot: "is not"}.get(type(operator))
        now = now or {v: k for k, v in _PLAIN.items()}.get(type(operator), "")
        at = between.find(now)
        if at >= 0 and now:
            start = left + at
            self.found.append(
                ("comparison", Edit(start, start + len(now), _SHIFTED[type(operator)]))
            )

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        texts = [f"({self._text.of(value)})" for value in node.values]
        other = " or " if isinstance(node.op, ast.And) else " and "
        self._add("and/or", node, f"({other.join(texts)})")
        same = " and " if isinstance(node.op, ast.And) else " or "
        for left_out in range(len(texts)):
            kept = texts[:left_out] + texts[left_out + 1 :]
            self._add("operand", node, f"({same.join(kept)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, int | float):
            self._add("constant", node, _other_number(node))

    def visit_Expr(self, node: ast.Expr) -> None:
        value = node.value
        awaited = isinstance(value, ast.Await)
        call = value.value if isinstance(value, ast.Await) else value
        if isinstance(call, ast.Call) and not _yields(node):
            if _is_logging(call):
                return
            self._add("await" if awaited else "call", node, "pass")
        if not isinstance(value, ast.Constant):
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        # The texts of an error are left alone.
        self._add("raise", node, "pass")

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave it alone: it is there for the type checker."""

    def visit_Call(self, node: ast.Call) -> None:
        if not _is_logging(node):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts alone."""

    def visit_arguments(self, node: ast.arguments) -> None:
        """Leave the defaults of inner functions alone."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        if not isinstance(node.slice, ast.Constant):
            self.visit(node.slice)


_PLAIN: dict[str, type[ast.cmpop]] = {
    "<=": ast.LtE,
    "<": ast.Lt,
    ">=": ast.GtE,
    ">": ast.Gt,
    "==": ast.Eq,
    "!=": ast.NotEq,
    "in": ast.In,
    "is": ast.Is,
}


def _is_logging(call: ast.Call) -> bool:
    function = call.func
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id in _LOGGERS


def _yields(node: ast.stmt) -> bool:
    return any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(node))


def _other_number(node: ast.Constant) -> str:
    value = node.value
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        # Whether a bound is 500 or 501 matters to nobody; whether it is kept does.
        return str(value + 1 if value < _SMALL else value * 2)
    assert isinstance(value, float)
    return repr(value * 2 if value else 1.0)


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.Constant]]:
    """Yield the numbers at the top of a module that only its functions read."""
    read_outside = _names_read_outside_functions(tree)
    for node in tree.body:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)):
            continue
        target, value = node.targets[0], node.value
        is_number = isinstance(value.value, int | float) and not isinstance(value.value, bool)
        if isinstance(target, ast.Name) and is_number and target.id not in read_outside:
            yield target.id, value


def _names_read_outside_functions(tree: ast.Module) -> set[str]:
    inside: set[ast.AST] = set()
    for _, function in functions(tree):
        for statement in function.body:
            inside.update(ast.walk(statement))
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in inside
    }


def span_of(source: str) -> dict[str, tuple[int, int]]:
    """Return where each function of a source starts and ends."""
    text = _Text(source)
    return {name: text.span(node) for name, node in functions(ast.parse(source))}
