"""Keys of callers as the operator makes, sees and ends them, over the real store."""

from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hermes.calls.days import Calendar
from hermes.control.keys import KeyEnd, NewKey, key_digest
from hermes.control.operations import Operations
from hermes.errors import BadRequest, NotFound
from hermes.message.reply import Usage
from hermes.ports.spend import Account, SpendEntry
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened, raw_bytes

NOW = 1_700_000_000.0
TODAY = "2023-11-14"
IDS = ("k_ann1", "k_ann2", "k_beth")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as made:
        yield made


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def operations(store: Store, clock: ManualClock) -> Operations:
    ids, seeds = iter(IDS), count()
    return Operations(
        store,
        calendar=Calendar("UTC"),
        clock=clock,
        make_id=lambda prefix: next(ids),
        address="http://127.0.0.1:8080",
        random_bytes=lambda size: bytes(range(seed := next(seeds), seed + size)),
    )


def spent(key: str, day: str, *, tokens: int, usd: float) -> SpendEntry:
    account = Account(person_id="p_1", channel="v1", key=key)
    return SpendEntry(day=day, account=account, model="a:b", usage=Usage(tokens, 0, cost_usd=usd))


@pytest.mark.req("A22", "W35")
async def test_a_key_is_32_random_bytes_of_which_only_the_hash_stays(operations, store, tmp_path):
    with capture_logs() as logs:
        made = await operations.keys.create(NewKey(user="ann", by="olga"))

    text = urlsafe_b64encode(bytes(range(32))).rstrip(b"=").decode()
    assert made.secret == f"hk_{text}"
    assert len(text) == 43
    assert key_digest(made.secret) == sha256(made.secret.encode()).digest()
    found = await store.keys.find(key_digest(made.secret))
    assert found is not None
    assert (found.id, found.hint, found.person_id) == ("k_ann1", text[-4:], made.key.person_id)
    files = raw_bytes(tmp_path)
    assert text.encode() not in files
    assert logs == [
        {
            "event": "key_created",
            "key_id": "k_ann1",
            "person_id": found.person_id,
            "by": "olga",
            "log_level": "info",
        }
    ]


@pytest.mark.req("A22")
async def test_a_key_has_the_limits_that_were_asked_for(operations):
    wanted = NewKey(
        user="ann",
        label="the build",
        models=("auto", "openai:*"),
        budget_usd=0.0,
        budget_period="month",
        budget_tokens=0,
        requests_per_minute=60,
        max_output_tokens=512,
        store_responses=True,
        read_history=True,
        lifetime_s=3_600.0,
    )

    key = (await operations.keys.create(wanted)).key

    for name in ("user", "label", "models", "budget_usd", "budget_period", "budget_tokens"):
        assert getattr(key, name) == getattr(wanted, name)
    assert (key.requests_per_minute, key.max_output_tokens) == (60, 512)
    assert key.store_responses
    assert key.read_history
    assert (key.created_at, key.expires_at) == (NOW, NOW + 3_600)


@pytest.mark.req("A22")
@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        (NewKey(user="  "), "has no user"),
        (NewKey(user="a" * 201), "201 characters"),
        (NewKey(user="ann", label="a" * 201), "201 characters"),
        (NewKey(user="ann", budget_usd=-0.01), "budget_usd is -0.01"),
        (NewKey(user="ann", budget_usd=float("nan")), "budget_usd is nan"),
        (NewKey(user="ann", budget_tokens=10**19), "budget_tokens"),
        (NewKey(user="ann", requests_per_minute=0), "requests_per_minute is 0"),
        (NewKey(user="ann", max_output_tokens=0), "max_output_tokens is 0"),
        (NewKey(user="ann", lifetime_s=0.0), "lifetime_s is 0"),
    ],
)
async def test_a_key_that_makes_no_sense_is_not_made(operations, store, wanted, named):
    with pytest.raises(BadRequest, match=named):
        await operations.keys.create(wanted)

    assert await store.keys.list() == ()


