import json

import pytest


@pytest.mark.req("A22", "J20")
def test_the_switch_is_turned_and_shown_through_the_gateway(hermes, gateway):
    before = hermes("kill-switch", "status")
    on = hermes("kill-switch", "on", "--reason", "the bill\x1b[2J")
    again = hermes("kill-switch", "on", "--json")
    off = hermes("kill-switch", "off")

    assert before.stdout == "The kill switch is off.\n"
    assert on.stdout.startswith("The kill switch is on since 20")
    assert ": the bill[2J.\n" in on.stdout
    assert "`hermes kill-switch off` allows model calls again" in on.stdout
    told = json.loads(again.stdout)
    assert (told["is_on"], told["changed"], told["reason"]) == (True, False, "the bill\x1b[2J")
    assert told["by"]
    assert off.stdout.startswith("The kill switch is off since 20")
    assert [one.returncode for one in (before, on, again, off)] == [0, 0, 0, 0]


@pytest.mark.req("A22", "J20", "W7")
def test_without_a_gateway_it_is_turned_in_the_files_and_status_shows_it(hermes, home):
    on = hermes("kill-switch", "on", "--reason", "too expensive")
    status = hermes("status")
    told = json.loads(hermes("status", "--json").stdout)["kill_switch"]
    off = hermes("kill-switch", "off")
    later = json.loads(hermes("status", "--json").stdout)["kill_switch"]

    assert on.stdout.startswith("The kill switch is on since 20")
    assert "kill switch" in status.stdout
    assert "too expensive; NO MODEL IS CALLED" in status.stdout
    assert (told["is_on"], told["reason"]) == (True, "too expensive")
    assert off.stdout.startswith("The kill switch is off since 20")
    assert later is None
    kept = (home / "logs" / "commands.log").read_text()
    record = [json.loads(line) for line in kept.splitlines()]
    assert [(line["event"], line["is_on"], line["by"]) for line in record] == [
        ("kill_switch", True, told["by"]),
        ("kill_switch", False, told["by"]),
    ]
