"""What `hermes models` and `hermes route` tell, from offers as values."""

from pathlib import Path

import pytest

from hermes.config import Settings, load
from hermes.control.models import ModelLine, RouteCandidate, models_report, route_report
from hermes.ports.provider import ProviderInfo
from hermes.routing.plan import CallNeeds, DroppedProvider, ProviderOffer
from hermes.routing.prices import Price


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    yaml = """
providers:
  mine: {base_url: "https://models.example.com/v1", model: unheard-of-1}
agents:
  main: {model: "mine:unheard-of-1"}
"""
    (tmp_path / "config.yaml").write_text(yaml, encoding="utf-8")
    return load({"GEMINI_API_KEY": "k"}, tmp_path).settings


def an_offer(name: str, model: str, *, available: bool = True, **more: bool) -> ProviderOffer:
    info = ProviderInfo(
        name=name,
        model=model,
        chat=more.get("chat", True),
        tools=more.get("tools", True),
        vision=more.get("vision", True),
        context_tokens=128_000,
        local=more.get("local", False),
        demonstration=more.get("demo", False),
    )
    return ProviderOffer(info, available=available)


@pytest.mark.req("P6", "A20")
def test_every_model_is_told_with_its_state_abilities_context_and_price(settings):
    offers = [
        an_offer("openai", "gpt-4o-mini", available=False),
        an_offer("mine", "unheard-of-1"),
        an_offer("openrouter", "deepseek/deepseek-chat"),
        an_offer("local", "tiny", local=True, demo=True, tools=False, vision=False),
    ]

    report = models_report(settings, offers)

    assert report.models == (
        ModelLine(
            provider="openai",
            model="gpt-4o-mini",
            available=False,
            problem="no key: set OPENAI_API_KEY",
            local=False,
            demonstration=False,
            abilities=("tools", "vision"),
            context_tokens=128_000,
            context_source="list",
            price=Price(0.15, 0.60, "list", 0.075),
        ),
        ModelLine(
            provider="mine",
            model="unheard-of-1",
            available=True,
            local=False,
            demonstration=False,
            abilities=("tools", "vision"),
            context_tokens=128_000,
            price=None,
        ),
        ModelLine(
            provider="openrouter",
            model="deepseek/deepseek-chat",
            available=True,
            local=False,
            demonstration=False,
            abilities=("tools",),
            context_tokens=128_000,
            price=None,
        ),
        ModelLine(
            provider="local",
            model="tiny",
            available=True,
            local=True,
            demonstration=True,
            abilities=(),
            context_tokens=128_000,
            context_source="configured",
            price=Price(0.0, 0.0, "this machine"),
        ),
    )
    assert report.prices_date.startswith("20")


@pytest.mark.req("P7")
def test_a_route_is_that_of_the_default_agent_unless_a_tier_or_model_is_asked_about(settings):
    offers = [an_offer("mine", "unheard-of-1"), an_offer("gemini", "gemini-3.5-flash-lite")]

    default = route_report(CallNeeds(prompt="Hello"), offers, settings=settings)
    named = route_report(CallNeeds(prompt="Hello", model="gemini"), offers, settings=settings)
    tier = route_report(CallNeeds(prompt="Hello", tier="pro"), offers, settings=settings)

    assert default.candidates == (
        RouteCandidate(
            provider="mine",
            model="unheard-of-1",
            rule="configured model mine:unheard-of-1",
            price=None,
        ),
    )
    assert named.candidates[0].price == Price(0.30, 2.50, "list", 0.03)
    assert tier.candidates == ()
    assert tier.dropped == (
        DroppedProvider(
            "claude-sonnet", "no provider serves claude-sonnet-4-6; set ANTHROPIC_API_KEY"
        ),
        DroppedProvider("mine", "not in the chain of tier pro"),
        DroppedProvider("gemini", "not in the chain of tier pro"),
    )
    assert tier.problem is not None
    assert tier.problem.startswith("no model can answer (claude-sonnet: ")


@pytest.mark.req("P6", "A12")
def test_an_embedder_is_told_as_one_that_does_not_chat(settings):
    offer = an_offer("minilm", "small", chat=False, local=True, tools=False, vision=False)

    (line,) = models_report(settings, [offer]).models

    assert not line.chat
    assert line.price is not None
    assert line.price.read == 0
