"""W31: the code's letters, and its limits as pure rules."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.config import PairingSettings
from hermes.people.pairing import (
    LETTERS,
    PAIRING,
    CodeLimits,
    domain_of,
    make_code,
    pairing_limits,
    read_code,
    spoken,
)
from hermes.people.reception import LINKING, link_text, minutes
from hermes.ports.pairing import PairingAskResult, PairingBacklog, PairingCodeResult, WrongCodes

NOW = 1_700_000_000.0


@pytest.mark.req("W31")
def test_the_numbers_are_those_of_the_requirement() -> None:
    assert (PAIRING.valid_s, PAIRING.interval_s, PAIRING.most_open) == (3_600, 600, 1_000)
    assert (PAIRING.most_failures, PAIRING.lock_s, PAIRING.length) == (5, 3_600, 8)
    assert pairing_limits(PairingSettings()) == PAIRING
    assert len(LETTERS) == len(set(LETTERS)) == 32
    assert not set(LETTERS) & set("01IO")


@pytest.mark.req("W31")
def test_a_code_has_eight_letters_and_every_one_comes_up() -> None:
    codes = {make_code(os.urandom) for _ in range(500)}

    assert {len(code) for code in codes} == {8}
    assert len(codes) == 500
    assert set("".join(codes)) == set(LETTERS)
    # No letter is likelier than another: 256 bytes fall on 32 letters evenly.
    assert sorted(make_code(lambda _: bytes(range(256)))) == sorted(LETTERS * 8)


@pytest.mark.req("W31")
@given(st.binary(min_size=8, max_size=8))
def test_a_code_is_read_however_people_write_it(raw: bytes) -> None:
    code = make_code(lambda _: raw)

    written = (code, code.lower(), spoken(code), f" {spoken(code).lower()}\n", " ".join(code))

    assert {read_code(text) for text in written} == {code}


@pytest.mark.req("W31")
@pytest.mark.parametrize("text", ["", "ABCDEFG", "ABCDEFGHJ", "ABCDEFG0", "ABCDEFGI", "ÄBCDEFGH"])
def test_what_is_no_code_is_none(text: str) -> None:
    assert read_code(text) is None


@pytest.mark.req("W31")
def test_a_message_that_is_told_twice_asks_once() -> None:
    again = PairingBacklog(user_id="ann", asked_at=NOW, is_same_message=True, others=ids(1_000))
    before = PairingBacklog(user_id="ann", asked_at=NOW)
    assert PAIRING.asking(again, NOW) == PairingAskResult("again")
    assert PAIRING.asking(before, NOW) == PairingAskResult("early", NOW + 600)
    assert PAIRING.asking(before, NOW + 600) == PairingAskResult("new")


def ids(count: int, form: str = "{}") -> tuple[str, ...]:
    """Return the ids of others who wait."""
    return tuple(form.format(number) for number in range(count))


def asked(
    user_id: str = "ann",
    *,
    others: tuple[str, ...],
    elsewhere: int = 0,
    asked_at: float | None = None,
    code_until: float = 0.0,
) -> PairingAskResult:
    """Return what a sender gets whose platform has 100 of the codes."""
    seen = PairingBacklog(
        user_id=user_id,
        others=others,
        everywhere=len(others) + elsewhere,
        free_at=NOW + 60,
        asked_at=asked_at,
        code_until=code_until,
    )
    return CodeLimits(most_open=1_000, share=100).asking(seen, NOW)


@pytest.mark.req("W31")
def test_a_newcomer_gets_a_code_while_the_platform_has_one_left() -> None:
    assert asked(others=ids(99)) == PairingAskResult("new")
    assert asked(others=ids(100)) == PairingAskResult("full", NOW + 60)
    assert asked(others=ids(9), elsewhere=990).asking == "new"
    assert asked(others=ids(10), elsewhere=990).asking == "full"


@pytest.mark.req("W31")
def test_whoever_had_a_code_leaves_half_of_the_room_to_newcomers() -> None:
    yesterday = NOW - 80_000
    assert asked(others=ids(49), asked_at=yesterday).asking == "new"
    assert asked(others=ids(50), asked_at=yesterday).asking == "full"
    # Their own code stays good instead.
    held = asked(others=ids(50), asked_at=NOW - 900, code_until=NOW + 2_700)
    assert held == PairingAskResult("early", NOW + 2_700)
    assert asked(others=ids(50)).asking == "new"


@pytest.mark.req("W31")
@pytest.mark.parametrize("form", ["u{}@evil.test", "u@m{}.evil.test", "@u{}:evil.test"])
def test_a_domain_whose_owner_makes_ids_at_will_never_takes_all_of_the_room(form: str) -> None:
    own = form.format("x")
    assert asked(own, others=ids(49, form)).asking == "new"
    assert asked(own, others=ids(50, form)).asking == "full"
    assert asked("ann@people.test", others=ids(50, form)).asking == "new"
    assert asked(others=ids(50, form)).asking == "new"


@pytest.mark.req("W31")
def test_only_ids_with_a_domain_have_one() -> None:
    found = {
        text: domain_of(text)
        for text in (
            *("4711", "", "a:b", "x@", "a@b@Mail.EVIL.test", "@a:b.c:8448", "a@mail.shop.co.uk"),
            "a@shop.com.museum",
            *("@a:192.0.2.7:8448", "@a:192.0.2.8", "@a:[2001:db8::1]:1", "@a:[2001:db8::2]"),
        )
    }
    assert found == {
        "4711": "",
        "": "",
        "a:b": "",
        "x@": "",
        "a@b@Mail.EVIL.test": "evil.test",
        "@a:b.c:8448": "b.c",
        "a@mail.shop.co.uk": "shop.co.uk",
        "a@shop.com.museum": "com.museum",
        "@a:192.0.2.7:8448": "192.0.2.0/24",
        "@a:192.0.2.8": "192.0.2.0/24",
        "@a:[2001:db8::1]:1": "2001:db8::/48",
        "@a:[2001:db8::2]": "2001:db8::/48",
    }


@pytest.mark.req("W31")
@given(st.integers(1, 5_000), st.integers(0, 40))
def test_the_shares_of_all_platforms_fit_into_the_whole(most: int, platforms: int) -> None:
    limits = pairing_limits(PairingSettings(max_open=most), platforms=platforms)
    assert limits.share >= 1
    assert limits.share * max(1, platforms) <= max(most, platforms)


@pytest.mark.req("W31")
@given(st.lists(st.floats(min_value=0, max_value=7_200), max_size=200))
def test_never_more_than_five_wrong_codes_are_looked_at_in_an_hour(pauses: list[float]) -> None:
    codes, now, looked = WrongCodes(), NOW, []
    for pause in pauses:
        now += pause
        if PAIRING.locked_until(codes, now) is None:
            looked.append(now)
            codes = PAIRING.after_wrong(codes, now)

    for index, at in enumerate(looked):
        assert sum(other < at + 3_600 for other in looked[index:]) <= 5


@pytest.mark.req("W31")
def test_five_wrong_codes_in_a_row_lock_for_an_hour() -> None:
    codes = WrongCodes()
    for number in range(4):
        codes = PAIRING.after_wrong(codes, NOW + number)
        assert PAIRING.locked_until(codes, NOW + number) is None
    codes = PAIRING.after_wrong(codes, NOW + 4)

    assert PAIRING.locked_until(codes, NOW + 4) == NOW + 4 + 3_600
    assert PAIRING.locked_until(codes, NOW + 4 + 3_600) is None


@pytest.mark.req("W31")
def test_wrong_codes_add_up_until_a_day_was_quiet() -> None:
    daily = hourly = WrongCodes()
    for number in range(4):
        hourly = PAIRING.after_wrong(hourly, NOW + number * 3_600)
        daily = PAIRING.after_wrong(daily, NOW + number * 86_400)

    assert (hourly.failures, daily.failures) == (4, 1)


@pytest.mark.req("A3")
def test_waiting_is_told_in_whole_minutes() -> None:
    assert [minutes(seconds) for seconds in (0.5, 60, 61, 600)] == [
        "1 minute",
        "1 minute",
        "2 minutes",
        "10 minutes",
    ]
    locked = PairingCodeResult(verdict="locked", until=NOW + 600)
    assert "10 minutes" in link_text(locked, now=NOW)
    assert LINKING.valid_s == 900
