"""Who only makes embeddings is never asked to answer, by whatever rule, and stays able to embed."""

import pytest

from hermes.routing.decide import decide
from hermes.routing.plan import CallNeeds
from tests.unit.routing.conftest import MakeOffer, MakePolicy

ONLY = "only makes embeddings"


@pytest.mark.req("P1", "A12")
@pytest.mark.parametrize(
    ("yaml", "ask"),
    [
        ("", CallNeeds()),
        ("offline: true", CallNeeds()),
        ("routing: {local_first: true}", CallNeeds(prompt="hi")),
        ("", CallNeeds(capability="summarization")),
        ("", CallNeeds(capability="tools", tools=True)),
        (
            "providers: {minilm: {}}\nrouting: {tiers: {pro: [local, minilm]}}",
            CallNeeds(tier="pro"),
        ),
    ],
)
def test_no_rule_lets_it_answer(
    offer: MakeOffer, policy: MakePolicy, yaml: str, ask: CallNeeds
) -> None:
    embedder = offer("minilm", chat=False, local=True, embeddings=True)
    house = offer("house", local=True)

    found = decide(ask, [embedder, house], policy=policy(yaml))
    alone = decide(ask, [embedder], policy=policy(yaml))

    assert [one.provider for one in found.plan.candidates] == ["house"]
    # Only who named it is told why not.
    dropped = {one.provider: one.reason for one in found.plan.dropped}
    assert dropped == ({"minilm": ONLY} if ask.tier else {})
    assert alone.plan.candidates == ()
    assert alone.problem is not None


@pytest.mark.req("P1", "A12")
@pytest.mark.parametrize("model", ["minilm", "minilm:minilm-1"])
def test_who_names_it_is_told_what_it_is(offer: MakeOffer, policy: MakePolicy, model: str) -> None:
    offers = [offer("openai"), offer("minilm", chat=False, local=True, embeddings=True)]

    for ask in (
        CallNeeds(model=model),
        CallNeeds(session_model=model),
        CallNeeds(default_model=model),
    ):
        decision = decide(ask, offers, policy=policy())
        assert decision.plan.candidates == ()
        assert ONLY in str(decision.problem)


@pytest.mark.req("P1", "P3")
@pytest.mark.parametrize("model", ["auto", "minilm", "minilm-1"])
def test_it_makes_the_embeddings(offer: MakeOffer, policy: MakePolicy, model: str) -> None:
    offers = [offer("openai"), offer("minilm", chat=False, local=True, embeddings=True)]

    decision = decide(CallNeeds(capability="embeddings", model=model), offers, policy=policy())

    assert [one.provider for one in decision.plan.candidates] == ["minilm"]
