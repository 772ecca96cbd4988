"""The web chat's own interface over a real socket: signing in, forgery, conversations, files."""

import json

import aiohttp
import pytest

from hermes.channels.web.channel import WebSettings
from hermes.testing.gateway_api import Hold
from tests.system.test_http import events_of
from tests.system.twin_gateway import Gateway, Options, running_gateway

Http = aiohttp.ClientSession
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)


def message(text: str, *, message_id: str = "1") -> dict[str, str]:
    return {"conversation": "c1", "text": text, "id": message_id}


@pytest.mark.req("W9")
async def test_the_one_time_link_signs_in_once(gateway: Gateway, http: Http) -> None:
    link = (await gateway.link()).removeprefix(gateway.url)
    opened = await http.get(link, allow_redirects=False)
    assert (opened.status, opened.headers["location"]) == (303, "/")
    cookie = opened.headers["set-cookie"]
    assert "; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict" in cookie
    assert "Secure" not in cookie
    session = {"cookie": cookie.partition(";")[0]}
    page = await http.get("/", headers=session)
    assert "Message Hermes" in await page.text()

    elsewhere = await http.get(link, allow_redirects=False)
    assert elsewhere.status == 401
    assert "hermes link" in await elsewhere.text()
    same_browser = await http.get(link, headers=session, allow_redirects=False)
    assert same_browser.status == 303


@pytest.mark.req("W9")
async def test_a_browser_that_peeks_does_not_use_up_the_link(gateway: Gateway, http: Http) -> None:
    link = (await gateway.link()).removeprefix(gateway.url)
    assert (await http.get(link, headers={"sec-purpose": "prefetch"})).status == 503
    assert (await http.head(link)).status == 405
    assert (await http.get(link, allow_redirects=False)).status == 303


@pytest.mark.req("W9")
async def test_a_stranger_sees_how_to_sign_in(gateway: Gateway, http: Http) -> None:
    page = await http.get("/")
    text = await page.text()
    assert page.status == 200
    assert "hermes up" in text
    assert "hermes link" in text
    assert "Message Hermes" not in text


@pytest.mark.req("W9")
async def test_a_pasted_token_signs_in(gateway: Gateway, http: Http) -> None:
    by_script = await http.post("/signin", json={"token": gateway.token})
    assert (by_script.status, "set-cookie" in by_script.headers) == (200, True)
    by_form = await http.post("/signin", data={"token": gateway.token}, allow_redirects=False)
    assert (by_form.status, by_form.headers["location"]) == (303, "/")
    wrong = await http.post("/signin", json={"token": "wrong"})
    assert (wrong.status, "set-cookie" in wrong.headers) == (401, False)
    wrong_form = await http.post("/signin", data={"token": "wrong"})
    assert (wrong_form.status, "Unknown token" in await wrong_form.text()) == (401, True)
    foreign = {"origin": "https://evil.example"}
    assert (await http.post("/signin", json={"token": "x"}, headers=foreign)).status == 403
    assert (await http.post("/signin", data=b"x" * 5000)).status in {413, 415}


@pytest.mark.req("W34")
async def test_another_sites_page_cannot_ride_on_the_session(gateway: Gateway, http: Http) -> None:
    cookie = await gateway.cookie()
    forged = [
        {**cookie, "origin": "https://evil.example"},
        {**cookie, "origin": "null"},
        {"cookie": cookie["cookie"]},
        {**cookie, "sec-fetch-site": "cross-site"},
        {**cookie, "origin": gateway.url.replace("http:", "ftp:")},
    ]
    for headers in forged:
        for path in ("/web/messages", "/api/messages"):
            assert (await http.post(path, json=message("x"), headers=headers)).status == 403
        stop = {"conversation": "c1"}
        assert (await http.post("/web/stop", json=stop, headers=headers)).status == 403
    plain = {**cookie, "content-type": "text/plain"}
    assert (
        await http.post("/web/messages", data=json.dumps(message("x")), headers=plain)
    ).status == 400
    assert gateway.gateway_api.messages() == ()


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "path",
    [
        "/web/info",
        "/web/conversations",
        "/web/conversations/c",
        "/web/messages/m/events",
        "/web/messages/m/why",
    ],
)
async def test_everything_under_web_needs_a_session(
    gateway: Gateway, http: Http, path: str
) -> None:
    assert (await http.get(path)).status == 401
    assert (await http.get(f"{path}?token={gateway.token}")).status == 400


