"""W31: the code's letters, and its limits as pure rules."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.people.pairing import LETTERS, PAIRING, make_code, read_code, spoken
from hermes.people.reception import LINKING, link_text, minutes
from hermes.ports.pairing import PairingAskResult, PairingBacklog, PairingCodeResult, WrongCodes

NOW = 1_700_000_000.0


@pytest.mark.req("W31")
def test_the_numbers_are_those_of_the_requirement() -> None:
    assert (PAIRING.valid_s, PAIRING.interval_s, PAIRING.most_waiting) == (3_600, 600, 3)
    assert (PAIRING.most_failures, PAIRING.lock_s) == (5, 3_600)
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
    assert PAIRING.asking(PairingBacklog(NOW, 3, is_same_message=True), NOW) == PairingAskResult(
        "again"
    )
    assert PAIRING.asking(PairingBacklog(NOW, 0), NOW) == PairingAskResult("early", NOW + 600)
    assert PAIRING.asking(PairingBacklog(NOW, 0), NOW + 600) == PairingAskResult("new")
    assert PAIRING.asking(PairingBacklog(None, 3), NOW) == PairingAskResult("full")
    assert PAIRING.asking(PairingBacklog(None, 2), NOW) == PairingAskResult("new")


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
