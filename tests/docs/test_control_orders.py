"""The page with the fields of every order is what the gateway's routes take."""

import pytest

from hermes.control.orders import BY_NAME, ORDERS
from tests.docs.markdown import ROOT
from tools.control_page import page, unused


@pytest.mark.req("W7")
def test_the_page_is_the_generated_one() -> None:
    text = (ROOT / "docs" / "control-orders.md").read_text(encoding="utf-8")

    assert text == page(), (
        "docs/control-orders.md is old; run: python -m tools.control_page > docs/control-orders.md"
    )


@pytest.mark.req("W7")
def test_every_order_has_its_fields_explained_and_nothing_else_is() -> None:
    assert {one.name for one in ORDERS} == set(BY_NAME)
    assert unused() == set()
