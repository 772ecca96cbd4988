import json

import pytest

from hermes.cli.operator_calls import money


@pytest.mark.req("A20")
def test_costs_are_a_table_with_a_total_in_which_an_unknown_price_is_no_zero(hermes, gateway):
    shown = hermes("costs", "--days", "2")

    rows = {line.split()[0]: line.split() for line in shown.stdout.splitlines()}
    assert shown.returncode == 0
    assert rows["a:one"] == ["a:one", "1", "0", "1,200", "34", "$0.25"]
    unknown = ["10", "tokens,", "counted", "as", "$0.50"]
    assert rows["b:odd[2J"] == ["b:odd[2J", "1", "0", "7", "3", "price", "unknown", *unknown]
    total = ["total", "2", "0", "1,207", "37", "$0.25", "+", "unknown"]
    assert rows["total"] == [*total, *unknown]
    assert "$0.00" not in shown.stdout
    assert "\x1b" not in shown.stdout


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("by", "name"),
    [("person", "p_1"), ("agent", "main"), ("channel", "rest"), ("key", "no key")],
)
def test_costs_are_told_by_whatever_is_asked_for(hermes, gateway, by, name):
    lines = hermes("costs", "--by", by, "--days", "2").stdout.splitlines()

    assert lines[0].startswith(by)
    assert lines[1].startswith(f"{name} ")


@pytest.mark.req("A20")
def test_costs_of_other_days_and_as_json(hermes, gateway):
    none = hermes("costs", "--month", "2001-02")
    told = json.loads(hermes("costs", "--by", "day", "--from", "2026-01-01", "--json").stdout)

    assert none.stdout == "Nothing was spent from 2001-02-01 to 2001-02-28.\n"
    assert (told["by"], told["first_day"]) == ("day", "2026-01-01")
    assert [row["name"] for row in told["rows"]] == [told["rows"][0]["name"]]
    assert (told["total"]["calls"], told["total"]["unpriced_tokens"]) == (2, 10)


@pytest.mark.req("A20", "W7")
def test_days_that_cannot_be_are_refused_with_and_without_a_gateway(hermes, gateway):
    far = hermes("costs", "--month", "2026-13")
    gateway.kill()
    gateway.wait()
    here = hermes("costs", "--month", "2026-13")
    planet = hermes("costs", "--by", "planet")

    assert (far.returncode, here.returncode, planet.returncode) == (1, 1, 2)
    assert far.stderr == here.stderr
    assert far.stderr == "hermes: '2026-13' is not a month: expected one such as 2026-11.\n"
    assert "'--by': 'planet' is not one of 'person', 'agent'" in planet.stderr


@pytest.mark.req("A20")
def test_dollars_show_cents_or_more_and_never_hide_a_little():
    amounts = (0, 0.00001, 0.0001, 0.07, 0.1234, 5.0, 1234.5, 0.29)

    assert [money(usd) for usd in amounts] == [
        "$0.00",
        "<$0.0001",
        "$0.0001",
        "$0.07",
        "$0.1234",
        "$5.00",
        "$1,234.50",
        "$0.29",
    ]
