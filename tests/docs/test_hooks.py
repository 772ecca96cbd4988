"""The page of hooks has a heading for every event that there is."""

import pytest

from hermes.ports.hooks import EVENTS
from tests.docs.markdown import ROOT, headings_of


@pytest.mark.req("W36")
def test_every_event_has_a_heading_and_no_other() -> None:
    found = {heading.strip("`") for heading in headings_of(ROOT / "docs" / "hooks.md")}

    assert {name for name in found if ":" in name} == {*EVENTS, "command:NAME"}
