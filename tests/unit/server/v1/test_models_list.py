"""`/v1/models` in both shapes, with Anthropic's pages."""

import json

import pytest

from hermes.errors import BadRequest, NotFound
from hermes.server.v1.models_list import ListedModel, write_model, write_models

ANTHROPIC = {"anthropic-version": "2023-06-01"}
AUTO = ListedModel(id="auto", owner="hermes")
LARGE = ListedModel(
    id="cloud:large-1",
    owner="cloud",
    created=1700000000,
    display_name="Large 1",
    context_tokens=200_000,
)
MANY = [ListedModel(id=f"m{n}", owner="cloud") for n in range(45)]


@pytest.mark.req("P6", "M1")
def test_openai_clients_get_their_list() -> None:
    auto = {"id": "auto", "object": "model", "created": 0, "owned_by": "hermes"}
    large = {
        "id": "cloud:large-1",
        "object": "model",
        "created": 1700000000,
        "owned_by": "cloud",
        "name": "Large 1",
        "context_length": 200_000,
    }
    told = json.loads(write_models([AUTO, LARGE], {}, query={"limit": "1"}))
    assert told == {"object": "list", "data": [auto, large]}
    assert json.loads(write_model([AUTO, LARGE], {}, model_id="cloud:large-1")) == large


@pytest.mark.req("P6", "M1")
def test_anthropic_clients_get_theirs() -> None:
    auto = {
        "type": "model",
        "id": "auto",
        "display_name": "auto",
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": None,
        "max_tokens": None,
        "capabilities": None,
    }
    large = {
        **auto,
        "id": "cloud:large-1",
        "display_name": "Large 1",
        "created_at": "2023-11-14T22:13:20Z",
        "max_input_tokens": 200_000,
    }
    told = json.loads(write_models([AUTO, LARGE], ANTHROPIC, query={}))
    assert told == {
        "data": [auto, large],
        "has_more": False,
        "first_id": "auto",
        "last_id": "cloud:large-1",
    }
    assert json.loads(write_model([AUTO, LARGE], ANTHROPIC, model_id="cloud:large-1")) == large


@pytest.mark.req("P6")
@pytest.mark.parametrize(
    ("query", "first", "last", "more"),
    [
        ({}, "m0", "m19", True),
        ({"after_id": "m19"}, "m20", "m39", True),
        ({"after_id": "m39"}, "m40", "m44", False),
        ({"limit": "1000"}, "m0", "m44", False),
        ({"limit": "45"}, "m0", "m44", False),
        ({"limit": "44"}, "m0", "m43", True),
        ({"before_id": "m30", "limit": "10"}, "m20", "m29", True),
        ({"before_id": "m5"}, "m0", "m4", False),
        ({"after_id": "m44"}, None, None, False),
    ],
)
def test_anthropic_clients_turn_pages(
    query: dict[str, str], first: str | None, last: str | None, more: bool
) -> None:
    told = json.loads(write_models(MANY, ANTHROPIC, query=query))
    assert (told["first_id"], told["last_id"], told["has_more"]) == (first, last, more)


@pytest.mark.req("P6")
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"limit": "0"}, "limit is '0': expected a number from 1 to 1000"),
        ({"limit": "1001"}, "limit is '1001'"),
        ({"limit": "9" * 500}, "limit is '9{80}'"),
        ({"limit": "-1"}, "limit is '-1'"),
        ({"limit": "ten"}, "limit is 'ten'"),
        ({"after_id": "gone"}, "after_id is 'gone', which is not a model here"),
        ({"before_id": "gone"}, "before_id is 'gone'"),
    ],
)
def test_a_page_that_there_cannot_be_is_refused(query: dict[str, str], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        write_models(MANY, ANTHROPIC, query=query)


@pytest.mark.req("P6")
def test_a_model_that_there_is_not_is_not_found() -> None:
    with pytest.raises(NotFound, match="no model 'none': GET /v1/models lists"):
        write_model(MANY, {}, model_id="none")
