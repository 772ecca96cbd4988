"""The soul: which system blocks an agent speaks with."""

import pytest

from hermes.config import AgentSettings
from hermes.memory.soul import soul_blocks


@pytest.mark.req("M4")
def test_stacked_blocks_replace_the_single_prompt_and_empty_ones_are_skipped() -> None:
    agent = AgentSettings(system_blocks=("persona", "", "  ", "policy"), system_prompt="single")

    assert soul_blocks(agent) == ("persona", "policy")


@pytest.mark.req("M4")
def test_stacked_blocks_that_are_all_empty_mean_no_system_message() -> None:
    assert soul_blocks(AgentSettings(system_blocks=("", " "), system_prompt="single")) == ()


@pytest.mark.req("M4")
def test_without_blocks_the_single_prompt_counts() -> None:
    assert soul_blocks(AgentSettings(system_prompt="single")) == ("single",)


@pytest.mark.req("A10")
def test_without_any_prompt_the_agent_has_a_name_a_role_and_a_tone() -> None:
    agent = AgentSettings(name="Iris", role="a guide", tone="professional")

    assert soul_blocks(agent) == ("You are Iris, a guide. Keep a precise, professional tone.",)
