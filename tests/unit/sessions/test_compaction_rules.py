"""G5: when a conversation is summed up, for everybody and for one agent."""

import pytest

from hermes.config import AgentSettings, CompactionSettings, Settings
from hermes.config.model_settings import AgentCompactionSettings
from hermes.sessions.compaction_rules import is_on_anywhere, rules_of

OWN = AgentSettings(compaction=AgentCompactionSettings(enabled=False, at=0.5, model="house:small"))
SETTINGS = Settings(agents={"main": AgentSettings(), "calm": OWN})


@pytest.mark.req("G5")
def test_it_is_due_at_its_share_of_the_room_or_at_the_most_tokens() -> None:
    rules = rules_of(Settings(compaction=CompactionSettings(at=0.5, max_tokens=900)), "main")

    assert [rules.due_tokens(room) for room in (1_000, 1_001, 1_000_000)] == [500, 501, 900]
    assert rules.kept_tokens(1_000_000, said=9_000) == 270


@pytest.mark.req("G5")
def test_what_every_prompt_has_is_not_counted_as_conversation() -> None:
    rules = rules_of(Settings(compaction=CompactionSettings(at=0.5, keep=0.25)), "main")

    assert [rules.due_tokens(1_600, fixed=one) for one in (0, 800, 1_600)] == [800, 1_200, 1_600]
    # Half of what was said stays, at most a quarter of the room.
    assert [rules.kept_tokens(1_600, said=one) for one in (200, 2_000)] == [100, 400]
    assert [rules.is_worthwhile(1_600, said=one) for one in (198, 200)] == [False, True]
    assert [rules.summary_limit(one) for one in (60, 6_000, 60_000)] == [100, 1_000, 1_500]


@pytest.mark.req("G5")
def test_an_agent_changes_what_it_names_and_follows_the_rest() -> None:
    calm, main = rules_of(SETTINGS, "calm"), rules_of(SETTINGS, "main")

    assert (calm.on, calm.at, calm.model, calm.keep) == (False, 0.5, "house:small", main.keep)
    assert (main.on, main.at, main.model) == (True, 0.7, None)


@pytest.mark.req("G5")
def test_one_agent_is_enough_for_jobs_to_run() -> None:
    on = AgentSettings(compaction=AgentCompactionSettings(enabled=True))
    off = CompactionSettings(enabled=False)

    assert is_on_anywhere(Settings(compaction=off, agents={"main": AgentSettings(), "a": on}))
    assert not is_on_anywhere(Settings(compaction=off))
