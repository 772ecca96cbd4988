"""The routing settings: built-in entries that can be changed one by one, and names that lead
nowhere, which are refused at start with the fix.
"""

import pytest

pytestmark = pytest.mark.req("A19", "P3", "P4")


def test_the_built_in_tiers_models_and_aliases(load_home):
    routing = load_home().settings.routing

    assert dict(routing.tiers) == {
        "free": ("claude-haiku",),
        "starter": ("claude-haiku", "local"),
        "pro": ("claude-sonnet",),
    }
    assert dict(routing.models) == {
        "claude-haiku": "claude-haiku-4-5-20251001",
        "claude-sonnet": "claude-sonnet-4-6",
    }
    assert list(routing.aliases) == ["claude", "claude_pro", "claude_api"]
    assert (routing.local_first, routing.local_threshold) == (True, 1.0)


def test_one_entry_changes_and_the_others_stay(write, load_home):
    write(
        yaml="""
routing:
  tiers: {pro: [local]}
  models: {claude-haiku: "openai:gpt-4o-mini"}
  aliases: {fast: {provider: openai}}
  complexity: {code_weight: 0.9}
"""
    )

    routing = load_home().settings.routing

    assert routing.tiers["pro"] == ("local",)
    assert routing.tiers["free"] == ("claude-haiku",)
    assert routing.models["claude-haiku"] == "openai:gpt-4o-mini"
    assert routing.aliases["fast"].provider == "openai"
    assert routing.aliases["claude_pro"].credential == "oauth_token"
    assert routing.complexity.code_weight == 0.9
    assert routing.complexity.tokens_weight == 0.5


TARGETS = "expected a provider, an alias, a name of routing.models, provider:model or local"


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        (
            "agents: {main: {tier: prro}}",
            'config.yaml: agents.main.tier is "prro", expected one of the tiers: free, starter, '
            "pro; did you mean pro? Otherwise add routing.tiers.prro",
        ),
        (
            "routing: {tiers: {gold: [openai, opnai]}}",
            'config.yaml: routing.tiers.gold is ["openai", "opnai"], where opnai is wrong: '
            f"{TARGETS}; providers.opnai does not exist; did you mean openai? "
            "Otherwise add providers.opnai",
        ),
        (
            "routing: {task_routes: {deep_reasoning: {primary: claude_pro}}}",
            'config.yaml: routing.task_routes.deep_reasoning.primary is "claude_pro", '
            f"{TARGETS}; providers.anthropic does not exist; set ANTHROPIC_API_KEY, or name one "
            "of: openai, local",
        ),
        (
            "routing: {task_routes: {code_generation: {primary: openai, fallback: 'mine:x'}}}",
            'config.yaml: routing.task_routes.code_generation.fallback is "mine:x", '
            f"{TARGETS}; providers.mine does not exist; add providers.mine",
        ),
        (
            "routing: {task_routes: {code_generation: {primary: openai}}}\n"
            "providers: {openai: {enabled: false}}",
            'config.yaml: routing.task_routes.code_generation.primary is "openai", '
            "but providers.openai.enabled is false; enable providers.openai",
        ),
        (
            "routing: {task_routes: {code_generation: {fallback: openai}}}",
            "default: routing.task_routes.code_generation.primary is null, "
            f"{TARGETS}; set it, or remove code_generation",
        ),
        (
            "routing: {task_routes: {deep_reasonnig: {primary: openai}}}",
            'config.yaml: routing.task_routes.deep_reasonnig.primary is "openai", but '
            "deep_reasonnig is not a task type; expected one of batch_processing, code_generation, "
            "automation_pipeline, deep_reasoning, large_reasoning; did you mean deep_reasoning?",
        ),
        (
            "routing: {aliases: {a: {provider: b}, b: {provider: c}, c: {provider: a}}}",
            'config.yaml: routing.aliases.a.provider is "b", which is a cycle: '
            "a -> b -> c -> a; let one of them name a provider",
        ),
        (
            "routing: {models: {fast: 'mine:m'}}",
            f'config.yaml: routing.models.fast is "mine:m", {TARGETS}; '
            "providers.mine does not exist; add providers.mine",
        ),
        (
            "budgets: {person_day_tokens: {gold: 5}}",
            "config.yaml: budgets.person_day_tokens.gold is 5, but routing.tiers has no tier "
            "'gold'; known are: free, starter, pro; add routing.tiers.gold, or name "
            "one of them",
        ),
        (
            "routing: {aliases: {a: {provider: a}}}",
            'config.yaml: routing.aliases.a.provider is "a", which is a cycle: a -> a; '
            "let one of them name a provider",
        ),
        (
            "routing: {aliases: {quick: {provider: opnai}}}",
            'config.yaml: routing.aliases.quick.provider is "opnai", expected a provider or '
            "another alias; providers.opnai does not exist; did you mean openai? "
            "Otherwise add providers.opnai",
        ),
        (
            "routing: {aliases: {quick: {credential: api_key}}}",
            "default: routing.aliases.quick.provider is null, expected a provider or another "
            "alias; set it, or remove quick",
        ),
        (
            "routing: {cloud_priority: [gemini, cluade]}",
            'config.yaml: routing.cloud_priority is ["gemini", "cluade"], and there is no provider '
            "cluade; did you mean claude?",
        ),
        (
            "routing: {complexity: {short_chars: 4000}}",
            "config.yaml: routing.complexity.short_chars is 4000, expected less than "
            "routing.complexity.long_chars, 4000; lower it",
        ),
        (
            "routing: {local_threshold: 1.5}",
            "config.yaml: routing.local_threshold is 1.5, expected a number, at least 0 and at "
            "most 1; correct it, or remove it for 1.0",
        ),
        (
            "routing: {tiers: {empty: []}}",
            "config.yaml: routing.tiers.empty is [], expected a list, each item text; correct it",
        ),
    ],
)
def test_what_cannot_work_is_refused_at_start_with_its_fix(write, refusal, yaml, expected):
    write(yaml=yaml)

    assert refusal() == expected


def test_a_model_may_be_named_by_an_alias(write, load_home, refusal):
    write(yaml="models: {default: 'claude_pro:claude-sonnet-4-6'}")

    assert load_home(ANTHROPIC_AUTH_TOKEN="t").settings.models.default.startswith("claude_pro:")
    assert 'models.default is "claude_pro:claude-sonnet-4-6"' in refusal()
