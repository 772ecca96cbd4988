"""The decision tree, node by node: what is tried, in which order, and why the rest is not."""

import pytest

from hermes.errors import ProviderUnavailable
from hermes.routing.decide import decide, make_plan
from hermes.routing.plan import CallNeeds, Candidate, DroppedProvider, Plan

KEYS = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", "OPENROUTER_API_KEY": "k"}
HARD = "Explain, compare and evaluate the design:\n```\nx = 1\n```\n" + "and so on " * 400


def names(plan: Plan) -> list[str]:
    return [candidate.provider for candidate in plan.candidates]


@pytest.mark.req("P1", "P7")
def test_offline_only_models_on_this_machine_are_tried(offer, policy):
    offers = [offer("gemini"), offer("house", local=True), offer("demo", demo=True, local=True)]

    plan = make_plan(CallNeeds(), offers, policy=policy("offline: true"))

    assert plan == Plan(
        (Candidate("house", "house-1", "offline mode: a model on this machine"),),
        (
            DroppedProvider("gemini", "offline mode"),
            DroppedProvider("demo", "a configured model comes first"),
        ),
    )


@pytest.mark.req("P1", "P2", "P7")
def test_by_default_every_prompt_goes_to_a_local_model_and_the_cloud_follows_it(offer, policy):
    offers = [offer("gemini"), offer("house", local=True)]

    plan = make_plan(CallNeeds(prompt=HARD), offers, policy=policy(**KEYS))

    assert names(plan) == ["house", "gemini"]
    assert plan.candidates[0].rule.startswith("local first: complexity 0.")
    assert plan.candidates[0].rule.endswith(" <= 1.0")
    assert plan.candidates[1].rule == "cloud priority 4: gemini"


@pytest.mark.req("P1", "P2")
def test_above_the_threshold_a_prompt_goes_to_the_cloud_and_local_is_the_fallback(offer, policy):
    offers = [offer("house", local=True), offer("gemini")]
    rules = policy("routing: {local_threshold: 0.7}", **KEYS)

    hard = decide(CallNeeds(prompt=HARD), offers, policy=rules)
    easy = decide(CallNeeds(prompt="What time is it?"), offers, policy=rules)

    assert names(hard.plan) == ["gemini", "house"]
    assert hard.plan.candidates[1].rule == "any available provider that can do chat"
    assert hard.complexity is not None
    assert hard.complexity > 0.7
    assert names(easy.plan) == ["house", "gemini"]


@pytest.mark.req("P2")
@pytest.mark.parametrize("yaml", ["{local_threshold: 0.0}", "{local_first: false}"])
def test_local_first_can_be_turned_off_also_for_a_complexity_of_zero(offer, policy, yaml):
    offers = [offer("house", local=True), offer("gemini")]

    decision = decide(CallNeeds(prompt=""), offers, policy=policy(f"routing: {yaml}", **KEYS))

    assert names(decision.plan) == ["gemini", "house"]
    assert decision.complexity is None


@pytest.mark.req("P1")
def test_a_local_model_that_is_not_available_is_passed_by(offer, policy):
    away = offer("house", local=True, available=False, problem="connection refused")

    plan = make_plan(CallNeeds(), [away, offer("gemini")], policy=policy(**KEYS))

    assert names(plan) == ["gemini"]
    assert plan.dropped == (DroppedProvider("house", "connection refused"),)


@pytest.mark.req("P1", "P3")
def test_summaries_stay_at_home_even_where_local_first_is_off(offer, policy):
    offers = [offer("gemini"), offer("house", local=True)]
    ask = CallNeeds(prompt=HARD, capability="summarization")

    plan = make_plan(ask, offers, policy=policy("routing: {local_first: false}", **KEYS))

    assert plan == Plan(
        (Candidate("house", "house-1", "summarization stays on this machine"),),
        (
            DroppedProvider(
                "gemini",
                "summarization never costs cloud tokens unless routing.cloud_summaries is set",
            ),
        ),
    )


@pytest.mark.req("P3")
def test_summaries_may_go_elsewhere_when_the_configuration_allows_it(offer, policy):
    ask = CallNeeds(capability="summarization")

    plan = make_plan(
        ask, [offer("gemini")], policy=policy("routing: {cloud_summaries: true}", **KEYS)
    )

    assert names(plan) == ["gemini"]


@pytest.mark.req("P1")
def test_embeddings_go_to_a_provider_that_makes_them(offer, policy):
    offers = [offer("plain", local=True), offer("house", local=True, embeddings=True)]
    ask = CallNeeds(capability="embeddings")

    plan = make_plan(ask, offers, policy=policy())

    assert names(plan) == ["house"]
    assert plan.dropped == (DroppedProvider("plain", "makes no embeddings"),)
    with pytest.raises(ProviderUnavailable, match=r"configure a local model that makes embeddings"):
        make_plan(ask, [offer("plain", local=True)], policy=policy())


