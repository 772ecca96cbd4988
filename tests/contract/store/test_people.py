"""People, channels and one-time codes on the real store; the limits hold whatever is tried."""

import asyncio
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.errors import Conflict, NotFound
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.people.pairing import LENGTH, LETTERS, PAIRING, CodeLimits
from hermes.people.reception import LINKING
from hermes.ports.inbox import NewMessage
from hermes.ports.keys import CallerKey
from hermes.ports.pairing import PairingAsk, PairingAskResult
from hermes.ports.people import ChannelAccess
from hermes.ports.store import Store
from hermes.ports.wallet import NewGrant
from tests.stores.opening import opened, raw_bytes, tables

NOW = 1_700_000_000.0
HOUR = 3_600.0


def code_of(number: int) -> str:
    """Return a code that no other number has."""
    letters = []
    for _ in range(LENGTH):
        number, rest = divmod(number, len(LETTERS))
        letters.append(LETTERS[rest])
    return "".join(letters)


async def ask(
    store: Store,
    user: str,
    *,
    code: str = "AAAAAAAA",
    platform: str = "telegram",
    at: float = NOW,
    message: str | None = None,
    rules: CodeLimits = PAIRING,
) -> PairingAskResult:
    wish = PairingAsk(
        platform=platform,
        user_id=user,
        person_id=f"p_{user}",
        message_id=message or f"m_{user}_{at}",
        code=code,
        at=at,
    )
    return await store.pairing.ask(wish, rules=rules)


async def approve(store: Store, code: str, *, platform: str = "telegram", at: float = NOW) -> str:
    settled = await store.pairing.approve(platform, code, at=at, rules=PAIRING)
    return f"{settled.verdict} {settled.user_id}".strip()


async def write(store: Store, user: str, *, platform: str = "telegram", text: str = "hi") -> str:
    """Let somebody write; return their person's id."""
    event = MessageEvent(
        account="a",
        route="r",
        external_id=f"{platform}:{user}:{text}",
        source=Source(platform=platform, chat_id=user, user_id=user, user_name=f"Name of {user}"),
        parts=(TextPart(text),),
        at=NOW,
    )
    lane = f"agent:main:{platform}:dm:{user}"
    message = NewMessage(
        id=f"m_{platform}_{user}_{text}",
        lane=lane,
        event=event,
        identity=text.encode(),
        received_at=NOW,
    )
    await store.inbox.accept(message, kept=lambda _result: None)
    record = await store.inbox.get(message.id)
    assert record is not None
    return record.person_id


async def use(store: Store, code: str, user: str, *, message: str, at: float = NOW) -> Any:
    return await store.pairing.use_link_code(
        code, platform="telegram", user_id=user, message_id=message, at=at, rules=LINKING
    )


@pytest.mark.req("W31")
async def test_a_code_that_has_expired_takes_no_room_on_other_platforms(store: Store) -> None:
    rules = CodeLimits(most_open=1, share=1)
    await ask(store, "ann", code="ABCDEFGH", rules=rules)

    found = [
        (await ask(store, "bob", platform="signal", at=at, rules=rules)).asking
        for at in (NOW + HOUR - 1, NOW + HOUR)
    ]

    assert found == ["full", "new"]


@pytest.mark.req("W31")
async def test_a_code_counts_for_its_own_platform_once_and_for_an_hour(store: Store) -> None:
    person = await write(store, "ann")
    await ask(store, "ann", code="ABCDEFGH")

    tried = [
        await approve(store, "ABCDEFGH", platform="signal"),
        await approve(store, "ABCDEFGH", at=NOW + HOUR),
        await approve(store, "ABCDEFGH", at=NOW + HOUR - 1),
        await approve(store, "ABCDEFGH", at=NOW + HOUR - 1),
    ]

    assert tried == ["wrong", "wrong", "right ann", "wrong"]
    assert await store.users.channel_access("telegram", "ann") == ChannelAccess(
        person, is_active=True
    )


@pytest.mark.req("W31", "J24")
async def test_no_code_is_on_disk(store: Store, tmp_path: Path) -> None:
    person = await write(store, "ann")
    await ask(store, "ann", code="ABCDEFGH")
    await store.pairing.make_link_code(person, "HGFEDCBA", lets_in=True, at=NOW, rules=LINKING)

    content = raw_bytes(tmp_path)

    assert b"ABCDEFGH" not in content
    assert b"HGFEDCBA" not in content


