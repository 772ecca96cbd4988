"""`@tool`: turns a Python function with type hints and a docstring into a tool.

Implements `ports.tool.Tool`, and can still be called as a function. Who may use it, when it runs
and what happens with its result is decided elsewhere.
"""

import asyncio
import inspect
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar, overload

import msgspec

from hermes.errors import ConfigurationError, ToolError
from hermes.ports.provider import ToolSpec
from hermes.ports.tool import ToolContext, ToolTraits
from hermes.tools.hint_schema import as_json
from hermes.tools.signature import Function, place_of, read_signature

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DONE = "done"


class FunctionTool:
    """A function that a model may call."""

    def __init__(self, function: Function, *, name: str | None, traits: ToolTraits) -> None:
        self.place = place_of(function)
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function)
        self._signature = read_signature(function)
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self._spec = ToolSpec(
            _checked_name(name or function.__name__, self.place),
            self._signature.description,
            msgspec.Raw(self._signature.parameters),
        )
        self._traits = _checked_traits(traits, self.place, is_async=self._is_async)

    @property
    def spec(self) -> ToolSpec:
        """The description for the model."""
        return self._spec

    @property
    def traits(self) -> ToolTraits:
        """How the tool may be run."""
        return self._traits

    # Any: it takes and returns whatever the function does.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self._function(*args, **kwargs)

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Call the function with the model's arguments and return its result as text."""
        try:
            given = self._signature.read(arguments)
        except msgspec.DecodeError as error:
            raise ToolError(f"the arguments of {self._spec.name} do not fit: {error}") from error
        if self._signature.context is not None:
            given[self._signature.context] = context
        return _text(self._spec.name, await self._result(given))

    async def _result(self, given: dict[str, object]) -> object:
        if not self._is_async:
            return await in_thread(lambda: self._function(**given), name=self._spec.name)
        running: Awaitable[object] = self._function(**given)
        return await running


Decorate = Callable[[Function], FunctionTool]


@overload
def tool(function: Function, /) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str | None = None,
    idempotent: bool = False,
    cancellable: bool = False,
    needs_approval: bool = False,
    parallel: bool = False,
    timeout_s: float | None = None,
    intents: Sequence[str] = (),
    is_memory: bool = False,
) -> Decorate: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    idempotent: bool = False,
    cancellable: bool = False,
    needs_approval: bool = False,
    parallel: bool = False,
    timeout_s: float | None = None,
    intents: Sequence[str] = (),
    is_memory: bool = False,
) -> FunctionTool | Decorate:
    """Make a tool of a function: `@tool`, or `@tool(idempotent=True)` with its traits.

    The schema comes from the type hints, the description from the docstring. An argument with the
    type `ToolContext` is filled in by Hermes and never shown to the model. A function that is not
    `async` runs in a thread. Raises `ConfigurationError` for a function that cannot be a tool.
    """
    traits = ToolTraits(
        idempotent=idempotent,
        cancellable=cancellable,
        needs_approval=needs_approval,
        parallel=parallel,
        timeout_s=timeout_s,
        intents=tuple(intents),
        is_memory=is_memory,
    )
    if function is not None:
        return FunctionTool(function, name=name, traits=traits)
    return lambda decorated: FunctionTool(decorated, name=name, traits=traits)


def _checked_name(name: str, place: str) -> str:
    if NAME.fullmatch(name) is None:
        raise ConfigurationError(
            f"the tool {place} is named {name!r}, but models accept only names of 1 to 64 letters "
            "(a-z), digits, '_' and '-'; give it another name with @tool(name=...)"
        )
    return name


def _checked_traits(traits: ToolTraits, place: str, *, is_async: bool) -> ToolTraits:
    if traits.cancellable and not is_async:
        raise ConfigurationError(
            f"the tool {place} is declared cancellable, but nothing can stop a function in a "
            "thread; make it `async def`, or leave out cancellable=True"
        )
    if traits.parallel and traits.needs_approval:
        raise ConfigurationError(
            f"the tool {place} is declared parallel and needs_approval, but approvals are asked "
            "one at a time; leave out one of the two"
        )
    if any(len(name) == 1 for name in traits.intents):
        raise ConfigurationError(
            f"the tool {place} has intents={''.join(traits.intents)!r}; give a tuple of names, as in "
            "intents=('weather',)"
        )
    if traits.timeout_s is not None and not traits.timeout_s > 0:
        raise ConfigurationError(
            f"the tool {place} has timeout_s={traits.timeout_s}; give it more than 0 seconds"
        )
    return traits


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return _DONE
    try:
        return as_json(value).decode()
    except (TypeError, NotImplementedError, ValueError) as error:
        raise ToolError(
            f"the tool {name} returned a {type(value).__name__}, which is neither text nor JSON"
        ) from error


T = TypeVar("T")


async def in_thread(function: Callable[[], T], *, name: str) -> T:
    """Run `function` in a thread and return its result; cancelling does not stop the thread."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def settle(act: Callable[[], None]) -> None:
        if not done.done():
            act()

    def run() -> None:
        try:
            value = context.run(function)
        # Thread boundary: what the function raises is raised where it is awaited.
        except BaseException as error:  # noqa: BLE001
            problem = error
            _tell(loop, lambda: settle(lambda: done.set_exception(_raisable(problem))))
        else:
            _tell(loop, lambda: settle(lambda: done.set_result(value)))

    threading.Thread(target=run, name=f"tool {name}", daemon=True).start()
    return await done


def _tell(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    # If the loop was closed meanwhile, nobody waits for the result.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(act)


def _raisable(error: BaseException) -> BaseException:
    """Return an error that a future can hold: not `StopIteration`, and nothing that ends the
    process."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"the function ended with {type(error).__name__}")
