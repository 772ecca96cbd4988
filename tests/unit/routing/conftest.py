"""Offers as providers would make them, and policies as settings would."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.config import load
from hermes.ports.provider import ProviderInfo
from hermes.routing.plan import ProviderOffer
from hermes.routing.policy import Policy, policy_of

MakeOffer = Callable[..., ProviderOffer]
MakePolicy = Callable[..., Policy]


@pytest.fixture
def offer() -> MakeOffer:
    def make(
        name: str,
        *,
        model: str = "",
        available: bool = True,
        problem: str | None = None,
        **can: bool,
    ) -> ProviderOffer:
        info = ProviderInfo(
            name=name,
            model=model or f"{name}-1",
            chat=can.get("chat", True),
            tools=can.get("tools", True),
            vision=can.get("vision", False),
            schema=can.get("schema", False),
            embeddings=can.get("embeddings", False),
            context_tokens=1000,
            local=can.get("local", False),
            demonstration=can.get("demo", False),
        )
        return ProviderOffer(info, available=available, problem=problem)

    return make


@pytest.fixture
def policy(tmp_path: Path) -> MakePolicy:
    """The policy of a configuration file, given as text, with keys in the environment."""

    def make(yaml: str = "", **environ: str) -> Policy:
        (tmp_path / "config.yaml").write_text(yaml, encoding="utf-8")
        return policy_of(load(environ, tmp_path).settings)

    return make
