"""Vectors that do not come: another service is asked, and the error names the time."""

import asyncio
from pathlib import Path

import pytest

from hermes.calls.call_charge import SpendLog
from hermes.errors import ProviderTimeout
from hermes.message.reply import Usage
from hermes.ports.provider import Embedding
from hermes.testing.scripted_model import ScriptedProvider
from tests.contract.calls.rig import model, open_calls, payer_for, plan_of

QUICK = {"TURNS__OUTPUT_TIMEOUT_S": "0.05"}


class Silent(ScriptedProvider):
    """A service whose vectors never come."""

    async def embed(self, texts: tuple[str, ...], *, model: str) -> Embedding:
        await asyncio.Event().wait()
        raise AssertionError("nothing ends this wait")


class Prompt(ScriptedProvider):
    """A service whose vectors are there at once."""

    async def embed(self, texts: tuple[str, ...], *, model: str) -> Embedding:
        return Embedding(((1.0, 0.0),) * len(texts), Usage(tokens_in=3), model)


@pytest.mark.req("A12", "A23")
async def test_a_service_that_is_silent_is_left_for_the_next_one(tmp_path: Path) -> None:
    one, two = Silent(info=model("one").info), Prompt(info=model("two").info)
    told: list[str] = []
    async with open_calls(tmp_path, one, two, settings=QUICK) as rig:

        async def embed(*names: str) -> Embedding:
            return await rig.layer.embeddings.run(
                ("hello",),
                plan_of(*names),
                payer=payer_for("ann"),
                receipt=SpendLog(),
                tell=lambda event: told.append(type(event).__name__),
            )

        found = await embed("one", "two")
        with pytest.raises(ProviderTimeout, match=r"one made no embeddings in 0\.05 s"):
            await embed("one")

    assert found.vectors == ((1.0, 0.0),)
    assert told == ["CallStart", "CallFailure", "CallStart", "CallStart", "CallFailure"]
