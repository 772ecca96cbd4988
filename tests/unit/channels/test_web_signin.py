"""Signing a browser in and out: the link, the pasted token, and pages of other sites."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

import msgspec
import pytest
from starlette.types import Message

from hermes.channels.web.signin import SignInPages
from hermes.control.tokens import token_digest
from hermes.errors import BadRequest, Forbidden, TooLarge, Unauthenticated
from hermes.http.assets import read_assets
from hermes.http.route import HttpExchange
from hermes.http.same_origin import Origins
from hermes.message.ids import make_id
from hermes.ports.access import Newcomer
from hermes.ports.channel import HttpResponse
from hermes.server.auth import StoredAccess
from hermes.testing.access import MemoryAccessStore
from hermes.testing.gateway_api import MemoryGatewayApi, Script
from hermes.testing.manual_time import ManualClock

pytestmark = pytest.mark.req("W35")
JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
FOREIGN = {"origin": "http://evil.test"}


class Door:
    """The pages, with the access control behind them."""

    def __init__(self) -> None:
        clock = ManualClock()
        self.store = MemoryAccessStore()
        self.access = StoredAccess(self.store, clock=clock)
        api = MemoryGatewayApi(Script(), access=self.access, clock=clock, make_id=make_id)
        self.pages = SignInPages(
            api,
            self.access,
            assets=read_assets("hermes.channels.web"),
            origins=Origins(bound_host="127.0.0.1"),
            body_timeout_s=30.0,
        )

    def asking(
        self, headers: Mapping[str, str] | None = None, *, query: str = "", body: bytes = b""
    ) -> HttpExchange:
        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        sent = {"host": "127.0.0.1:8080", **(headers or {})}
        pairs = [(name.encode(), value.encode()) for name, value in sent.items()]
        scope = {"type": "http", "method": "POST", "scheme": "http", "path": "/signin"}
        return HttpExchange({**scope, "query_string": query.encode(), "headers": pairs}, receive)

    async def open_link(self, code: str, headers: Mapping[str, str] | None = None) -> HttpResponse:
        query = f"code={code}" if code else ""
        found = await self.pages.open_link(self.asking(headers, query=query))
        assert isinstance(found, HttpResponse)
        return found

    async def paste(self, token: str, headers: Mapping[str, str]) -> HttpResponse:
        is_form = headers["content-type"] == FORM["content-type"]
        form = urlencode({"token": token}).encode()
        body = form if is_form else msgspec.json.encode({"token": token})
        found = await self.pages.paste_token(self.asking(headers, body=body))
        assert isinstance(found, HttpResponse)
        return found


def session_of(answer: HttpResponse) -> dict[str, str]:
    """Return the cookie that an answer sets, as a browser sends it."""
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


@pytest.fixture
def door() -> Door:
    return Door()


async def test_a_link_signs_in_once_and_opens_again_in_its_own_browser(door: Door) -> None:
    code = await door.access.make_signin_code()

    first = await door.open_link(code)
    again = await door.open_link(code, session_of(first))
    elsewhere = await door.open_link(code)

    assert (first.status, first.headers["location"]) == (303, "/")
    assert (await door.access.authenticate(session_of(first))).kind == "browser"
    assert (again.status, "set-cookie" in again.headers) == (303, False)
    assert (elsewhere.status, "set-cookie" in elsewhere.headers) == (401, False)


async def test_a_link_is_not_used_up_by_a_browser_that_looks_ahead(door: Door) -> None:
    code = await door.access.make_signin_code()

    early = await door.open_link(code, {"sec-purpose": "prefetch;prerender"})
    page = await door.open_link("")

    assert (early.status, page.status) == (503, 200)
    assert (await door.open_link(code)).status == 303


@pytest.mark.parametrize(("kind", "status"), [(JSON, 200), (FORM, 303)])
async def test_a_pasted_token_signs_in(door: Door, kind: dict[str, str], status: int) -> None:
    answer = await door.paste(await door.access.make_token("mine"), kind)

    assert answer.status == status
    assert (await door.access.authenticate(session_of(answer))).kind == "browser"


async def test_a_wrong_token_does_not(door: Door) -> None:
    with pytest.raises(Unauthenticated):
        await door.paste("hermes_wrong", JSON)
    form = await door.paste("hermes_wrong", FORM)

    assert (form.status, "set-cookie" in form.headers) == (401, False)


async def test_a_token_comes_as_json_or_as_a_form_and_is_short(door: Door) -> None:
    other = await door.paste("hermes_x", {"content-type": "text/plain"})

    assert other.status == 415
    with pytest.raises(TooLarge):
        await door.paste("x" * 5_000, JSON)


@pytest.mark.parametrize(
    ("headers", "is_own"),
    [
        ({}, True),
        ({"origin": "http://127.0.0.1:8080"}, True),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, True),
        ({"origin": "null", "sec-fetch-site": "cross-site"}, False),
        (FOREIGN, False),
    ],
)
async def test_another_sites_page_cannot_sign_anybody_in(
    door: Door, headers: dict[str, str], is_own: bool
) -> None:
    token = await door.access.make_token("mine")
    refused = 0
    try:
        await door.paste(token, {**JSON, **headers})
    except Forbidden:
        refused = 1

    assert refused == (not is_own)


async def test_a_browser_signs_out_and_its_cookie_goes(door: Door) -> None:
    session = session_of(await door.paste(await door.access.make_token("mine"), JSON))
    own = {**session, "origin": "http://127.0.0.1:8080"}

    with pytest.raises(Forbidden):
        await door.pages.sign_out(door.asking({**session, **FOREIGN}))
    answer = await door.pages.sign_out(door.asking(own))

    assert isinstance(answer, HttpResponse)
    assert msgspec.json.decode(answer.body) == {"signed_out": True}
    assert "Max-Age=0" in answer.headers["set-cookie"]
    with pytest.raises(Unauthenticated):
        await door.access.authenticate(session)


async def test_a_token_cannot_sign_out(door: Door) -> None:
    token = await door.access.make_token("mine")

    with pytest.raises(BadRequest, match="hermes token revoke"):
        await door.pages.sign_out(door.asking({"authorization": f"Bearer {token}"}))


async def invite(door: Door, user: str) -> str:
    """Return the code of an invitation, as it is shown."""
    code = f"ABCDEFGHJKLMNPQ{user[0].upper()}"
    await door.store.invite(
        token_digest(code), Newcomer(user=user), role="person", at=0.0, expires_at=9e9
    )
    return f"{code[:8]}-{code[8:]}"


async def test_the_link_of_an_invitation_asks_before_it_signs_in(door: Door) -> None:
    code = await invite(door, "ann")

    pages = [await door.open_link(code) for _ in range(3)]
    answer = await door.paste(code, {**FORM, "origin": "null", "sec-fetch-site": "same-origin"})
    again = await door.paste(code, FORM)

    assert [(one.status, "set-cookie" in one.headers) for one in pages] == [(200, False)] * 3
    assert b'name="token" value="ABCDEFGHJKLMNPQA"' in pages[0].body
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert (await door.access.authenticate(session_of(answer))).user == "ann"
    assert again.status == 401


@pytest.mark.parametrize("code", ['"><script>alert(1)</script>', "ABCD" * 5, "ABCDEFGHIJKLMNOP"])
async def test_only_what_can_be_a_code_is_on_the_page_of_an_invitation(
    door: Door, code: str
) -> None:
    page = await door.open_link(quote(code))

    assert (page.status, b"alert(1)" in page.body, b"ABCDABCD" in page.body) == (401, False, False)


async def test_a_sign_in_ends_the_session_that_the_browser_had(door: Door) -> None:
    owner = session_of(await door.paste(await door.access.make_token("mine"), JSON))

    ann = session_of(await door.paste(await invite(door, "ann"), {**JSON, **owner}))

    assert owner != ann
    assert (await door.access.authenticate(ann)).user == "ann"
    with pytest.raises(Unauthenticated):
        await door.access.authenticate(owner)


async def test_who_is_blocked_is_not_signed_in(door: Door) -> None:
    code = await invite(door, "ann")
    door.store.blocked.add("ann")

    form = await door.paste(code, FORM)
    with pytest.raises(Forbidden, match="blocked"):
        await door.paste(code, JSON)

    assert (form.status, "set-cookie" in form.headers) == (401, False)
