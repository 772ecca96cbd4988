"""A function with hints and a docstring is a tool: what the model is told, and how it is called."""

import asyncio
import threading
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, Optional, TypedDict

import msgspec
import pydantic
import pytest

from hermes.errors import ConfigurationError
from hermes.schema.checker import checker_of
from hermes.tools import ToolContext, ToolError, tool
from hermes.tools.function_tool import FunctionTool
from tests.unit.tools.tool_runs import CONTEXT, ran


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Guest(msgspec.Struct):
    """Somebody who comes."""

    name: str
    friend: Optional["Guest"] = None


@dataclass
class Place:
    street: Annotated[str, "Street and number."]
    floor: int = 0


class Wish(TypedDict, total=False):
    text: Annotated[str, "In their words."]


class Card(pydantic.BaseModel):
    number: str = pydantic.Field(min_length=4, description="Digits only.")
    title: str = "none"


def parameters(made: FunctionTool) -> dict[str, Any]:
    return msgspec.json.decode(made.spec.parameters)


def properties(made: FunctionTool) -> dict[str, Any]:
    return parameters(made)["properties"]


@pytest.mark.req("A17")
def test_a_model_is_told_the_name_the_words_and_the_types() -> None:
    @tool
    def find_venue(
        area: str,
        limit: int = 5,
        kinds: list[Literal["bar", "cafe"]] | None = None,
        *,
        open_now: bool = False,
    ) -> str:
        """Find places to go.

        Near an area, best ones first.

        Args:
            area: Where to look.
            limit: How many
                at most.

        Returns:
            Names.
        """
        return area

    assert find_venue.spec.name == "find_venue"
    assert find_venue.spec.description == "Find places to go.\n\nNear an area, best ones first."
    assert parameters(find_venue) == {
        "type": "object",
        "properties": {
            "area": {"type": "string", "description": "Where to look."},
            "limit": {"type": "integer", "description": "How many at most.", "default": 5},
            "kinds": {
                "anyOf": [
                    {"type": "array", "items": {"type": "string", "enum": ["bar", "cafe"]}},
                    {"type": "null"},
                ]
            },
            "open_now": {"type": "boolean", "default": False},
        },
        "required": ["area"],
        "additionalProperties": False,
    }


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (float, {"type": "number"}),
        (Any, {}),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (Literal[1, 2], {"enum": [1, 2]}),
        (Size, {"enum": ["large", "small"], "type": "string"}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (date, {"type": "string", "format": "date"}),
        (Annotated[str, "Why."], {"type": "string", "description": "Why."}),
        (
            list[Annotated[str, "A word."]],
            {"type": "array", "items": {"type": "string", "description": "A word."}},
        ),
        (
            Annotated[int, pydantic.Field(ge=1, le=9, description="Rank.")],
            {"type": "integer", "minimum": 1, "maximum": 9, "description": "Rank."},
        ),
        (
            Annotated[str, msgspec.Meta(pattern="^x", description="X.")],
            {"type": "string", "pattern": "^x", "description": "X."},
        ),
        (
            Place,
            {
                "type": "object",
                "properties": {
                    "street": {"type": "string", "description": "Street and number."},
                    "floor": {"type": "integer", "default": 0},
                },
                "required": ["street"],
                "additionalProperties": False,
            },
        ),
        (
            Wish,
            {
                "type": "object",
                "properties": {"text": {"type": "string", "description": "In their words."}},
                "required": [],
                "additionalProperties": False,
            },
        ),
        (
            Card,
            {
                "type": "object",
                "properties": {
                    "number": {"type": "string", "minLength": 4, "description": "Digits only."},
                    "title": {"type": "string", "default": "none"},
                },
                "required": ["number"],
                "additionalProperties": False,
            },
        ),
    ],
    ids=str,
)
def test_every_kind_of_hint_has_its_schema(hint: Any, schema: dict[str, Any]) -> None:
    def act(value):
        """Do it."""

    act.__annotations__["value"] = hint

    made = tool(act)

    assert properties(made)["value"] == schema
    checker_of(bytes(made.spec.parameters))


@pytest.mark.req("A17")
class Heading(pydantic.BaseModel):
    """A heading."""

    words: dict[str, str] = {"title": "x"}