@pytest.mark.sqlite_only
@pytest.mark.req("W31", "J24")
async def test_only_the_owner_can_read_the_files(store: Store, tmp_path: Path) -> None:
    await write(store, "ann")

    files = [Path(f"{tmp_path / 'hermes.db'}{end}") for end in ("", "-wal", "-shm")]

    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


@pytest.mark.req("W31")
async def test_two_strangers_with_one_code_are_told_apart_by_what_it_is_bound_to(
    store: Store, tmp_path: Path
) -> None:
    await ask(store, "ann", code="ABCDEFGH")
    await ask(store, "bob", code="ABCDEFGJ")
    with tables(tmp_path) as db:
        db.execute(
            "UPDATE pairings SET digest = (SELECT digest FROM pairings WHERE user_id = 'ann')"
        )

    assert await approve(store, "ABCDEFGJ") == "wrong"
    assert await approve(store, "ABCDEFGH") == "right ann"
    assert await approve(store, "ABCDEFGH") == "wrong"


@pytest.mark.req("W31")
async def test_a_flood_of_wrong_codes_locks_one_platform_and_no_other(store: Store) -> None:
    for platform in ("telegram", "signal"):
        await ask(store, "ann", code="ABCDEFGH", platform=platform)

    flood = [await approve(store, code_of(number)) for number in range(5)]
    locked = await approve(store, "ABCDEFGH", at=NOW + HOUR - 1)
    other = await approve(store, "ABCDEFGH", platform="signal")

    assert flood == ["wrong"] * 5
    assert locked == "locked"
    assert await store.pairing.locks(NOW + 1) == {"telegram": NOW + HOUR}
    assert await store.pairing.locks(NOW + HOUR) == {}
    assert other == "right ann"


@pytest.mark.req("W31")
async def test_one_request_in_ten_minutes_also_after_a_no(store: Store) -> None:
    first = await ask(store, "ann")
    assert await store.pairing.deny("telegram", "ann")

    early = await ask(store, "ann", at=NOW + 599)
    later = await ask(store, "ann", at=NOW + 600)

    assert [asked.asking for asked in (first, early, later)] == ["new", "early", "new"]
    assert early.until == NOW + 600
    assert not await store.pairing.deny("telegram", "nobody")


@pytest.mark.req("W31", "J19")
async def test_requests_at_once_cannot_pass_the_limit_together(store: Store) -> None:
    asked = await asyncio.gather(*(ask(store, f"u{number}") for number in range(1_050)))

    assert sorted(one.asking for one in asked) == ["full"] * 50 + ["new"] * 1_000
    assert len(await store.pairing.waiting(NOW)) == 1_000


@pytest.mark.req("W31")
async def test_an_open_code_is_never_withdrawn_and_throw_away_accounts_keep_nobody_out(
    store: Store,
) -> None:
    rules = CodeLimits(most_open=20, share=10)
    flood = [f"t{number}" for number in range(30)]
    await ask(store, "ann", code="ABCDEFGH", rules=rules)

    first = [(await ask(store, one, rules=rules)).asking for one in flood]
    elsewhere = await ask(store, "bob", platform="signal", rules=rules)
    full = await ask(store, "eve", at=NOW + 1, rules=rules)
    # The codes of the flood run out; the same accounts ask again before anybody else.
    again = [(await ask(store, one, at=NOW + HOUR, rules=rules)).asking for one in flood[:9]]
    newcomer = await ask(store, "eve", at=NOW + HOUR, rules=rules)

    assert first == ["new"] * 9 + ["full"] * 21
    assert elsewhere.asking == "new"
    assert (full.asking, full.until) == ("full", NOW + HOUR)
    assert await approve(store, "ABCDEFGH", at=NOW + HOUR - 1) == "right ann"
    assert again == ["new"] * 5 + ["full"] * 4
    assert newcomer.asking == "new"


@pytest.mark.req("W31")
async def test_a_sender_is_a_newcomer_again_after_a_day(store: Store) -> None:
    rules = CodeLimits(most_open=4, share=4)
    day_after = NOW + 25 * HOUR
    await ask(store, "ann", rules=rules)
    for other in ("x", "y"):
        await ask(store, other, at=day_after - 1, rules=rules)

    before = await ask(store, "ann", at=day_after - 1, rules=rules)
    after = await ask(store, "ann", at=day_after, rules=rules)

    assert (before.asking, after.asking) == ("full", "new")