ROUTES = """
routing:
  local_first: false
  task_routes:
    code_generation: {primary: gemini, fallback: "openrouter:big-coder"}
    deep_reasoning: {primary: claude_pro}
    large_reasoning: {primary: "anthropic:claude-opus-5-5"}
"""


@pytest.mark.req("P1", "P3")
def test_a_task_route_goes_before_the_cloud_priority_primary_then_fallback(offer, policy):
    offers = [offer("openrouter"), offer("anthropic"), offer("gemini")]

    decision = decide(CallNeeds(prompt="Refactor this"), offers, policy=policy(ROUTES, **KEYS))

    assert decision.task == "code_generation"
    assert decision.plan.candidates == (
        Candidate("gemini", "gemini-1", "task route code_generation, primary: gemini"),
        Candidate(
            "openrouter",
            "big-coder",
            "task route code_generation, fallback: openrouter:big-coder",
        ),
        Candidate("openrouter", "openrouter-1", "cloud priority 2: openrouter"),
        Candidate("anthropic", "anthropic-1", "cloud priority 3: anthropic"),
    )


@pytest.mark.req("P1")
def test_local_first_and_summaries_at_home_go_before_a_task_route(offer, policy):
    offers = [offer("gemini"), offer("house", local=True)]
    routes = "task_routes: {code_generation: {primary: gemini}}, cloud_summaries: true"
    summary = CallNeeds(prompt="Refactor this", capability="summarization")

    first = make_plan(
        CallNeeds(prompt="Refactor this"), offers, policy=policy(f"routing: {{{routes}}}", **KEYS)
    )
    at_home = make_plan(
        summary, offers, policy=policy(f"routing: {{{routes}, local_first: false}}", **KEYS)
    )

    assert names(first) == ["house", "gemini"]
    assert names(at_home) == ["house", "gemini"]
    assert at_home.candidates[0].rule == "summarization stays on this machine"
    assert at_home.candidates[1].rule == "task route code_generation, primary: gemini"


@pytest.mark.req("P1")
def test_a_provider_on_this_machine_has_no_place_in_the_cloud_priority(offer, policy):
    offers = [offer("openrouter", local=True), offer("gemini")]

    plan = make_plan(CallNeeds(), offers, policy=policy("routing: {local_first: false}", **KEYS))

    assert [(one.provider, one.rule) for one in plan.candidates] == [
        ("gemini", "cloud priority 4: gemini"),
        ("openrouter", "any available provider that can do chat"),
    ]


@pytest.mark.req("P1", "P3")
def test_a_task_route_whose_providers_are_away_leaves_the_tree_to_go_on(offer, policy):
    offers = [
        offer("openrouter", available=False),
        offer("anthropic"),
        offer("gemini", tools=False),
    ]

    plan = make_plan(
        CallNeeds(prompt="Refactor this", tools=True), offers, policy=policy(ROUTES, **KEYS)
    )

    assert names(plan) == ["anthropic"]
    assert plan.dropped == (
        DroppedProvider("gemini", "cannot call tools, and tools are in play"),
        DroppedProvider("openrouter", "not available"),
    )


@pytest.mark.req("P3")
def test_large_reasoning_is_reached_by_its_key_only(offer, policy):
    offers = [offer("anthropic")]

    plan = make_plan(CallNeeds(task="large_reasoning"), offers, policy=policy(ROUTES, **KEYS))

    assert plan.candidates[0].model == "claude-opus-5-5"


@pytest.mark.req("P3")
@pytest.mark.parametrize(
    "ask",
    [
        CallNeeds(task="large_reasoning"),
        CallNeeds(task="large_reasoning", default_model="gemini:gemini-1"),
        CallNeeds(model="auto:large_reasoning"),
        CallNeeds(session_model="auto:large_reasoning"),
        CallNeeds(default_model="auto:large_reasoning"),
    ],
)
def test_a_task_that_is_asked_for_goes_before_local_models_and_the_usual_one(ask, offer, policy):
    offers = [offer("house", local=True), offer("anthropic"), offer("gemini")]

    routes = ROUTES.replace("local_first: false", "local_first: true")

    plan = make_plan(ask, offers, policy=policy(routes, **KEYS))

    assert plan.candidates[0].rule == (
        "task route large_reasoning, primary: anthropic:claude-opus-5-5"
    )
    assert names(plan)[1] == "house"


@pytest.mark.req("P3")
def test_a_model_that_a_person_named_goes_before_a_task(offer, policy):
    ask = CallNeeds(task="large_reasoning", session_model="gemini:gemini-1")

    plan = make_plan(ask, [offer("anthropic"), offer("gemini")], policy=policy(ROUTES, **KEYS))

    assert names(plan) == ["gemini"]