def test_a_default_is_told_as_it_is_whatever_its_keys_are_called() -> None:
    @tool
    def show(heading: Heading) -> str:
        """Show it."""
        return str(heading)

    told = properties(show)["heading"]["properties"]["words"]
    assert told["default"] == {"title": "x"}


def test_a_type_that_contains_itself_is_defined_once() -> None:
    @tool
    def invite(guest: Guest) -> str:
        """Invite somebody."""
        return guest.name

    whole = parameters(invite)
    inner = {"anyOf": [{"$ref": "#/$defs/Guest"}, {"type": "null"}]}
    assert whole["properties"]["guest"]["properties"]["friend"] == inner
    assert whole["$defs"]["Guest"]["properties"]["friend"] == inner
    assert checker_of(bytes(invite.spec.parameters)).fits(
        {"guest": {"name": "a", "friend": {"name": "b"}}}
    )


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    "text",
    [
        "Do it.\n\nArgs:\n    city (str): Which one,\n        in words.\n    day: When.\n",
        "Do it.\n\nParameters\n----------\ncity : str\n    Which one,\n    in words.\nday\n    When.\n",
        "Do it.\n\n:param str city: Which one,\n    in words.\n:param day: When.\n:returns: x\n",
    ],
    ids=["google", "numpy", "rest"],
)
def test_the_three_styles_of_docstrings_are_read(text: str) -> None:
    def act(city: str, day: str) -> str:
        return city + day

    act.__doc__ = text
    made = tool(act)

    assert made.spec.description == "Do it."
    told = {name: place["description"] for name, place in properties(made).items()}
    assert told == {"city": "Which one, in words.", "day": "When."}


@pytest.mark.req("A17")
def test_what_an_annotation_says_counts_before_the_docstring_and_that_before_the_type() -> None:
    @tool
    def act(city: Annotated[str, "From the hint."], guest: Guest, other: Guest) -> str:
        """Do it.

        Args:
            city: From the docstring.
            guest: From the docstring.
        """
        return city

    told = {name: place["description"] for name, place in properties(act).items()}
    assert told == {
        "city": "From the hint.",
        "guest": "From the docstring.",
        "other": "Somebody who comes.",
    }


@pytest.mark.req("A17")
async def test_a_function_gets_its_types_and_the_context_that_no_model_sees() -> None:
    seen: list[object] = []

    @tool
    async def act(
        size: Size,
        guest: Guest,
        place: Place,
        card: Card,
        day: date,
        context: ToolContext,
        wish: Wish | None = None,
        pair: tuple[int, str] = (1, "a"),
    ) -> None:
        """Do it."""
        seen.extend([size, guest, place, card, day, context, wish, pair])

    result = await ran(
        act,
        {
            "size": "large",
            "guest": {"name": "Ann"},
            "place": {"street": "x"},
            "card": {"number": "1234"},
            "day": "2024-05-31",
        },
    )

    assert (result.text, result.failed) == ("done", False)
    assert seen == [
        Size.LARGE,
        Guest("Ann"),
        Place("x"),
        Card(number="1234"),
        date(2024, 5, 31),
        CONTEXT,
        None,
        (1, "a"),
    ]
    assert "context" not in properties(act)


@pytest.mark.req("A17")
async def test_a_plain_function_runs_in_a_thread_of_its_own() -> None:
    @tool
    def act() -> str:
        """Do it."""
        return threading.current_thread().name

    assert (await ran(act)).text == "tool act"
    assert act() == threading.current_thread().name


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (None, "done"),
        ([1, {"a": 2.5}], '[1,{"a":2.5}]'),
        (Guest("Ann"), '{"name":"Ann","friend":null}'),
        (Place("x"), '{"street":"x","floor":0}'),
        (Card(number="1234"), '{"number":"1234","title":"none"}'),
    ],
)
async def test_what_a_function_returns_becomes_text(value: object, text: str) -> None:
    @tool
    def act() -> object:
        """Do it."""
        return value

    assert (await ran(act)).text == text


