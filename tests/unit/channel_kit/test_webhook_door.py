"""How webhook calls come in: proven first, acknowledged once all of it is stored, and else repeated."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twilio.request_validator import RequestValidator

from hermes.errors import (
    BadRequest,
    Forbidden,
    HermesError,
    Overloaded,
    PersonErased,
    RateLimited,
    Refused,
    Skipped,
    StoreDamaged,
    StoreError,
    TooLarge,
    Unauthenticated,
)
from hermes.ports.channel import Accept, HttpRequest, HttpResponse
from hermes.ports.channel_rows import Handshake
from tests.unit.channel_kit.door_rig import DoorRig
from tests.unit.channel_kit.proof_rows import PUBLISHED


async def test_a_proven_call_is_acknowledged_after_it_is_stored() -> None:
    rig = DoorRig(accepted=204)

    assert await rig.post("hello") == 204
    assert rig.inbox.stored == ["hello"]


@pytest.mark.parametrize(
    "changed",
    [
        {"headers": {}},
        {"body": b"other"},
        {"headers": {"x-time": "1700000000", "x-signature": "00"}},
    ],
)
async def test_an_unproven_call_is_not_read(changed: dict[str, Any]) -> None:
    rig = DoorRig()

    assert await rig.post("hello", **changed) == 401
    assert rig.inbox.stored == []


async def test_a_method_that_the_platform_does_not_use_is_named() -> None:
    rig = DoorRig()
    answer = await rig.door.answer(rig.call(method="GET"))

    assert (answer.status, answer.headers["allow"]) == (405, "POST")


async def test_a_channel_that_is_not_connected_is_called_again() -> None:
    rig = DoorRig(is_open=False)

    assert await rig.post() == 503
    rig.door.open(rig.inbox.accept)
    assert await rig.post() == 200
    await rig.door.close()
    assert await rig.post() == 503


async def test_a_message_that_takes_too_long_is_repeated_and_stored_once() -> None:
    rig = DoorRig(answer_s=0.01)
    rig.inbox.held = asyncio.Event()

    answer = await rig.door.answer(rig.call("slow"))
    rig.inbox.held.set()
    again = await rig.post("slow")

    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    assert (again, rig.inbox.stored) == (200, ["slow"])


async def test_the_work_goes_on_when_the_caller_goes_away() -> None:
    rig = DoorRig()
    rig.inbox.held = asyncio.Event()
    call = asyncio.create_task(rig.door.answer(rig.call("hello")))
    for _ in range(5):
        await asyncio.sleep(0)

    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    rig.inbox.held.set()
    await rig.post("barrier")

    assert sorted(rig.inbox.stored) == ["barrier", "hello"]


async def test_what_is_not_stored_when_the_door_closes_was_not_acknowledged() -> None:
    rig = DoorRig()
    rig.inbox.held = asyncio.Event()
    call = asyncio.create_task(rig.door.answer(rig.call("hello")))
    for _ in range(5):
        await asyncio.sleep(0)

    await rig.door.close()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert rig.inbox.stored == []


@pytest.mark.parametrize(
    ("error", "rows", "status"),
    [
        (Refused("no"), {}, 400),
        (Forbidden("no"), {}, 403),
        (Forbidden("no"), {"refused": 200}, 200),
        (BadRequest("no"), {"refused": 200}, 400),
        (BadRequest("no"), {"malformed": 200}, 200),
        (TooLarge("no"), {"malformed": 200}, 200),
        (TooLarge("no"), {}, 413),
        (Skipped("no"), {}, 200),
        (PersonErased("no"), {"refused": 200}, 200),
        (PersonErased("no"), {}, 400),
        (Overloaded("later"), {"refused": 200, "malformed": 200}, 503),
        (RateLimited("later"), {"refused": 200}, 429),
        (StoreError("later"), {"refused": 200}, 503),
        (StoreDamaged("later"), {"refused": 200}, 503),
    ],
)
async def test_only_what_can_never_be_stored_is_not_repeated(
    error: HermesError, rows: dict[str, Any], status: int
) -> None:
    rig = DoorRig(**rows)
    rig.inbox.fails["hello"] = [error]

    assert await rig.post("hello") == status


@pytest.mark.parametrize(
    ("error", "rows", "headers"),
    [
        (BadRequest("no"), {}, {"x-no-retry": "1"}),
        (BadRequest("no"), {"malformed": 200}, {"x-no-retry": "1"}),
        (Forbidden("no"), {"refused": 200}, {"x-no-retry": "1"}),
        (Overloaded("later"), {}, {}),
    ],
)
async def test_the_platform_is_told_by_a_header_what_it_need_not_repeat(
    error: HermesError, rows: dict[str, Any], headers: dict[str, str]
) -> None:
    rig = DoorRig(final={"x-no-retry": "1"}, **rows)
    rig.inbox.fails["hello"] = [error]

    answer = await rig.door.answer(rig.call("hello"))

    assert {name: one for name, one in answer.headers.items() if name == "x-no-retry"} == headers


async def test_an_internal_error_is_not_shown() -> None:
    rig = DoorRig()
    rig.inbox.fails["hello"] = [PersonErased("person p_17 was erased")]

    answer = await rig.door.answer(rig.call("hello"))

    assert b"p_17" not in answer.body


async def test_one_refused_event_of_several_does_not_repeat_the_others() -> None:
    rig = DoorRig()
    rig.inbox.fails["b"] = [Forbidden("no"), Forbidden("no")]

    assert await rig.post("a\nb\nc") == 200
    assert rig.inbox.stored == ["a", "c"]


async def test_one_that_may_be_stored_later_repeats_all_and_keeps_its_place() -> None:
    rig = DoorRig()
    rig.inbox.fails["b"] = [StoreError("the disk")]

    first = await rig.post("c1:a\nc1:b\nc1:c\nc2:d")
    before = list(rig.inbox.stored)
    second = await rig.post("c1:a\nc1:b\nc1:c\nc2:d")

    assert (first, before) == (503, ["a", "d"])
    assert (second, rig.inbox.stored) == (200, ["a", "d", "b", "c"])


async def test_a_sender_with_too_much_waiting_holds_back_nobody_else() -> None:
    rig = DoorRig()
    rig.inbox.fails["a"] = [RateLimited("too many")]

    assert await rig.post("a\nb") == 429
    assert rig.inbox.stored == ["b"]


async def test_a_signed_call_is_accepted_once_where_the_platform_signs_each_repeat() -> None:
    rig = DoorRig(once=True)
    call = rig.call("hello")

    statuses = [(await rig.door.answer(call)).status for _ in range(2)]
    rig.clock.advance(1)
    repeated = await rig.post("hello")

    assert (statuses, repeated) == ([200, 401], 200)
    rig.clock.advance(700)
    assert (await rig.door.answer(call)).status == 401


@pytest.mark.parametrize("ahead", [0, 299])
async def test_a_replay_is_remembered_for_as_long_as_it_could_be_accepted(ahead: int) -> None:
    rig = DoorRig(once=True)
    # The platform's clock may be ahead of ours: its call is recent for nearly twice the window.
    rig.clock.advance(ahead)
    call = rig.call("hello")
    rig.clock.advance(-ahead)
    first = await rig.door.answer(call)

    answers = []
    for _ in range(0, 300 + ahead, 10):
        answers.append(await rig.door.answer(call))
        rig.clock.advance(10)

    assert first.status == 200
    assert [one.status for one in answers] == [401] * len(answers)
    assert all(b"already accepted" in one.body for one in answers)


async def test_a_call_that_was_not_stored_is_taken_again_under_its_signature() -> None:
    rig = DoorRig(once=True)
    rig.inbox.fails["hello"] = [StoreError("the disk")]
    call = rig.call("hello")

    assert [(await rig.door.answer(call)).status for _ in range(3)] == [503, 200, 401]


async def test_a_channel_can_answer_itself() -> None:
    async def take(request: HttpRequest, accept: Accept) -> HttpResponse | None:
        return HttpResponse(status=202, body=request.body)

    answer = await DoorRig(take=take).door.answer(DoorRig().call("hello"))

    assert (answer.status, answer.body) == (202, b"hello")


async def test_twilio_signs_the_public_address_and_what_follows_it() -> None:
    seen: list[str] = []

    async def take(request: HttpRequest, accept: Accept) -> HttpResponse | None:
        seen.append(request.path)
        return None

    rig = DoorRig(take=take, proof=PUBLISHED["twilio"].row)
    public = "https://bot.example/webhooks/example/status?key=d_1%2F2"
    made = RequestValidator("a secret of some length").compute_signature(public, {"A": "b"})
    call = HttpRequest(
        method="POST",
        path="/webhooks/example/status",
        query={"key": "d_1/2"},
        query_string="key=d_1%2F2",
        headers={
            "x-twilio-signature": made,
            "content-type": "application/x-www-form-urlencoded",
            "host": "127.0.0.1:8080",
        },
        body=b"A=b",
    )

    statuses = [
        (await rig.door.answer(one)).status
        for one in (call, msgspec.structs.replace(call, query_string="key=d_1%2F3"))
    ]

    assert (statuses, seen) == ([200, 401], ["/webhooks/example/status"])


def test_a_glance_refuses_an_unsigned_call() -> None:
    rig = DoorRig()

    rig.door.glance(rig.call().headers, path="/webhooks/example")
    with pytest.raises(Unauthenticated):
        rig.door.glance({}, path="/webhooks/example")


HANDSHAKES: dict[Handshake, dict[str, Any]] = {
    "none": {},
    "meta_get": {"word": "verify_token"},
    "json_challenge": {},
    "echo_query": {"echo": "validationToken"},
    "wechat_echostr": {},
    "qq_op13": {"proof": PUBLISHED["qq"].row},
    "discord_ping": {},
}


@pytest.mark.parametrize("handshake", list(HANDSHAKES))
@given(
    body=st.binary(max_size=200)
    | st.sampled_from([b'{"op":13,"d":{"plain_token":', b"[" * 50_000, b'{"type":1}', b"{}"]),
    headers=st.dictionaries(
        st.sampled_from(["x-time", "x-signature", "x-signature-ed25519", "content-type"]),
        st.text(st.characters(max_codepoint=255), max_size=60),
    ),
    query=st.dictionaries(
        st.sampled_from(
            ["hub.mode", "hub.challenge", "hub.verify_token", "validationToken", "echostr"]
        ),
        st.text(max_size=60),
    ),
    method=st.sampled_from(["GET", "POST", "PUT", ""]),
)
async def test_any_call_of_a_stranger_has_a_clean_answer(
    handshake: Handshake, body: bytes, headers: dict[str, str], query: dict[str, str], method: str
) -> None:
    rig = DoorRig(handshake=handshake, **HANDSHAKES[handshake])
    call = HttpRequest(
        method=method, path="/webhooks/example", query=query, headers=headers, body=body
    )

    answer = await rig.door.answer(call)

    assert answer.status in {400, 401, 403, 405} or handshake == "echo_query"
    assert len(answer.body) < 5000
    assert rig.inbox.stored == []


@given(body=st.binary(max_size=300))
async def test_any_proven_body_has_a_clean_answer(body: bytes) -> None:
    rig = DoorRig()

    assert await rig.post(body) in {200, 400}
