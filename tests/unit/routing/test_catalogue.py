"""A model that nobody knows is told of, with those that are most like it."""

import pytest

from hermes.config import ProviderSettings
from hermes.ports.provider import ProviderInfo
from hermes.routing.catalogue import note_on


def info(name: str, model: str, *, local: bool = False) -> ProviderInfo:
    return ProviderInfo(
        name=name, model=model, local=local, tools=True, vision=True, context_tokens=8_192
    )


OPENAI = info("openai", "gpt-4o-mini")


def table(base_url: str | None, kind: str = "openai") -> ProviderSettings:
    return ProviderSettings.model_validate({"base_url": base_url, "kind": kind})


@pytest.mark.req("W18", "P1")
def test_a_name_that_its_service_is_not_known_to_have_is_told_with_the_nearest() -> None:
    note = note_on("gpt-4o-mni", OPENAI, table("https://api.openai.com/v1"))

    assert note.startswith("gpt-4o-mni is not in the catalogue of 20")
    assert "which knows of openai: gpt-4o-mini, " in note
    assert "and others" in note
    assert "costs is unknown" in note


@pytest.mark.req("W18", "P1")
@pytest.mark.parametrize(
    ("model", "provider", "settings"),
    [
        ("gpt-4o", OPENAI, table("https://api.openai.com/v1")),
        ("gpt-4o-2024-08-06", OPENAI, table("https://api.openai.com/v1")),
        # its own model is somebody's word for it
        ("ours", info("openai", "ours"), None),
        # another server under the same name, one without a list, and this machine
        ("gpt-4o-mni", OPENAI, table("http://10.0.0.5/v1")),
        ("any", OPENAI, table("https://api.together.xyz/v1")),
        ("any", OPENAI, table("https://openrouter.ai/api/v1")),
        ("any", info("house", "m", local=True), table("http://127.0.0.1:8000/v1")),
    ],
)
def test_of_any_other_nothing_is_told(
    model: str, provider: ProviderInfo, settings: ProviderSettings | None
) -> None:
    assert note_on(model, provider, settings) == ""
