"""Who may speak over HTTP, and for how long."""

import pytest

from hermes.control.tokens import token_digest
from hermes.errors import Forbidden, Unauthenticated
from hermes.ports.access import Newcomer, OperatorRole, Role
from hermes.ports.gateway_api import Caller
from hermes.server.auth import AccessTimes, StoredAccess, operating, session_in, speaking
from hermes.testing.access import MemoryAccessStore
from hermes.testing.manual_time import ManualClock


class CountingBytes:
    """Different bytes on every call, the same in every run."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, size: int) -> bytes:
        self._count += 1
        return self._count.to_bytes(size, "big")


class SeenStore(MemoryAccessStore):
    """Remembers the digests that were kept."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, bytes]] = []

    async def add(
        self,
        kind: str,
        digest: bytes,
        *,
        label: str,
        expires_at: float | None,
        role: Role = "owner",
        parent: bytes | None = None,
        may_delegate: bool = False,
        user: str = "",
    ) -> None:
        self.seen.append((kind, digest))
        await super().add(
            kind,
            digest,
            label=label,
            expires_at=expires_at,
            role=role,
            parent=parent,
            may_delegate=may_delegate,
            user=user,
        )


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store() -> SeenStore:
    return SeenStore()


@pytest.fixture
def access(clock: ManualClock, store: SeenStore) -> StoredAccess:
    return StoredAccess(
        store,
        clock=clock,
        times=AccessTimes(code_s=60.0, session_s=1000.0),
        local_token="local",
        random_bytes=CountingBytes(),
    )


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.req("W35")
async def test_a_token_is_known_and_only_its_hash_is_kept(
    access: StoredAccess, store: SeenStore
) -> None:
    token = await access.make_token("ci")
    known = await access.authenticate(bearer(token))
    assert known == Caller("token", "api", "owner", known.id, user="owner")
    assert [(kind, len(digest)) for kind, digest in store.seen] == [("token", 32)]
    assert token.encode() not in store.seen[0][1]


@pytest.mark.req("W35")
async def test_the_command_line_is_the_local_caller(access: StoredAccess) -> None:
    assert await access.authenticate(bearer("local")) == Caller("local", "cli", user="owner")


@pytest.mark.req("W35")
async def test_a_code_works_once_and_for_a_while(access: StoredAccess, clock: ManualClock) -> None:
    code = await access.make_signin_code()
    session = await access.sign_in(code)
    cookie = {"cookie": f"other=1; hermes_session={session}"}
    caller = await access.authenticate(cookie)
    assert caller == Caller("browser", "owner", session=caller.session, user="owner")
    with pytest.raises(Unauthenticated, match="hermes link"):
        await access.sign_in(code)
    late = await access.make_signin_code()
    clock.advance(60.0)
    with pytest.raises(Unauthenticated, match="hermes link"):
        await access.sign_in(late)


@pytest.mark.req("W35")
async def test_a_session_ends(access: StoredAccess, clock: ManualClock) -> None:
    session = await access.sign_in_with_token(await access.make_token("ci"))
    headers = {"cookie": f"hermes_session={session}"}
    clock.advance(999.0)
    await access.authenticate(headers)
    clock.advance(1.0)
    with pytest.raises(Unauthenticated, match="expired"):
        await access.authenticate(headers)


@pytest.mark.req("W35")
async def test_one_kind_of_secret_does_not_pass_for_another(access: StoredAccess) -> None:
    token = await access.make_token("ci")
    code = await access.make_signin_code()
    session = await access.sign_in(await access.make_signin_code())
    wrong = [
        bearer(code),
        bearer(session),
        bearer(""),
        {"authorization": token},
        {"authorization": f"Basic {token}"},
        {"cookie": f"hermes_session={token}"},
        {"cookie": f"hermes_session={code}"},
        {},
        {"cookie": "hermes_session"},
        # A bad header is not rescued by a good cookie.
        {**bearer("wrong"), "cookie": f"hermes_session={session}"},
    ]
    for headers in wrong:
        with pytest.raises(Unauthenticated):
            await access.authenticate(headers)
    with pytest.raises(Unauthenticated):
        await access.sign_in(token)
    with pytest.raises(Unauthenticated):
        await access.sign_in_with_token(code)