@pytest.mark.req("W9", "J1")
async def test_a_message_streams_and_is_kept_once(gateway: Gateway, http: Http) -> None:
    cookie = await gateway.cookie()
    for _ in range(2):
        answer = await http.post("/web/messages", json=message("hi"), headers=cookie)
        *_, (name, data) = [event async for event in events_of(answer)]
        assert (name, data["reply"]) == ("done", "You said: hi")
    assert [event.external_id for event in gateway.gateway_api.messages()] == ["1"]
    (event,) = gateway.gateway_api.messages()
    assert (event.source.platform, event.source.chat_id, event.source.user_id) == (
        "web",
        "c1",
        "owner",
    )


@pytest.mark.req("W9")
async def test_a_stream_resumes_where_the_reply_stands(gateway: Gateway, http: Http) -> None:
    cookie = await gateway.cookie()
    hold = Hold()
    gateway.script.on("tell", "Once ", hold, "upon a time")
    first = await http.post("/web/messages", json=message("tell"), headers=cookie)
    await hold.reached()
    first.close()
    kept = await (await http.get("/web/conversations/c1", headers=cookie)).json()
    (only,) = kept["messages"]
    assert (only["text"], only["turn"]["state"], only["turn"]["reply"]) == ("tell", "running", None)
    resumed = await http.get(f"/web/messages/{only['turn']['id']}/events", headers=cookie)
    seen = []
    async for name, data in events_of(resumed):
        seen.append((name, data.get("text", data.get("reply"))))
        if name == "delta":
            hold.release()
    assert seen == [
        ("accepted", None),
        ("delta", "Once "),
        ("delta", "upon a time"),
        ("done", "Once upon a time"),
    ]


@pytest.mark.req("W35")
@pytest.mark.parametrize("keep_alive_s", [0.05, 600.0])
async def test_a_stream_ends_with_its_session(options: Options, keep_alive_s: float) -> None:
    options.web = WebSettings(keep_alive_s=keep_alive_s)
    async with running_gateway(options) as gateway, Http(gateway.url) as http:
        cookie = await gateway.cookie()
        hold = Hold()
        gateway.script.on("tell", "Once ", hold, "upon a time")
        running = await http.post("/web/messages", json=message("tell"), headers=cookie)
        await hold.reached()

        assert (await http.post("/signout", headers=cookie)).status == 200
        if keep_alive_s == 600.0:
            hold.release()

        seen = [name async for name, _ in events_of(running)]
    assert "done" not in seen


@pytest.mark.req("W16", "W18")
async def test_stop_ends_the_running_reply_and_leaves_no_trace_on_the_page(
    gateway: Gateway, http: Http
) -> None:
    cookie = await gateway.cookie()
    hold = Hold()
    gateway.script.on("tell", "Once ", hold)
    running = await http.post("/web/messages", json=message("tell"), headers=cookie)
    await hold.reached()
    stopped = await http.post("/web/stop", json={"conversation": "c1"}, headers=cookie)
    assert stopped.status == 202
    *_, (_, done) = [event async for event in events_of(running)]
    assert (done["outcome"], done["reply"]) == ("interrupted", "Once ")
    assert [(e.type, e.text) for e in gateway.gateway_api.messages()] == [
        ("text", "tell"),
        ("command", "/stop"),
    ]
    kept = await (await http.get("/web/conversations/c1", headers=cookie)).json()
    assert [one["text"] for one in kept["messages"]] == ["tell"]


@pytest.mark.req("W9")
async def test_conversations_are_listed_newest_first(gateway: Gateway, http: Http) -> None:
    cookie = await gateway.cookie()
    for number, chat in enumerate(["a", "b"]):
        body = {"conversation": chat, "text": f"about {chat}", "id": str(number)}
        await (await http.post("/web/messages", json=body, headers=cookie)).read()
    listed = await (await http.get("/web/conversations", headers=cookie)).json()
    assert [(row["id"], row["title"]) for row in listed["conversations"]] == [
        ("b", "about b"),
        ("a", "about a"),
    ]