@pytest.mark.req("A20", "J21")
async def test_a_list_of_keys_tells_what_each_used_in_the_time_its_budget_counts(operations, store):
    await operations.keys.create(NewKey(user="ann", budget_usd=5.0, budget_period="day"))
    await store.spend.add(
        [
            spent("k_ann1", TODAY, tokens=10, usd=0.25),
            spent("k_ann1", "2023-11-13", tokens=100, usd=2.0),
            spent("k_beth", TODAY, tokens=1_000, usd=20.0),
        ]
    )

    (of_day,) = (await operations.keys.list()).keys

    assert (of_day.used_usd, of_day.used_tokens, of_day.state) == (0.25, 10, "active")


@pytest.mark.req("A20", "J21")
@pytest.mark.parametrize(("period", "used"), [("month", (2.25, 110)), ("total", (6.25, 1_110))])
async def test_a_month_and_all_time_count_more_days(operations, store, period, used):
    await operations.keys.create(NewKey(user="ann", budget_usd=5.0, budget_period=period))
    await store.spend.add(
        [
            spent("k_ann1", TODAY, tokens=10, usd=0.25),
            spent("k_ann1", "2023-11-01", tokens=100, usd=2.0),
            spent("k_ann1", "2023-10-31", tokens=1_000, usd=4.0),
        ]
    )

    (key,) = (await operations.keys.list()).keys

    assert (key.used_usd, key.used_tokens) == used


@pytest.mark.req("A22")
async def test_an_expired_key_says_so(operations, clock):
    await operations.keys.create(NewKey(user="ann", lifetime_s=60.0))

    clock.advance(60)

    assert [key.state for key in (await operations.keys.list()).keys] == ["expired"]


@pytest.mark.req("A22")
async def test_a_key_ends_once_by_as_much_of_its_id_as_is_needed(operations, store, clock):
    made = await operations.keys.create(NewKey(user="ann"))
    clock.advance(5)

    with capture_logs() as logs:
        ended = await operations.keys.revoke(KeyEnd(id="k_an", by="olga"))
        again = await operations.keys.revoke(KeyEnd(id="k_ann1", by="olga"))

    assert (ended.changed, again.changed) == (True, False)
    assert (ended.key.state, ended.key.revoked_at) == ("revoked", NOW + 5)
    assert again.key == ended.key
    found = await store.keys.find(key_digest(made.secret))
    assert found is not None
    assert found.revoked_at == NOW + 5
    assert [(line["event"], line["key_id"], line["by"]) for line in logs] == [
        ("key_revoked", "k_ann1", "olga")
    ]


@pytest.mark.req("A22")
async def test_an_id_that_names_no_key_or_several_ends_none(operations, store):
    for user in ("ann", "bob", "cy"):
        await operations.keys.create(NewKey(user=user))
    await operations.keys.revoke(KeyEnd(id="k_beth"))

    with pytest.raises(
        BadRequest, match=r"'k_an' is short for several ids: k_ann\d \(.*\), k_ann\d"
    ) as many:
        await operations.keys.revoke(KeyEnd(id="k_an"))
    with pytest.raises(NotFound, match="No key is known as 'k_c'") as none:
        await operations.keys.revoke(KeyEnd(id="k_c"))
    for too_short in ("", "k", "k_b"):
        with pytest.raises(NotFound):
            await operations.keys.revoke(KeyEnd(id=too_short))

    assert "k_ann1 (ann)" in str(many.value)
    assert "k_ann2 (bob)" in str(none.value)
    assert "k_beth" not in str(none.value)
    assert [key.id for key in await store.keys.list() if key.revoked_at is not None] == ["k_beth"]


@pytest.mark.req("A22")
async def test_without_any_key_a_wrong_id_says_that_there_is_none(operations):
    with pytest.raises(NotFound, match="There is no key"):
        await operations.keys.revoke(KeyEnd(id="k_1"))
