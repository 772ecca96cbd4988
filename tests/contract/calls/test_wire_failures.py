"""Retries, breakers and deployments over a real wire and a service that misbehaves."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.app.adapters import make_openai
from hermes.calls.deployments import DeployedProvider, Deployment
from hermes.config import ProviderSettings
from hermes.errors import PromptTooLong, ProviderCooling, ProviderUnavailable
from hermes.message.parts import text_of
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import Provider
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, answer_by_text
from hermes.testing.model_server import ModelServer
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp
from tests.contract.calls.rig import open_calls, payer_for

RETRY = {"ROUTING__RETRY_S": "0.01"}


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


def first(turn: ScriptedTurn) -> Script:
    """Spoil the first answer alone."""
    spoilt = [turn]

    def answer(seen: SeenConversation, number: int) -> ScriptedTurn:
        return spoilt.pop() if spoilt else answer_by_text(seen, number)

    return answer


def service(address: str, client: HttpClient) -> Provider:
    table = ProviderSettings.model_validate({"base_url": address, "model": "one-1"})
    return make_openai("one", table, client)


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize(
    ("turn", "whole"),
    [
        (ScriptedTurn(fault="status", status=500), False),
        (ScriptedTurn(fault="cut"), False),
        (ScriptedTurn(fault="truncate"), False),
        (ScriptedTurn(text="half an answer", deltas=2, fault="cut", after=1), True),
        (ScriptedTurn(text="half an answer", deltas=2, fault="truncate", after=1), True),
    ],
    ids=["500", "cut", "truncated", "whole, cut", "whole, truncated"],
)
async def test_what_breaks_before_anything_was_shown_is_asked_again_once(
    tmp_path: Path, client: HttpClient, turn: ScriptedTurn, *, whole: bool
) -> None:
    async with ModelServer(first(turn)) as server:
        one = service(server.base_url, client)
        async with open_calls(tmp_path, one, settings=RETRY) as rig:
            story = await rig.call("hello", "one", whole=whole)

    assert text_of(story.answer.end.parts) == "#1 hello"
    assert story.kinds[:3] == ["CallStart", "CallFailure", "CallStart"]


@pytest.mark.req("A23", "P5")
async def test_a_reset_before_the_answer_is_asked_again_once(
    tmp_path: Path, client: HttpClient
) -> None:
    async def reset(_received: ReceivedRequest, out: Out) -> None:
        out.reset()

    async with ScriptedHttp(reset) as server:
        one = service(f"{server.origin}/v1", client)
        async with open_calls(tmp_path, one, settings=RETRY) as rig:
            with pytest.raises(ProviderUnavailable):
                await rig.call("hello", "one")

    assert len(server.requests) == 2


@pytest.mark.req("M1", "P5")
async def test_a_service_that_says_429_is_left_alone_until_it_wants_to_be_asked(
    tmp_path: Path, client: HttpClient
) -> None:
    clock = ManualClock()
    busy = ScriptedTurn(fault="status", status=429, retry_after=30.0)
    async with ModelServer(first(busy)) as server:
        one = service(server.base_url, client)
        async with open_calls(tmp_path, one, clock=clock) as rig:
            with pytest.raises(ProviderUnavailable, match="429"):
                await rig.call("hello", "one")
            with pytest.raises(ProviderCooling, match="until"):
                await rig.call("hello", "one")
            clock.advance(30.1)
            story = await rig.call("hello", "one")

    assert text_of(story.answer.end.parts) == "#1 hello"


@pytest.mark.req("M1", "P5")
async def test_a_deployment_that_does_not_listen_hands_its_calls_to_the_other(
    tmp_path: Path, client: HttpClient
) -> None:
    async with ScriptedHttp(lambda *_: None) as gone:  # type: ignore[arg-type]
        nobody = f"{gone.origin}/v1"
    async with ModelServer() as server:
        members = [
            Deployment("gone", 9, service(nobody, client)),
            Deployment("here", 1, service(server.base_url, client)),
        ]
        async with open_calls(tmp_path, DeployedProvider(members), draw=lambda: 0.0) as rig:
            stories = [await rig.call("hello", "one") for _ in range(7)]

    failures = [story.kinds.count("CallFailure") for story in stories]
    # Five failures open its circuit; from then on it is not tried first.
    assert failures == [1, 1, 1, 1, 1, 0, 0]


@pytest.mark.req("M1", "P5")
async def test_a_request_that_is_too_large_for_a_minute_rests_the_model_for_nobody(
    tmp_path: Path, client: HttpClient
) -> None:
    words = b'{"error":{"message":"Request too large for one-1 on tokens per min (TPM): Limit 9"}}'

    async def refuse(_received: ReceivedRequest, out: Out) -> None:
        out.whole(429, words, Retry_After="60")

    async with ScriptedHttp(refuse) as server:
        one = service(f"{server.origin}/v1", client)
        async with open_calls(tmp_path, one, settings=RETRY) as rig:
            for person in ("ann", "ben", "ann"):
                with pytest.raises(PromptTooLong):
                    await rig.call("hello", "one", payer=payer_for(person), wait_s=90.0)

    assert len(server.requests) == 3
    assert rig.layer.deployments.states() == []
