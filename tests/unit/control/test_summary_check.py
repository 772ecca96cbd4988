"""`hermes doctor` says when what memory is set to learn waits for a model that may sum up."""

from pathlib import Path

import msgspec
import pytest

from hermes.config import Settings, load
from hermes.control.doctor import model_checks
from hermes.control.models import ModelLine

CLOUD = ModelLine(
    provider="openai",
    model="gpt-4o-mini",
    available=True,
    problem=None,
    local=False,
    demonstration=False,
    chat=True,
    abilities=(),
    context_tokens=128_000,
    price=None,
)
HOUSE = msgspec.structs.replace(CLOUD, provider="ollama", local=True)
DEMO = msgspec.structs.replace(CLOUD, provider="local", local=True, demonstration=True)
LEARNS = {"HERMES_MEMORY__EXTRACT": "true", "OPENAI_API_KEY": "not-a-real-key"}


def waits(settings: Settings, *lines: ModelLine) -> list[str]:
    return [check.fix or "" for check in model_checks(settings, lines) if "sum up" in check.what]


@pytest.mark.req("P3", "W7")
def test_p3_learning_that_waits_for_a_setting_is_reported(tmp_path: Path) -> None:
    fix = "set routing.cloud_summaries: true, or name a model in models.summaries"

    assert waits(load(LEARNS, tmp_path).settings, CLOUD, DEMO) == [fix]


@pytest.mark.req("P3", "W7")
@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({"HERMES_MEMORY__EXTRACT": "false"}, (CLOUD,)),
        ({"HERMES_ROUTING__CLOUD_SUMMARIES": "true"}, (CLOUD,)),
        ({"HERMES_MODELS__SUMMARIES": "openai:gpt-4o-mini"}, (CLOUD,)),
        ({}, (CLOUD, HOUSE)),
        ({}, (DEMO,)),
    ],
)
def test_p3_nothing_is_reported_where_a_model_may_sum_up(
    tmp_path: Path, more: dict[str, str], lines: tuple[ModelLine, ...]
) -> None:
    assert waits(load({**LEARNS, **more}, tmp_path).settings, *lines) == []
