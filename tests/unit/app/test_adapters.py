"""Which embedder the configuration chooses for recall."""

import pytest

from hermes.app.adapters import make_embedder
from hermes.config import load
from hermes.providers.wordllama.model import is_installed


@pytest.mark.req("A12")
@pytest.mark.parametrize(
    ("settings", "is_made"),
    [
        ({}, False),
        ({"HERMES_MEMORY__EMBEDDER": "wordllama"}, True),
        ({"HERMES_MEMORY__EMBEDDER": "minilm"}, False),
        ({"HERMES_MEMORY__EMBEDDER": "wordllama", "HERMES_MEMORY__RECALL": "false"}, False),
    ],
)
def test_recall_has_the_small_embedder_only_if_it_is_named(
    settings: dict[str, str], *, is_made: bool
) -> None:
    made = make_embedder(load(settings, None).settings)

    assert (made is not None) == (is_made and is_installed())