@pytest.mark.req("P3")
def test_an_unknown_task_is_named(offer, policy):
    decision = decide(CallNeeds(model="auto:thinking"), [offer("gemini")], policy=policy(**KEYS))

    assert decision.is_unknown
    assert decision.problem is not None
    assert decision.problem.startswith("there is no task type 'thinking'; auto:TASK takes one of")


@pytest.mark.req("P3")
def test_the_usual_model_sums_up_only_where_that_is_allowed(offer, policy):
    ask = CallNeeds(capability="summarization", default_model="gemini:gemini-1")
    cloud, house = offer("gemini"), offer("house", local=True)
    demo = offer("demo", demo=True, local=True)

    assert names(make_plan(ask, [cloud, house], policy=policy(**KEYS))) == ["house"]
    # As soon as a key is there, the demonstration model sums nothing up.
    assert decide(ask, [cloud, demo], policy=policy(**KEYS)).plan.candidates == ()
    allowed = policy("routing: {cloud_summaries: true}", **KEYS)
    assert names(make_plan(ask, [cloud, house], policy=allowed)) == ["gemini"]
    alone = CallNeeds(capability="summarization")
    away = offer("gemini", available=False)
    assert names(make_plan(alone, [away, demo], policy=policy())) == ["demo"]
    named = CallNeeds(capability="summarization", model="gemini:gemini-1")
    assert names(make_plan(named, [cloud, house], policy=policy(**KEYS))) == ["gemini"]


@pytest.mark.req("P1", "M1")
def test_the_cloud_priority_is_a_setting_and_others_come_after_it(offer, policy):
    offers = [offer("mine"), offer("openrouter"), offer("anthropic"), offer("gemini")]
    rules = policy("routing: {cloud_priority: [gemini, anthropic]}", **KEYS)

    plan = make_plan(CallNeeds(), offers, policy=rules)

    assert [(one.provider, one.rule) for one in plan.candidates] == [
        ("gemini", "cloud priority 1: gemini"),
        ("anthropic", "cloud priority 2: anthropic"),
        ("mine", "any available provider that can do chat"),
        ("openrouter", "any available provider that can do chat"),
    ]


@pytest.mark.req("A23", "P1")
@pytest.mark.parametrize(
    ("ask", "ability", "reason"),
    [
        (CallNeeds(tools=True), "tools", "cannot call tools, and tools are in play"),
        (CallNeeds(images=True), "vision", "cannot read images, and there is one"),
        (CallNeeds(capability="tools"), "tools", "cannot call tools, and tools are in play"),
        (CallNeeds(capability="vision"), "vision", "cannot read images, and there is one"),
        (CallNeeds(capability="schema"), "schema", "has no JSON schema of its own"),
    ],
)
def test_a_candidate_without_the_ability_is_skipped(offer, policy, ask, ability, reason):
    offers = [offer("openrouter", **{ability: False}), offer("gemini", **{ability: True})]

    plan = make_plan(ask, offers, policy=policy(**KEYS))

    assert names(plan) == ["gemini"]
    assert plan.dropped == (DroppedProvider("openrouter", reason),)


@pytest.mark.req("A23")
def test_what_is_known_of_a_model_counts_besides_what_its_wire_can_do(offer, policy):
    offers = [offer("openrouter", model="deepseek/deepseek-chat", vision=True)]

    with pytest.raises(ProviderUnavailable, match="cannot read images"):
        make_plan(CallNeeds(images=True), offers, policy=policy(**KEYS))


@pytest.mark.req("P7", "M1")
def test_the_demonstration_model_is_the_last_resort_whatever_its_place(offer, policy):
    demo = offer("demo", demo=True, local=True)

    with_key = make_plan(CallNeeds(), [demo, offer("gemini")], policy=policy(**KEYS))
    without = make_plan(
        CallNeeds(), [offer("gemini", available=False), demo], policy=policy(**KEYS)
    )

    assert names(with_key) == ["gemini"]
    assert with_key.dropped == (DroppedProvider("demo", "a configured model comes first"),)
    assert without == Plan(
        (Candidate("demo", "demo-1", "last resort: the demonstration model"),),
        (DroppedProvider("gemini", "not available"),),
    )


@pytest.mark.req("P1", "M2")
def test_no_model_at_all_is_a_clear_error_that_names_every_reason(offer, policy):
    with pytest.raises(ProviderUnavailable) as none:
        make_plan(CallNeeds(), [offer("gemini", available=False)], policy=policy())
    with pytest.raises(ProviderUnavailable) as unable:
        make_plan(CallNeeds(tools=True), [offer("gemini", tools=False)], policy=policy())

    assert str(none.value) == (
        "no model can answer (gemini: not available); "
        "set OPENAI_API_KEY or install the demonstration model"
    )
    assert str(unable.value) == (
        "no model can answer (gemini: cannot call tools, and tools are in play); "
        "add a provider that has tools, such as by OPENAI_API_KEY"
    )
