"""Models that somebody named, tiers, aliases and short names."""

import msgspec
import pytest

from hermes.errors import ProviderUnavailable
from hermes.routing.decide import make_plan
from hermes.routing.plan import CallNeeds, Candidate, DroppedProvider, Plan

KEY = {"ANTHROPIC_API_KEY": "k"}
HAIKU, SONNET = "claude-haiku-4-5-20251001", "claude-sonnet-4-6"


@pytest.mark.req("A19", "M1")
def test_the_strongest_word_wins_call_then_session_then_agent(offer, policy):
    offers = [offer("openai"), offer("house", local=True)]

    def first(ask: CallNeeds) -> Candidate:
        return make_plan(ask, offers, policy=policy()).candidates[0]

    said = CallNeeds(session_model="openai:b", default_model="openai:c", tier="free")
    named = msgspec.structs.replace(said, model="openai:a")
    assert first(named) == Candidate("openai", "a", "explicit model openai:a")
    assert first(said).rule == "session override openai:b"
    assert first(msgspec.structs.replace(said, model="auto")) == first(said)
    assert first(CallNeeds(default_model="openai:c")).rule == "configured model openai:c"
    assert first(CallNeeds(model="auto", session_model="auto")).provider == "house"


@pytest.mark.req("M1")
def test_a_named_model_is_the_only_candidate(offer, policy):
    offers = [offer("openai"), offer("gemini")]

    plan = make_plan(CallNeeds(model="openai", tools=True), offers, policy=policy())

    assert plan == Plan(
        (Candidate("openai", "openai-1", "explicit model openai"),),
        (DroppedProvider("gemini", "another was named"),),
    )


@pytest.mark.req("M1", "A19")
@pytest.mark.parametrize(
    ("named", "candidate"),
    [
        ("gpt-9", Candidate("openai", "gpt-9", "explicit model gpt-9")),
        ("llama3.2:3b", Candidate("house", "llama3.2:3b", "explicit model llama3.2:3b")),
        (SONNET, Candidate("anthropic", SONNET, f"explicit model {SONNET}")),
        (
            "claude-sonnet",
            Candidate("anthropic", SONNET, f"explicit model claude-sonnet -> {SONNET}"),
        ),
        ("demo", Candidate("demo", "demo-1", "explicit model demo")),
        ("local", Candidate("house", "llama3.2:3b", "explicit model local")),
    ],
)
def test_a_model_can_be_named_by_id_short_name_or_provider(offer, policy, named, candidate):
    offers = [
        offer("openai", model="gpt-9"),
        offer("anthropic", model=HAIKU),
        offer("house", model="llama3.2:3b", local=True),
        offer("demo", demo=True, local=True),
    ]

    assert make_plan(CallNeeds(model=named), offers, policy=policy(**KEY)).candidates == (
        candidate,
    )


@pytest.mark.req("M2")
def test_a_named_model_that_cannot_be_used_is_an_error_never_another_model(offer, policy):
    away = offer("openai", available=False, problem="connection refused")

    with pytest.raises(ProviderUnavailable, match=r"'openai:x' cannot be used now \(openai: conn"):
        make_plan(CallNeeds(model="openai:x"), [away, offer("gemini")], policy=policy())
    with pytest.raises(ProviderUnavailable, match=r"cannot be used now \(openai: offline mode\)"):
        make_plan(CallNeeds(model="openai:x"), [offer("openai")], policy=policy("offline: true"))
    with pytest.raises(ProviderUnavailable, match="known providers: openai; name one of them"):
        make_plan(CallNeeds(model="nonsense:x"), [away], policy=policy())


@pytest.mark.req("A19")
@pytest.mark.parametrize(
    ("tier", "models"),
    [
        ("free", [HAIKU]),
        ("starter", [HAIKU, "house-1"]),
        ("pro", [SONNET]),
        ("venue-growth", [SONNET, HAIKU]),
    ],
)
def test_a_tier_walks_its_chain_instead_of_the_tree(offer, policy, tier, models):
    offers = [offer("openai"), offer("anthropic", model=HAIKU), offer("house", local=True)]

    plan = make_plan(CallNeeds(prompt="Hello", tier=tier), offers, policy=policy(**KEY))

    assert [one.model for one in plan.candidates] == models
    assert plan.candidates[0].rule.startswith(f"tier {tier}, 1 of {len(models)}: claude-")
    assert DroppedProvider("openai", f"not in the chain of tier {tier}") in plan.dropped


