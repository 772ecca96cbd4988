"""`/search` alone: what it says where not everything could be looked at."""

from dataclasses import dataclass, field

import pytest

from hermes.config import Settings
from hermes.pipeline.commands.search import tell_search
from hermes.ports.search import SearchAsk, SearchResult
from tests.unit.pipeline.stage_parts import Context, make_turn


@dataclass
class Search:
    """Finds what it was given."""

    result: SearchResult

    async def find(self, _ask: SearchAsk) -> SearchResult:
        return self.result


@dataclass
class Services:
    search: Search
    settings: Settings = field(default_factory=Settings)
    store: None = None


@pytest.mark.parametrize(
    ("result", "is_all"),
    [
        (SearchResult(), True),
        (SearchResult(is_complete=False), False),
        (SearchResult(unread=2), False),
    ],
)
async def test_it_says_that_there_may_be_more(result: SearchResult, is_all: bool) -> None:
    ctx = Context(Services(Search(result)))

    # The type is wider than what is used here.
    told = await tell_search(make_turn(), ctx, "boat")  # type: ignore[arg-type]

    more = "" if is_all else "\nThere may be more: not everything could be looked at yet."
    assert told == f"Nothing was found.{more}"
