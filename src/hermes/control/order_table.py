"""Makes the rows of the table of operator orders out of functions: what each asks, and who gives it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import Parameter, signature
from typing import Any, Final, Required, TypedDict, Unpack, cast, overload

import msgspec

from hermes.control.operations import Operations
from hermes.control.order import Actor, AnyOrder, Method, NoFields, Order, Report, Request
from hermes.ports.access import OperatorRole

# Parameters of functions that want to know who gives the order: which credential, in which role.
_OF_ACTOR: Final[Mapping[str, Callable[[Actor], str]]] = {
    "maker": lambda actor: actor.credential,
    "role": lambda actor: actor.role,
}


class _Audit(TypedDict, total=False):
    """What the audit log keeps of an order; the fields of `Order` say more."""

    changes: bool
    shows: bool
    targets: tuple[str, ...]
    result_targets: tuple[str, ...]
    result_models: tuple[str, ...]
    result_names: tuple[str, ...]


class _Row(_Audit, total=False):
    """What a row has beside its name, its role and its function; one method has its path."""

    get: str
    post: str
    put: str
    patch: str
    delete: str
    summary: Required[str]


def make_order(
    name: str,
    least: OperatorRole,
    run: Callable[..., Awaitable[Any]],
    *,
    get: str = "",
    post: str = "",
    put: str = "",
    patch: str = "",
    delete: str = "",
    summary: str,
    **audited: Unpack[_Audit],
) -> AnyOrder:
    """Return the order that a method runs; raises `TypeError` if it could never be given."""
    paths = {"GET": get, "POST": post, "PUT": put, "PATCH": patch, "DELETE": delete}
    given = [(method, path) for method, path in paths.items() if path]
    if len(given) != 1:
        raise TypeError(f"{name} needs a path, of one method")
    parameters = tuple(signature(run).parameters.values())[1:]
    told = [one.name for one in parameters if one.name in _OF_ACTOR]
    request = _request_of(name, parameters)
    owner, _, method = run.__qualname__.rpartition(".")

    def give(operations: Operations, asked: Any, actor: Actor) -> Awaitable[Any]:
        part = operations.part(owner, wanted_by=name)
        who = {name: _OF_ACTOR[name](actor) for name in told}
        asks = () if request is NoFields else (asked,)
        done: Awaitable[Any] = getattr(part, method)(*asks, **who)
        return done

    return Order(
        name=name,
        least=least,
        method=cast("Method", given[0][0]),
        path=given[0][1],
        request=request,
        report=signature(run).return_annotation,
        run=give,
        summary=summary,
        **audited,
    )


def _request_of(name: str, parameters: Iterable[Parameter]) -> type[msgspec.Struct]:
    """Return the type of the first required parameter; nobody could give a second one."""
    required = [one for one in parameters if one.default is one.empty and one.name not in _OF_ACTOR]
    if len(required) > 1:
        raise TypeError(f"the function of {name} takes `{required[1].name}`, which no request has")
    kind = required[0].annotation if required else NoFields
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        raise TypeError(f"the request of {name} is {kind!r}, and not a struct")
    return kind


class OrderTable:
    """Orders as they are added, one row after the other."""

    def __init__(self) -> None:
        self.rows: list[AnyOrder] = []

    # Any: a function is a method of one of the parts of `Operations`.
    @overload
    def row(
        self,
        name: str,
        least: OperatorRole,
        run: Callable[[Any], Awaitable[Report]],
        **row: Unpack[_Row],
    ) -> Order[NoFields, Report]: ...
    @overload
    def row(
        self,
        name: str,
        least: OperatorRole,
        run: Callable[[Any, Request], Awaitable[Report]],
        **row: Unpack[_Row],
    ) -> Order[Request, Report]: ...
    @overload
    def row(
        self,
        name: str,
        least: OperatorRole,
        run: Callable[[Any, Request, str], Awaitable[Report]],
        **row: Unpack[_Row],
    ) -> Order[Request, Report]: ...
    def row(
        self,
        name: str,
        least: OperatorRole,
        run: Callable[..., Awaitable[Any]],
        **row: Unpack[_Row],
    ) -> AnyOrder:
        """Add a row to the table; one of its methods has its path."""
        order = make_order(name, least, run, **row)
        self.rows.append(order)
        return order