@pytest.mark.req("W35")
def test_the_cookie_keeps_scripts_and_other_sites_away(access: StoredAccess) -> None:
    assert access.cookie("s", secure=True) == (
        "hermes_session=s; Path=/; Max-Age=1000; HttpOnly; SameSite=Strict; Secure"
    )
    assert access.cookie("s", secure=False).endswith("SameSite=Strict")


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    ("cookies", "session"),
    [
        ("hermes_session=a", "a"),
        ('weird="x; y"; hermes_session=a; z={"j":1}', "a"),
        ("hermes_session=a=b", "a=b"),
        ("xhermes_session=a", None),
        ("", None),
    ],
)
def test_the_session_is_found_among_other_cookies(cookies: str, session: str | None) -> None:
    assert session_in(cookies) == session


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    ("role", "user", "may_speak"),
    [("viewer", "", False), ("operator", "", True), ("owner", "owner", True)],
)
async def test_a_token_signs_a_browser_in_with_its_role_and_only_the_owners_may_chat(
    access: StoredAccess, role: OperatorRole, user: str, may_speak: bool
) -> None:
    token = await access.make_token("mine", role=role)

    caller = await access.authenticate(bearer(token))
    session = await access.sign_in_with_token(token)
    signed_in = await access.authenticate({"cookie": f"hermes_session={session}"})

    assert (caller.kind, caller.role, caller.id[:2]) == ("token", role, "t_")
    assert (signed_in.kind, signed_in.role, signed_in.user) == ("browser", role, user)
    refused = 0
    for one in (caller, signed_in):
        try:
            speaking(one)
        except Forbidden:
            refused += 1
    assert refused == (0 if may_speak else 2)


@pytest.mark.req("W35")
async def test_a_browser_ends_with_the_token_that_signed_it_in(
    access: StoredAccess, store: SeenStore
) -> None:
    owner = await access.make_token("mine")
    session = await access.sign_in_with_token(owner)
    by_link = await access.sign_in(await access.make_signin_code())
    signed_in = await access.authenticate({"cookie": f"hermes_session={session}"})

    assert await store.revoke(signed_in.id)

    with pytest.raises(Unauthenticated):
        await access.authenticate({"cookie": f"hermes_session={session}"})
    with pytest.raises(Unauthenticated):
        await access.authenticate(bearer(owner))
    assert (await access.authenticate({"cookie": f"hermes_session={by_link}"})).role == "owner"


@pytest.mark.req("W35")
@pytest.mark.parametrize("way", ["token", "link", "link of its browser"])
async def test_a_browser_ends_when_the_token_that_signed_it_in_expires(
    access: StoredAccess, store: SeenStore, clock: ManualClock, way: str
) -> None:
    token = "hermes_for-a-while"
    ends = clock.now() + 100.0
    await store.add("token", token_digest(token), label="ci", expires_at=ends)
    session = await access.sign_in_with_token(token)
    if way != "token":
        maker = await access.authenticate(bearer(token))
        session = await access.sign_in(await access.make_signin_code(maker.id))
    if way == "link of its browser":
        browser = await access.authenticate({"cookie": f"hermes_session={session}"})
        session = await access.sign_in(await access.make_signin_code(browser.session))
    headers = {"cookie": f"hermes_session={session}"}

    clock.advance(99.0)
    assert (await access.authenticate(headers)).kind == "browser"
    clock.advance(1.0)
    with pytest.raises(Unauthenticated):
        await access.authenticate(headers)


@pytest.mark.req("W35")
async def test_signing_out_leaves_the_browsers_that_were_signed_in_from_there(
    access: StoredAccess, store: SeenStore
) -> None:
    token = await access.make_token("mine")
    laptop = {"cookie": f"hermes_session={await access.sign_in_with_token(token)}"}
    maker = (await access.authenticate(laptop)).session
    phone = {
        "cookie": f"hermes_session={await access.sign_in(await access.make_signin_code(maker))}"
    }
    unused = await access.make_signin_code(maker)

    assert await access.sign_out(laptop)
    assert not await access.sign_out(laptop)

    with pytest.raises(Unauthenticated):
        await access.sign_in(unused)
    owner = await access.authenticate(bearer(token))
    assert (await access.authenticate(phone)).id == owner.id
    assert await store.revoke(owner.id)
    with pytest.raises(Unauthenticated):
        await access.authenticate(phone)


