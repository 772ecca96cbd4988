"""Errors of the tree as HTTP answers."""

import json

import pytest

from hermes.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    HermesError,
    LeaseLost,
    NotFound,
    Overloaded,
    Refused,
    StorageFull,
    StoreError,
    TooLarge,
    Unauthenticated,
)
from hermes.http.errors import error_response, status_of


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BadRequest("x"), 400),
        (Refused("x"), 400),
        (Unauthenticated("x"), 401),
        (Forbidden("x"), 403),
        (NotFound("x"), 404),
        (Conflict("x"), 409),
        (TooLarge("x"), 413),
        (Overloaded("x"), 503),
        (StorageFull("x"), 503),
        (StoreError("x"), None),
        (LeaseLost("x"), None),
        (HermesError("x"), None),
    ],
)
def test_each_error_has_its_status_and_inner_ones_none(
    error: HermesError, status: int | None
) -> None:
    assert status_of(error) == status


@pytest.mark.req("J2")
@pytest.mark.parametrize(("seconds", "header"), [(0.0, "1"), (7.2, "8"), (60.0, "60")])
def test_a_full_gateway_names_whole_seconds(seconds: float, header: str) -> None:
    assert error_response(Overloaded("full", seconds)).headers == {"retry-after": header}


@pytest.mark.req("A8")
def test_the_body_names_the_refusal() -> None:
    answer = error_response(Conflict("taken"), refusal="r_1")
    assert json.loads(answer.body) == {
        "error": {"code": "conflict", "message": "taken", "refusal": "r_1"}
    }