@pytest.mark.req("W9")
async def test_a_conversation_is_told_in_pages_over_its_epochs(
    gateway: Gateway, http: Http
) -> None:
    cookie = await gateway.cookie()
    for number, text in enumerate(["one", "two", "/new", "three", "/new"]):
        body = {"conversation": "c1", "text": text, "id": str(number)}
        await (await http.post("/web/messages", json=body, headers=cookie)).read()

    async def page(**query: str) -> tuple[object, list[tuple[object, object]], str | None]:
        answer = await http.get("/web/conversations/c1", params=query, headers=cookie)
        kept = await answer.json()
        told = [(one["epoch"], one["text"]) for one in kept["messages"]]
        return kept["epoch"], told, kept["earlier"]

    assert await page() == (2, [(0, "one"), (0, "two"), (1, "three")], None)
    epoch, newest, earlier = await page(limit="2")
    assert (epoch, newest) == (2, [(0, "two"), (1, "three")])
    assert await page(limit="2", before=earlier or "") == (2, [(0, "one")], None)


@pytest.mark.req("W9")
@pytest.mark.parametrize("query", ["limit=0", "limit=x", "limit=-1", "limit=", "before=x"])
async def test_a_page_that_there_cannot_be_is_refused(
    gateway: Gateway, http: Http, query: str
) -> None:
    cookie = await gateway.cookie()
    answer = await http.get(f"/web/conversations/c1?{query}", headers=cookie)
    assert answer.status == 400


@pytest.mark.req("A8")
async def test_a_refused_web_message_is_recorded(gateway: Gateway, http: Http) -> None:
    cookie = await gateway.cookie()
    answer = await http.post("/web/messages", json=message("  "), headers=cookie)
    error = (await answer.json())["error"]
    assert (answer.status, error["refusal"]) == (400, gateway.gateway_api.refusals[0].id)


@pytest.mark.req("W34")
async def test_messages_of_other_channels_are_not_shown(gateway: Gateway, http: Http) -> None:
    cookie = await gateway.cookie()
    body = {"sender": "ann", "text": "hi"}
    rest = await (await http.post("/api/messages", json=body, headers=gateway.bearer)).json()
    assert (await http.get(f"/web/messages/{rest['id']}/events", headers=cookie)).status == 404


@pytest.mark.req("W34")
@pytest.mark.parametrize("path", ["/", "/signin", "/assets/app.js", "/assets/base.css"])
async def test_pages_and_files_carry_the_strict_policy(
    gateway: Gateway, http: Http, path: str
) -> None:
    answer = await http.get(path)
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    text = await answer.text()
    assert "innerHTML" not in text
    assert "style=" not in text
    assert "https://" not in text.replace('"https://"', "").replace("https?:", "")


@pytest.mark.req("W9")
async def test_files_are_cached_by_tag_and_only_the_pages_own(gateway: Gateway, http: Http) -> None:
    answer = await http.get("/assets/app.js")
    tag = answer.headers["etag"]
    again = await http.get("/assets/app.js", headers={"if-none-match": tag})
    assert (again.status, await again.read()) == (304, b"")
    for name in ("index.html", "manifest.toml", "..%2Fchannel.py", "%2e%2e/channel.py", "none.js"):
        assert (await http.get(f"/assets/{name}")).status == 404


@pytest.mark.req("A6", "W34")
async def test_the_story_of_a_message_is_the_owners_and_only_of_this_page(
    gateway: Gateway, http: Http
) -> None:
    cookie = await gateway.cookie()
    answer = await http.post("/web/messages", json=message("hi"), headers=cookie)
    (own,) = [data["id"] async for name, data in events_of(answer) if name == "accepted"]
    rest = await http.post(
        "/api/messages", json={"sender": "bob", "text": "hi"}, headers=gateway.bearer
    )
    other = (await rest.json())["id"]

    answer = await http.get(f"/web/messages/{own}/why", headers=cookie)
    found = await answer.json()
    assert (answer.status, found["story"]["id"], found["conversation"]) == (200, own, "c1")
    assert (await http.get(f"/web/messages/{other}/why", headers=cookie)).status == 404
    operator = await gateway.access.make_token("op", role="operator")
    bearer = {"authorization": f"Bearer {operator}"}
    assert (await http.get(f"/web/messages/{own}/why", headers=bearer)).status == 403
    page = await http.get(f"/why/{own}", headers=cookie)
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "Why?" in await page.text()
    assert "Welcome to Hermes" in await (await http.get(f"/why/{own}")).text()