@pytest.mark.req("A19")
def test_chains_and_short_names_are_configuration(offer, policy):
    yaml = """
    routing:
      tiers: {gold: [best, openai]}
      models: {best: "openai:gpt-best"}
    """
    plan = make_plan(CallNeeds(tier="gold"), [offer("openai")], policy=policy(yaml))

    assert plan.candidates == (
        Candidate("openai", "gpt-best", "tier gold, 1 of 2: best -> openai:gpt-best"),
        Candidate("openai", "openai-1", "tier gold, 2 of 2: openai"),
    )


@pytest.mark.req("A23", "A19")
def test_a_chain_skips_what_has_no_tools_or_no_provider_and_says_so(offer, policy):
    house = offer("house", local=True, tools=False)

    with pytest.raises(ProviderUnavailable) as refused:
        make_plan(CallNeeds(tier="starter", tools=True), [house], policy=policy())

    assert f"claude-haiku: no provider serves {HAIKU}; set ANTHROPIC_API_KEY" in str(refused.value)
    assert "house: cannot call tools, and tools are in play" in str(refused.value)


@pytest.mark.req("A19")
def test_a_tier_whose_chain_is_empty_ends_at_the_demonstration_model(offer, policy):
    offers = [offer("openai"), offer("local", demo=True, local=True)]

    plan = make_plan(CallNeeds(tier="starter"), offers, policy=policy())

    assert [one.provider for one in plan.candidates] == ["local"]
    assert plan.candidates[0].rule == "last resort: the demonstration model"
    assert DroppedProvider("openai", "not in the chain of tier starter") in plan.dropped


@pytest.mark.req("A19")
def test_an_unknown_tier_is_an_error_with_its_fix(offer, policy):
    with pytest.raises(ProviderUnavailable) as refused:
        make_plan(CallNeeds(tier="gold"), [offer("openai")], policy=policy())

    assert str(refused.value) == (
        "the tier 'gold' is not one of routing.tiers: free, starter, pro; "
        "add routing.tiers.gold, or change the person's tier"
    )


TWO = """
providers:
  subscription: {kind: anthropic, base_url: "https://api.anthropic.com", oauth_token: t}
"""


@pytest.mark.req("P4")
@pytest.mark.parametrize(
    ("yaml", "environ", "alias", "provider", "told"),
    [
        ("", KEY, "claude_api", "anthropic", "anthropic by its API key"),
        ("", KEY, "claude_pro", "anthropic", "anthropic by its API key"),
        (
            "",
            {"ANTHROPIC_AUTH_TOKEN": "t"},
            "claude_pro",
            "anthropic",
            "anthropic by its OAuth token",
        ),
        (TWO, KEY, "claude_pro", "subscription", "subscription by its OAuth token"),
        (TWO, KEY, "claude_api", "anthropic", "anthropic by its API key"),
        (TWO, KEY, "claude", "anthropic", "anthropic by its API key"),
    ],
)
def test_aliases_lead_to_the_provider_that_has_the_credential(
    offer, policy, yaml, environ, alias, provider, told
):
    offers = [offer("anthropic"), offer("subscription")]

    plan = make_plan(CallNeeds(model=alias), offers, policy=policy(yaml, **environ))

    assert plan.candidates == (
        Candidate(provider, f"{provider}-1", f"explicit model {alias} -> {told}"),
    )


@pytest.mark.req("P4")
def test_a_providers_own_name_is_never_taken_for_an_alias(offer, policy):
    yaml = "providers: {claude: {kind: anthropic, base_url: 'http://127.0.0.1:1'}}"

    plan = make_plan(
        CallNeeds(model="claude:x"),
        [offer("anthropic"), offer("claude")],
        policy=policy(yaml, **KEY),
    )

    assert plan.candidates == (Candidate("claude", "x", "explicit model claude:x"),)