@pytest.mark.req("A17")
async def test_failures_are_told_to_the_model() -> None:
    @tool
    def refuse() -> str:
        """Refuse."""
        raise ToolError("there is no city called Atlantis")

    @tool
    def crash() -> str:
        """Crash."""
        raise KeyError("/etc/secret")

    @tool
    def late() -> str:
        """Time out inside."""
        raise TimeoutError

    @tool
    def odd() -> object:
        """Return what is no text."""
        return object()

    told = [(await ran(made)) for made in (refuse, crash, late, odd)]

    assert all(result.failed for result in told)
    assert [result.text for result in told] == [
        "there is no city called Atlantis",
        "the tool crash crashed: KeyError",
        "the tool late crashed: TimeoutError",
        "the tool odd returned a object, which is neither text nor JSON",
    ]


@pytest.mark.req("A17")
async def test_what_a_tool_cancels_of_its_own_does_not_cancel_the_turn() -> None:
    begun = asyncio.Event()

    @tool
    async def cancel() -> str:
        """Wait for something that is cancelled."""
        helper = asyncio.create_task(asyncio.sleep(60))
        helper.cancel()
        await helper
        return "never"

    @tool
    async def wait() -> str:
        """Wait for something that never comes."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    crashed = await ran(cancel)
    stopped = asyncio.create_task(ran(wait))
    await begun.wait()
    stopped.cancel()

    assert (crashed.failed, crashed.text) == (True, "the tool cancel crashed: CancelledError")
    with pytest.raises(asyncio.CancelledError):
        await stopped


@pytest.mark.req("A9")
async def test_a_function_that_hangs_in_its_thread_is_given_up() -> None:
    release = threading.Event()

    @tool(timeout_s=0.01)
    def hang() -> str:
        """Hang."""
        release.wait()
        return "late"

    result = await ran(hang)
    release.set()

    assert result.failed
    assert "within 0.01 s" in result.text


def _no_docstring(city: str) -> str:
    return city


def _only_arguments(city: str) -> str:
    """Args:
    city: Where.
    """
    return city


def _no_hint(city) -> str:
    """Do it."""
    return city


def _stars(*cities: str) -> str:
    """Do it."""
    return "".join(cities)


def _double_stars(**more: str) -> str:
    """Do it."""
    return "".join(more)


def _by_position(city: str, /) -> str:
    """Do it."""
    return city


def _odd_type(lock: threading.Event) -> str:
    """Do it."""
    return str(lock)


def _two_models(value: Card | Place) -> str:
    """Do it."""
    return str(value)


def _wrong_name(city: str) -> str:
    """Do it.

    Args:
        town: Where.
    """
    return city


def _unknown_type(city: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821
    """Do it."""
    return str(city)


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (_no_docstring, "has no description"),
        (_only_arguments, "has no description"),
        (_no_hint, "'city' of the tool .* has no type hint"),
        (_stars, r"takes \*cities"),
        (_double_stars, r"takes \*\*more"),
        (_by_position, "positional-only"),
        (_odd_type, "the type of the argument 'lock' .* cannot be described to a model"),
        (_two_models, "the type of the argument 'value' .* cannot be described to a model"),
        (_wrong_name, "describes town, which is not one of its arguments"),
        (_unknown_type, "cannot be read .*Nowhere"),
    ],
)
def test_what_makes_no_tool_is_refused_where_it_stands(function: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem) as told:
        tool(function)

    assert f"{function.__name__} (" in str(told.value)
    assert "test_function_tool.py:" in str(told.value)


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    ("traits", "problem"),
    [
        ({"cancellable": True}, "nothing can stop a function in a thread"),
        ({"parallel": True, "needs_approval": True}, "asked one at a time"),
        ({"timeout_s": 0}, "more than 0 seconds"),
        ({"name": "two words"}, "names of 1 to 64 letters"),
        ({"intents": "food"}, "give a tuple of names"),
    ],
)
def test_traits_that_contradict_each_other_are_refused(
    traits: dict[str, Any], problem: str
) -> None:
    def act() -> str:
        """Do it."""
        return ""

    with pytest.raises(ConfigurationError, match=problem):
        tool(**traits)(act)


@pytest.mark.req("A17")
def test_traits_are_what_the_decorator_says() -> None:
    @tool(name="other", idempotent=True, cancellable=True, parallel=True, timeout_s=5)
    async def act() -> str:
        """Do it."""
        return ""

    assert act.spec.name == "other"
    assert (act.traits.idempotent, act.traits.cancellable, act.traits.parallel) == (True,) * 3
    assert act.traits.timeout_s == 5
    assert act.traits.runs_beside_others