# What may happen, at which minute after the step before: who asks, is denied or approved, where.
PLATFORMS = ("telegram", "signal")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("ask", "ask", "right", "wrong", "deny")),
        st.sampled_from(PLATFORMS),
        st.sampled_from(("a", "b", "c", "d", "e")),
        st.sampled_from((0.0, 1.0, 5.0, 10.0, 30.0, 61.0, 1440.0)),
    ),
    max_size=40,
)


class Model:
    """The limits of W31 over plain lists, to compare the store with."""

    def __init__(self) -> None:
        self.asked: dict[tuple[str, str], float] = {}
        self.codes: dict[tuple[str, str], tuple[str, float]] = {}
        self.wrong: Mapping[str, list[float]] = {name: [] for name in PLATFORMS}
        self.locked: dict[str, float] = dict.fromkeys(PLATFORMS, 0.0)

    def waiting(self, platform: str, now: float) -> list[str]:
        return [
            user
            for (where, user), (_, until) in self.codes.items()
            if where == platform and until > now
        ]

    def ask(self, platform: str, user: str, *, code: str, now: float) -> str:
        last = self.asked.get((platform, user))
        if last is not None and now < last + 600:
            return "early"
        others = set(self.waiting(platform, now)) - {user}
        elsewhere = sum(len(self.waiting(name, now)) for name in PLATFORMS if name != platform)
        is_newcomer = last is None or now >= last + 25 * HOUR
        if len(others) >= (3 if is_newcomer else 2) or len(others) + elsewhere >= 5:
            return "early" if user in self.waiting(platform, now) else "full"
        self.asked[platform, user] = now
        self.codes[platform, user] = (code, now + HOUR)
        return "new"

    def approve(self, platform: str, code: str, now: float) -> str:
        if now < self.locked[platform]:
            return "locked"
        for user in self.waiting(platform, now):
            if self.codes[platform, user][0] == code:
                del self.codes[platform, user]
                return f"right {user}"
        late = self.wrong[platform]
        if late and now >= late[-1] + 24 * HOUR:
            late.clear()
        late.append(now)
        if len(late) == 5:
            late.clear()
            self.locked[platform] = now + HOUR
        return "wrong"


