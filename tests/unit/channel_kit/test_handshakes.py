"""How a platform tries out an address: answered as it wants, and never a way to forge an event."""

from typing import Any

import msgspec
import pytest

from hermes.channel_kit.ed25519 import is_signed_by
from hermes.channel_kit.proof import sign
from hermes.ports.channel import HttpRequest, HttpResponse
from tests.unit.channel_kit.door_rig import DoorRig
from tests.unit.channel_kit.proof_rows import PUBLISHED


async def get(rig: DoorRig, **query: str) -> HttpResponse:
    named = {name.replace("_", ".", 1): value for name, value in query.items()}
    call = HttpRequest(method="GET", path="/webhooks/example", query=named, headers={}, body=b"")
    return await rig.door.answer(call)


def told(answer: HttpResponse) -> Any:
    return msgspec.json.decode(answer.body)


async def test_meta_gets_its_challenge_for_the_right_word() -> None:
    rig = DoorRig(handshake="meta_get", word="verify_token", is_open=False)

    right = await get(
        rig, hub_mode="subscribe", hub_challenge="1158201444", hub_verify_token="the word"
    )
    wrong = await get(rig, hub_mode="subscribe", hub_challenge="1", hub_verify_token="the wor")

    assert (right.status, right.body) == (200, b"1158201444")
    assert right.content_type.startswith("text/plain")
    assert wrong.status == 403
    assert (await get(rig)).status == 400


async def test_no_word_is_not_the_empty_word() -> None:
    rig = DoorRig(handshake="meta_get", word="never_set")

    answer = await get(rig, hub_mode="subscribe", hub_challenge="1", hub_verify_token="")

    assert answer.status == 403


async def test_slack_gets_its_challenge_only_if_it_has_signed() -> None:
    rig = DoorRig(handshake="json_challenge")
    body = b'{"type": "url_verification", "challenge": "3eZbrw1aB"}'

    assert told(await rig.door.answer(rig.call(body))) == {"challenge": "3eZbrw1aB"}
    assert await rig.post(body, headers={}) == 401


async def test_a_message_that_speaks_of_the_challenge_is_a_message() -> None:
    rig = DoorRig(handshake="json_challenge")

    assert await rig.post("what is url_verification?") == 200
    assert rig.inbox.stored == ["what is url_verification?"]


async def test_feishu_shows_its_word_in_the_body() -> None:
    rig = DoorRig(handshake="json_challenge", word="verify_token")
    right = b'{"type": "url_verification", "challenge": "c", "token": "the word"}'

    assert told(await rig.door.answer(rig.call(right))) == {"challenge": "c"}
    assert await rig.post(right.replace(b"the word", b"a word")) == 403


async def test_graph_gets_its_parameter_back_without_a_proof_and_bounded() -> None:
    rig = DoorRig(handshake="echo_query", echo="validationToken")
    call = HttpRequest(
        method="POST",
        path="/webhooks/example",
        query={"validationToken": "<b>x</b>" + "y" * 5000},
        headers={},
        body=b"",
    )

    answer = await rig.door.answer(call)

    assert (answer.status, len(answer.body)) == (200, 1000)
    assert answer.content_type.startswith("text/plain")
    assert answer.headers == {"x-content-type-options": "nosniff"}


async def test_discord_pings() -> None:
    rig = DoorRig(handshake="discord_ping")

    assert told(await rig.door.answer(rig.call(b'{"type": 1}'))) == {"type": 1}
    assert await rig.post(b'{"type": 1}', headers={}) == 401
    assert await rig.post(b'{"type": 2}') == 200


QQ = PUBLISHED["qq"].row


def qq_check(token: Any, at: Any) -> HttpRequest:
    body = msgspec.json.encode({"d": {"plain_token": token, "event_ts": at}, "op": 13})
    return HttpRequest(method="POST", path="/webhooks/example", query={}, headers={}, body=body)


async def test_qq_gets_the_signature_of_its_own_documentation() -> None:
    rig = DoorRig(handshake="qq_op13", proof=QQ, secret="DG5g3B4j9X2KOErG")

    answer = await rig.door.answer(qq_check("Arq0D5A61EgUu4OxUvOp", "1725442341"))

    assert told(answer) == {
        "plain_token": "Arq0D5A61EgUu4OxUvOp",
        "signature": "87befc99c42c651b3aac0278e71ada338433ae26fcb24307bdc5ad38c1adc2d0"
        "1bcfcadc0842edac85e85205028a1132afe09280305f13aa6909ffc2d652c706",
    }


@pytest.mark.parametrize(
    ("token", "at"),
    [
        ('{"op":0,"d":{}}', "1725442341"),
        ("token", '1725442341{"op":0}'),
        ("", "1725442341"),
        ("t" * 101, "1725442341"),
        ("to\nken", "1"),
        (1, 1),
        ("token", None),
    ],
)
async def test_nothing_is_signed_that_could_be_an_event(token: Any, at: Any) -> None:
    rig = DoorRig(handshake="qq_op13", proof=QQ)

    assert (await rig.door.answer(qq_check(token, at))).status in {400, 401}


@pytest.mark.quality("authentication before reading")
async def test_a_long_body_that_nobody_has_signed_is_not_read_as_a_check() -> None:
    rig = DoorRig(handshake="qq_op13", proof=QQ)
    check = qq_check("token", "1725442341")
    padded = msgspec.structs.replace(check, body=check.body + b" " * 4096)

    answers = [(await rig.door.answer(call)).status for call in (check, padded)]

    assert answers == [200, 401]


async def test_what_is_signed_for_a_check_proves_no_event() -> None:
    rig = DoorRig(handshake="qq_op13", proof=QQ)
    made = told(await rig.door.answer(qq_check("token", 1725442341)))
    call = HttpRequest(
        method="POST",
        path="/webhooks/example",
        query={},
        headers={"x-signature-timestamp": "1725442341", "x-signature-ed25519": made["signature"]},
        body=b'{"op":0}',
    )

    assert (await rig.door.answer(call)).status == 401
    assert is_signed_by(
        "a secret of some length", made["signature"].encode(), signed=b"1725442341token"
    )


async def test_wechat_gets_its_text_only_if_it_is_signed() -> None:
    official = msgspec.structs.replace(
        PUBLISHED["wecom"].row,
        at="query:signature",
        secret="app_secret",
        signs=("secret", "query:timestamp", "query:nonce"),
    )
    rig = DoorRig(handshake="wechat_echostr", proof=official, methods=("GET", "POST"))
    signed = rig.call(
        b"", method="GET", query={"timestamp": "1", "nonce": "2", "echostr": "4375120948345356249"}
    )
    right = sign(official, signed, secret="a secret of some length", now=0)
    answer = await rig.door.answer(right)
    other = msgspec.structs.replace(right, query={**right.query, "nonce": "3"})

    assert (answer.status, answer.body) == (200, b"4375120948345356249")
    assert (await rig.door.answer(other)).status == 401