@pytest.mark.req("W35")
async def test_a_revoked_credential_makes_no_link(access: StoredAccess, store: SeenStore) -> None:
    maker = (await access.authenticate(bearer(await access.make_token("mine")))).id
    await store.revoke(maker)

    with pytest.raises(Unauthenticated, match="has ended"):
        await access.make_signin_code(maker)


@pytest.mark.req("W35")
async def test_a_session_says_how_it_was_signed_in_and_when_it_was_last_used(
    access: StoredAccess, store: SeenStore, clock: ManualClock
) -> None:
    token = await access.make_token("mine")
    pasted = await access.sign_in_with_token(token)
    await access.sign_in_with_token(token, browser="Firefox")
    made = {one.label: one.seen_at for one in await store.list("session")}

    clock.advance(500.0)
    await access.authenticate({"cookie": f"hermes_session={pasted}"})
    used = {one.label: one.seen_at for one in await store.list("session")}

    assert made == {"token": None, "Firefox": None}
    assert used == {"token": clock.now(), "Firefox": None}


@pytest.mark.req("W35")
async def test_only_a_sign_in_link_signs_in(access: StoredAccess) -> None:
    token = await access.make_token("mine")
    session = await access.sign_in_with_token(token)

    for other in (token, session):
        with pytest.raises(Unauthenticated):
            await access.sign_in(other)


async def invitation(store: SeenStore, user: str, *, role: Role = "person") -> str:
    code = "ABCDEFGHJKLMNPQ" + user[0].upper()
    await store.invite(token_digest(code), Newcomer(user=user), role=role, at=0.0, expires_at=2e9)
    return code


@pytest.mark.req("W35")
@pytest.mark.parametrize("typed", ["{}", " {} ", "{0:.4}-{1}", "{0:.4} {1}"])
async def test_an_invitation_signs_its_person_in_once_however_it_is_typed(
    access: StoredAccess, store: SeenStore, typed: str
) -> None:
    code = (await invitation(store, "ann")).lower()

    session = await access.sign_in(typed.format(code, code[4:]), browser="Firefox")
    caller = await access.authenticate({"cookie": f"hermes_session={session}"})

    assert (caller.kind, caller.role, caller.user) == ("browser", "person", "ann")
    with pytest.raises(Unauthenticated, match="invitation was used"):
        await access.sign_in(code)


@pytest.mark.req("W35")
async def test_a_person_gives_no_orders_and_speaks_for_nobody(
    access: StoredAccess, store: SeenStore
) -> None:
    session = await access.sign_in(await invitation(store, "ann"))
    caller = await access.authenticate({"cookie": f"hermes_session={session}"})

    for door in (operating, speaking):
        with pytest.raises(Forbidden, match="for operators"):
            door(caller)


@pytest.mark.req("W35")
async def test_people_list_and_end_their_own_sessions_alone(
    access: StoredAccess, store: SeenStore
) -> None:
    anns = [await access.sign_in(await invitation(store, "ann"), browser="A")]
    anns += [await access.admit(Newcomer(user="ann"), browser="B") for _ in range(2)]
    bobs = await access.sign_in(await invitation(store, "bob"), browser="C")
    ann = await access.authenticate({"cookie": f"hermes_session={anns[0]}"})
    bob = await access.authenticate({"cookie": f"hermes_session={bobs}"})

    foreign = await access.end_sessions(ann, only=bob.session)
    one = (await access.sessions_of(ann))[0]
    ended = await access.end_sessions(ann, only=one.id)
    others = await access.end_sessions(ann)

    assert (foreign, one.label, ended, others) == (0, "B", 1, 1)
    assert [left.id for left in await access.sessions_of(ann)] == [ann.session]
    assert [left.id for left in await access.sessions_of(bob)] == [bob.session]
