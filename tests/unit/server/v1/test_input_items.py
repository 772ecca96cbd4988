"""M1: items of a request are listed with all that OpenAI's own list has."""

from typing import Any

import msgspec
import pydantic
import pytest
from openai.types.responses import ResponseItem

from hermes.errors import BadRequest
from hermes.server.v1.input_items import write_input_items
from hermes.server.v1.stored_items import StoredItems, joined, read_items, split

ITEM: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(ResponseItem)
PIXEL = "data:image/png;base64,iVBORw0KGgo="
# Every kind of item that a request may hold, as short as it may be written.
GIVEN: list[Any] = [
    {"role": "developer", "content": "Be short."},
    {"role": "user", "content": "one"},
    {
        "role": "user",
        "content": [{"type": "text", "text": "two"}, {"type": "input_image", "image_url": PIXEL}],
    },
    {"role": "assistant", "content": "three"},
    {"type": "message", "role": "assistant", "content": [{"type": "input_text", "text": "four"}]},
    {"type": "reasoning", "summary": [], "encrypted_content": "sealed"},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "done"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "x"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": "done"},
]


def raws(*items: Any) -> tuple[msgspec.Raw, ...]:
    return tuple(msgspec.Raw(msgspec.json.encode(item)) for item in items)


def listed(*chain: StoredItems, **query: str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(write_input_items(chain, query))
    return found


@pytest.mark.req("M1")
def test_every_item_has_what_the_sdk_requires_and_an_id_of_its_own() -> None:
    items = listed(StoredItems("resp_1", raws(*GIVEN), ()), order="asc")["data"]

    for item in items:
        ITEM.validate_python(item)
    assert len({item["id"] for item in items}) == len(GIVEN)
    assert items[1] == {
        "id": "msg_1_in1",
        "type": "message",
        "status": "completed",
        "role": "user",
        "content": [{"type": "input_text", "text": "one"}],
    }


@pytest.mark.req("M1")
def test_what_an_item_says_of_itself_stays() -> None:
    own = {"type": "function_call", "id": "fc_9", "status": "incomplete", "call_id": "c"}

    (item,) = listed(StoredItems("resp_1", raws({**own, "name": "f", "arguments": ""}), ()))["data"]

    assert (item["id"], item["status"]) == ("fc_9", "incomplete")


@pytest.mark.req("M1")
def test_a_conversation_is_listed_up_to_the_input_of_its_last_response() -> None:
    said = {"type": "message", "id": "msg_a", "role": "assistant", "content": []}
    first = StoredItems("resp_1", raws({"role": "user", "content": "one"}), raws(said))
    second = StoredItems("resp_2", raws({"role": "user", "content": "two"}), raws(said))

    assert [item["id"] for item in listed(first, second)["data"]] == [
        "msg_2_in0",
        "msg_a",
        "msg_1_in0",
    ]


@pytest.mark.req("M1")
def test_pages_follow_one_another_in_both_orders() -> None:
    texts = [{"role": "user", "content": str(number)} for number in range(5)]
    stored = StoredItems("resp_1", raws(*texts), ())

    for order, names in (("asc", "01234"), ("desc", "43210")):
        first = listed(stored, order=order, limit="3")
        second = listed(stored, order=order, limit="3", after=first["last_id"])
        found = [item["content"][0]["text"] for item in first["data"] + second["data"]]
        assert "".join(found) == names
        assert (first["has_more"], second["has_more"]) == (True, False)
        last = listed(stored, order=order, after=second["last_id"])
        assert last == {
            "object": "list",
            "data": [],
            "first_id": None,
            "last_id": None,
            "has_more": False,
        }


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("name", "value"),
    [("limit", "0"), ("limit", "101"), ("limit", "1e1"), ("order", "up"), ("after", "msg_9")],
)
def test_a_page_that_does_not_exist_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(BadRequest, match=f"^{name} is"):
        listed(StoredItems("resp_1", raws(*GIVEN), ()), **{name: value})


@pytest.mark.req("M1")
def test_a_response_is_joined_as_it_was_before_it_was_split() -> None:
    response = {"id": "resp_1", "output": [{"type": "message"}], "tools": [{"name": "f"}]}
    given = raws({"role": "user", "content": "one"})

    items, answer = split("resp_1", msgspec.json.encode(response), given=given)

    assert msgspec.json.decode(joined(items, answer)) == response
    assert b"output" not in answer
    assert read_items(items) == StoredItems("resp_1", given, raws({"type": "message"}))
