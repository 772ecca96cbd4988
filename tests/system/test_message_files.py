"""Files of messages over HTTP: sent by REST and by the page, checked, kept once, and shown safely."""

import base64
import json
from collections.abc import Mapping
from io import BytesIO

import aiohttp
import pytest

from hermes.media.cache import CacheRules
from hermes.message.parts import FilePart, ImagePart, Part, TextPart
from tests.system.twin_gateway import Gateway, Options
from tests.unit.net.test_media_cache import bomb, png

Http = aiohttp.ClientSession
PAGE = b"<!doctype html><script>alert(1)</script>"


def form(message: Mapping[str, object], *files: tuple[str, bytes]) -> aiohttp.FormData:
    made = aiohttp.FormData()
    made.add_field("message", json.dumps(message))
    for name, data in files:
        made.add_field("file", BytesIO(data), filename=name)
    return made


def in_base64(name: str, data: bytes) -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(data).decode()}


def named(parts: tuple[Part, ...]) -> list[tuple[str, str | None]]:
    return [
        (part.media.mime, part.media.name)
        for part in parts
        if isinstance(part, ImagePart | FilePart)
    ]


@pytest.mark.req("A2")
async def test_rest_takes_files_in_base64_and_as_a_form(gateway: Gateway, http: Http) -> None:
    text = {"sender": "ann", "text": "look"}
    both = [in_base64("a.png", png()), in_base64("../b.txt", b"hello")]
    one = await http.post(
        "/api/messages", json={**text, "id": "1", "files": both}, headers=gateway.bearer
    )
    other = await http.post(
        "/api/messages",
        data=form({**text, "id": "2"}, ("a.png", png()), ("b.txt", b"hello")),
        headers=gateway.bearer,
    )
    assert (one.status, other.status) == (200, 200)
    events = gateway.gateway_api.messages()
    expected = [("image/png", "a.png"), ("text/plain", "b.txt")]
    assert [named(event.parts) for event in events] == [expected, expected]
    assert [event.parts[0] for event in events] == [TextPart("look"), TextPart("look")]

    # when the same request comes again, it is the same message, and another file is a conflict
    again = await http.post(
        "/api/messages", json={**text, "id": "1", "files": both}, headers=gateway.bearer
    )
    assert (await again.json())["duplicate"]
    changed = await http.post(
        "/api/messages", json={**text, "id": "1", "files": both[:1]}, headers=gateway.bearer
    )
    assert changed.status == 409


async def test_a_file_needs_no_text_and_is_shown_only_if_it_is_a_picture(
    gateway: Gateway, http: Http
) -> None:
    sent = await http.post(
        "/api/messages",
        data=form({"sender": "ann"}, ("cat.png", png()), ("cat.jpg", PAGE)),
        headers=gateway.bearer,
    )
    path = f"/api/messages/{(await sent.json())['id']}/files/sent"
    picture = await http.get(f"{path}/0", headers=gateway.bearer)
    page = await http.get(f"{path}/1", headers=gateway.bearer)
    heads = [
        (one.headers["content-type"], one.headers["content-disposition"]) for one in (picture, page)
    ]
    assert heads == [
        ("image/png", "inline; filename*=UTF-8''cat.png"),
        ("application/octet-stream", "attachment; filename*=UTF-8''cat.jpg"),
    ]
    assert {one.headers["x-content-type-options"] for one in (picture, page)} == {"nosniff"}
    assert page.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert (await picture.read(), await page.read()) == (png(), PAGE)

    # nothing else can be had: no other number, side or message, and nothing without a credential
    for wrong in (f"{path}/2", f"{path}/-1", f"{path}/x", path.replace("sent", "reply") + "/0"):
        assert (await http.get(wrong, headers=gateway.bearer)).status == 404
    assert (await http.get(f"/web{path[4:]}/0", headers=await gateway.cookie())).status == 404
    assert (await http.get(f"{path}/0")).status == 401


@pytest.mark.parametrize(
    ("message", "files", "status", "reason"),
    [
        ({}, [("a.txt", b"1")] * 3, 400, "more than 3 parts"),
        ({}, [("big.txt", b"1" * 1001)], 413, "'big.txt' is refused: it has 1001 bytes"),
        ({}, [("wide.png", png(200, 200))], 400, "200 x 200 pixels, which is too many"),
        ({}, [("empty.txt", b"")], 400, "'empty.txt' is empty"),
        ({"txt": 1}, [("a.txt", b"1")], 400, "unknown key 'txt'"),
    ],
)
async def test_rest_refuses_what_other_channels_refuse(
    options: Options,
    gateway: Gateway,
    http: Http,
    message: dict[str, object],
    files: list[tuple[str, bytes]],
    status: int,
    reason: str,
) -> None:
    gateway.files.rules = CacheRules(max_files=2, max_bytes=1000, max_pixels=10_000)
    made = form({"sender": "ann", **message}, *files)
    answer = await http.post("/api/messages", data=made, headers=gateway.bearer)
    body = await answer.json()
    assert (answer.status, reason in body["error"]["message"]) == (status, True), body
    assert gateway.gateway_api.messages() == ()


async def test_bombs_and_too_many_files_in_json_are_refused(gateway: Gateway, http: Http) -> None:
    for files, reason in (
        ([in_base64("z.zip", bomb())], "'z.zip' is refused"),
        ([in_base64("a", b"1")] * 11, "11 files; at most 10"),
        ([{"name": "a", "data": "not base64"}], "does not fit"),
        ([], "no 'text'"),
    ):
        answer = await http.post(
            "/api/messages", json={"sender": "ann", "files": files}, headers=gateway.bearer
        )
        assert (answer.status, reason in (await answer.json())["error"]["message"]) == (400, True)


async def test_a_body_over_the_limit_is_refused_before_it_is_read(
    gateway: Gateway, http: Http
) -> None:
    gateway.files.rules = CacheRules(max_bytes=1000)
    made = form({"sender": "ann"}, ("a.bin", bytes(2_200_000)))
    answer = await http.post("/api/messages", data=made, headers=gateway.bearer)
    assert answer.status == 413
    assert "at most 2098152" in (await answer.json())["error"]["message"]


@pytest.mark.req("W9")
async def test_only_the_page_itself_may_send_files_with_its_session(
    gateway: Gateway, http: Http
) -> None:
    cookie = await gateway.cookie()
    sent = {"conversation": "c", "id": "1"}
    elsewhere = {**cookie, "origin": "https://evil.example"}
    refused = await http.post("/web/messages", data=form(sent, ("a.png", png())), headers=elsewhere)
    assert refused.status == 403
    taken = await http.post("/web/messages", data=form(sent, ("a.png", png())), headers=cookie)
    assert taken.status == 200
    await taken.read()
    told = await (await http.get("/web/conversations/c", headers=cookie)).json()
    (message,) = told["messages"]
    assert message["files"] == [{"name": "a.png", "mime": "image/png", "size": len(png())}]
    shown = await http.get(f"/web/messages/{message['turn']['id']}/files/sent/0", headers=cookie)
    assert (shown.headers["content-type"], await shown.read()) == ("image/png", png())
    del cookie["origin"]
    assert (
        await http.get(shown.url.path, headers={"origin": "https://evil.example"})
    ).status == 401