@pytest.mark.req("W31")
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_whatever_is_tried_the_limits_hold(
    steps: list[tuple[str, str, str, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def story() -> None:
        async with opened(tmp_path_factory.mktemp("limits")) as store:
            await follow(store, steps)

    asyncio.run(story())


async def follow(store: Store, steps: list[tuple[str, str, str, float]]) -> None:
    model, now, told = Model(), NOW, {}
    for number, (act, platform, user, minutes) in enumerate(steps):
        now += minutes * 60
        if act == "ask":
            code = code_of(number)
            asked = await ask(
                store,
                user,
                code=code,
                platform=platform,
                at=now,
                message=f"{number}",
                rules=CodeLimits(most_open=5, share=3),
            )
            assert asked.asking == model.ask(platform, user, code=code, now=now)
            if asked.asking == "new":
                told[platform, user] = code
        elif act == "deny":
            was = user in model.waiting(platform, now)
            # What has run out is nobody's business any more, denied or not.
            assert await store.pairing.deny(platform, user) or not was
            model.codes.pop((platform, user), None)
        else:
            code = told.get((platform, user), code_of(10**6)) if act == "right" else code_of(10**6)
            found = await approve(store, code, platform=platform, at=now)
            assert found == model.approve(platform, code, now)
        for name in PLATFORMS:
            waiting = await store.pairing.waiting(now, platform=name)
            assert len(waiting) <= 3
            assert {one.user_id for one in waiting} == set(model.waiting(name, now))
            assert (name in await store.pairing.locks(now)) == (now < model.locked[name])


@pytest.mark.req("A3")
async def test_a_linked_channel_is_its_new_persons_and_what_was_said_stays_the_old_ones(
    store: Store,
) -> None:
    ann, stranger = await write(store, "ann"), await write(store, "4711")
    await store.pairing.make_link_code(ann, "ABCDEFGH", lets_in=True, at=NOW, rules=LINKING)
    before = await store.turns.view("agent:main:telegram:dm:4711")

    settled = await use(store, "ABCDEFGH", "4711", message="m_1")
    again = await use(store, "ABCDEFGH", "4711", message="m_1")
    other = await use(store, "ABCDEFGH", "eve", message="m_2")

    lane = await store.turns.view("agent:main:telegram:dm:4711")
    assert settled == again
    assert (settled.verdict, settled.person_id, settled.moved.before) == ("right", ann, stranger)
    assert other.verdict == "wrong"
    assert await write(store, "4711", text="next") == ann
    assert await store.users.channel_access("telegram", "4711") == ChannelAccess(
        ann, is_active=True
    )
    assert (before.epoch, lane.epoch) == (0, 1)
    record = await store.inbox.get("m_telegram_4711_hi")
    assert record is not None
    assert (record.person_id, record.event is not None) == (stranger, True)
    left, joined = await store.users.get(stranger), await store.users.get(ann)
    assert left is not None
    assert joined is not None
    assert [(one.user_id, one.person_id) for one in left.left] == [("4711", ann)]
    assert sorted((one.user_id, one.was_person) for one in joined.channels) == [
        ("4711", stranger),
        ("ann", None),
    ]


@pytest.mark.req("A3", "W30")
async def test_a_code_of_somebody_whom_nobody_let_in_joins_and_lets_nobody_in(
    store: Store,
) -> None:
    ann = await write(store, "ann")
    for user in ("4711", "paired"):
        await write(store, user)
    await store.users.set_active("telegram", "paired", how="paired", at=NOW)

    for number, user in enumerate(("4711", "paired")):
        code = code_of(number)
        await store.pairing.make_link_code(ann, code, lets_in=False, at=NOW, rules=LINKING)
        await use(store, code, user, message=user)

    standings = [await store.users.channel_access("telegram", user) for user in ("4711", "paired")]
    assert standings == [ChannelAccess(ann), ChannelAccess(ann, is_active=True)]


@pytest.mark.req("A3", "J24")
async def test_erasing_one_of_two_linked_people_leaves_the_other_readable(
    store: Store,
) -> None:
    ann, stranger = await write(store, "ann"), await write(store, "4711")
    await store.users.link("telegram", "4711", person_id=ann, at=NOW)

    await store.people.erase(ann, at=NOW)

    events = [await store.inbox.get(f"m_telegram_{user}_hi") for user in ("ann", "4711")]
    assert [one is not None and one.event is not None for one in events] == [False, True]
    assert await store.users.channel_access("telegram", "4711") == ChannelAccess()
    assert [one.id for one in await store.users.page(state=None, limit=9)] == [stranger]
    assert [one.id for one in await store.users.page(state="erased", limit=9)] == [ann]


@pytest.mark.req("A3", "A22")
async def test_keys_go_with_their_channel_and_credits_when_nothing_else_is_left(
    store: Store,
) -> None:
    ann = await write(store, "ann")
    key = CallerKey(id="k_1", label="", user="bob", person_id="", hint="", created_at=NOW)
    bob = (await store.keys.add(key, digest=b"secret", user="bob")).person_id
    await store.users.link("telegram", "ann", person_id=ann, at=NOW)
    await store.wallets.grant(NewGrant(id="g", person_id=bob, amount=7, at=NOW))
    # Somebody with two channels keeps their credits when one of them goes.
    await write(store, "second")
    await store.users.link("telegram", "second", person_id=bob, at=NOW)
    first = await store.users.link("v1", "bob", person_id=ann, at=NOW + 1)
    last = await store.users.link("telegram", "second", person_id=ann, at=NOW + 2)

    found = await store.keys.find(b"secret")
    assert found is not None
    assert found.person_id == ann
    assert (first.credits, last.credits) == (0, 7)
    assert [await store.people.balance(person) for person in (ann, bob)] == [7, 0]
    audit = await store.wallets.audit(limit=10)
    assert audit.differences == ()


@pytest.mark.req("A3")
async def test_a_channel_goes_back_to_whom_it_was_at_first_and_has_to_be_let_in_again(
    store: Store,
) -> None:
    ann, bob, own = [await write(store, user) for user in ("ann", "bob", "4711")]
    for person in (ann, bob):
        await store.users.link("telegram", "4711", person_id=person, at=NOW)

    back = await store.users.unlink("telegram", "4711", at=NOW)

    assert (back.before, back.after) == (bob, own)
    assert await store.users.channel_access("telegram", "4711") == ChannelAccess(own)
    with pytest.raises(Conflict, match="only channel"):
        await store.users.unlink("telegram", "4711", at=NOW)
    with pytest.raises(NotFound, match="hermes users add"):
        await store.users.unlink("telegram", "nobody", at=NOW)


@pytest.mark.req("A3", "J24")
async def test_a_channel_of_somebody_erased_meanwhile_goes_to_a_new_person(
    store: Store,
) -> None:
    ann, own = await write(store, "ann"), await write(store, "4711")
    await store.users.link("telegram", "4711", person_id=ann, at=NOW)
    await store.people.erase(own, at=NOW)

    moved = await store.users.unlink("telegram", "4711", at=NOW)

    assert moved.after not in (ann, own)
    assert await write(store, "4711", text="next") == moved.after
    with pytest.raises(NotFound, match="no person"):
        await store.users.link("telegram", "4711", person_id=own, at=NOW)


@pytest.mark.req("A3")
async def test_a_code_of_somebody_blocked_or_erased_links_nobody(store: Store) -> None:
    ann, bob = await write(store, "ann"), await write(store, "bob")
    for person, code in ((ann, "ABCDEFGH"), (bob, "HGFEDCBA")):
        await store.pairing.make_link_code(person, code, lets_in=True, at=NOW, rules=LINKING)
    await store.users.set_blocked(ann, blocked=True, at=NOW)
    await store.people.erase(bob, at=NOW)
    await write(store, "4711")

    tried = [await use(store, code, "4711", message="m") for code in ("ABCDEFGH", "HGFEDCBA")]

    assert [one.verdict for one in tried] == ["wrong", "wrong"]


@pytest.mark.req("A3")
async def test_only_the_last_code_of_a_person_counts_and_not_on_their_own_channel(
    store: Store,
) -> None:
    ann = await write(store, "ann")
    await write(store, "4711")
    for code in ("ABCDEFGH", "HGFEDCBA"):
        await store.pairing.make_link_code(ann, code, lets_in=True, at=NOW, rules=LINKING)

    tried = [
        await use(store, "ABCDEFGH", "4711", message="m_1"),
        await use(store, "HGFEDCBA", "ann", message="m_2"),
        await use(store, "HGFEDCBA", "4711", message="m_3"),
    ]

    assert [one.verdict for one in tried] == ["wrong", "own", "right"]


@pytest.mark.req("A3", "W30")
async def test_what_is_known_of_people_is_there_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await write(store, "ann"), await write(store, "bob")
        await store.users.set_active("telegram", "ann", how="paired", at=NOW)
        await store.users.set_blocked(bob, blocked=True, at=NOW)
        changed = await store.users.set_blocked(bob, blocked=True, at=NOW)
        again = await store.users.set_active("telegram", "ann", how="operator", at=NOW)

    async with opened(tmp_path) as store:
        states = [(one.id, one.state) for one in await store.users.page(state=None, limit=9)]
        paired = await store.users.get(ann)

        assert sorted(states) == sorted([(ann, "active"), (bob, "blocked")])
        assert await store.users.is_anybody_blocked()
        assert (await store.users.channel_access("telegram", "bob")).is_blocked
        assert paired is not None
        assert paired.channels[0].activated_how == "paired"
        assert paired.channels[0].name == "Name of ann"
        assert (changed, again) == (False, False)
        assert [one.id for one in await store.users.page(state="guest", limit=9)] == []


@pytest.mark.req("A3", "J24")
async def test_a_name_is_that_of_one_channel(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for platform, name in (("push", "Ann"), ("rest", "Bob")):
            await store.users.add(platform, "4711", name=name, at=1.0)
        event = MessageEvent(
            account="a",
            route="r",
            external_id="x",
            source=Source(platform="push", chat_id="c", user_id="4711", user_name="Anna"),
            parts=(TextPart("hello"),),
            at=1.0,
        )
        message = NewMessage(id="m_x", lane="l", event=event, identity=b"x", received_at=1.0)
        await store.inbox.accept(message, kept=lambda _: None)

        found = [await store.people.find(platform, "4711") for platform in ("push", "rest")]
        users = [await store.users.get(one.id) for one in found if one is not None]

        assert [user.channels[0].name for user in users if user is not None] == ["Anna", "Bob"]
