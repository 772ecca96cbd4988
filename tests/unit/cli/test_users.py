"""`hermes users` and `hermes pair`, through a gateway and without one."""

import json
import re

import pytest

PERSON = re.compile(r"p_[0-9a-v]{24}")


@pytest.mark.req("A3")
def test_people_are_added_listed_shown_blocked_and_let_in_again(hermes, gateway):
    added = hermes("users", "add", "telegram:4711", "--name", "Ann\x1b[2J")
    listed = hermes("users", "list")
    blocked = hermes("users", "block", "telegram:4711")
    shown = hermes("users", "show", "telegram:4711")
    back = hermes("users", "activate", "telegram:4711")
    again = hermes("users", "activate", "telegram:4711")

    assert added.returncode == 0
    (person,) = PERSON.findall(added.stdout)
    assert added.stdout == f"telegram:4711 ({person}) is let in.\n"
    assert f"{person}  active  telegram:4711  Ann[2J" in listed.stdout
    assert blocked.stdout == f"telegram:4711 ({person}) is blocked on every channel.\n"
    assert "blocked since 20" in shown.stdout
    assert "telegram:4711, named Ann[2J, let in 20" in shown.stdout
    assert "may not be trained on" in shown.stdout
    assert back.stdout == f"telegram:4711 ({person}) is let in.\n"
    assert again.stdout == f"telegram:4711 ({person}) was let in already.\n"


@pytest.mark.req("A3")
def test_channels_are_linked_unlinked_and_people_erased(hermes, gateway):
    ann = json.loads(hermes("users", "add", "telegram:1", "--json").stdout)["user"]["id"]
    bob = json.loads(hermes("users", "add", "signal:2", "--json").stdout)["user"]["id"]

    linked = hermes("users", "link", "telegram:1", "signal:2")
    again = hermes("users", "link", "telegram:1", "signal:2")
    refused = hermes("users", "erase", "telegram:1", text="n\n")
    erased = hermes("users", "erase", "telegram:1", text="y\n")
    gone = hermes("users", "list", "--state", "erased", "--json")
    alone = hermes("users", "add", "signal:3")
    unlinked = hermes("users", "unlink", "signal:3")

    assert (
        f"signal:2 belongs to {ann} now. What {bob} wrote still belongs to {bob}" in linked.stdout
    )
    assert again.stdout == f"signal:2 belonged to {ann} already.\n"
    assert refused.returncode == 1
    assert f"telegram:1 ({ann}) is erased." in erased.stdout
    assert f"`hermes users erase {bob}` erases it." in erased.stdout
    assert [user["id"] for user in json.loads(gone.stdout)["users"]] == [ann]
    assert alone.returncode == 0
    assert (unlinked.returncode, "only channel" in unlinked.stderr) == (1, True)


@pytest.mark.req("A3", "J20")
def test_a_tier_is_given_shown_and_refused_where_there_is_none_such(hermes, gateway):
    hermes("users", "add", "telegram:7")
    given = hermes("users", "tier", "telegram:7", "pro")
    again = json.loads(hermes("users", "tier", "telegram:7", "pro", "--json").stdout)
    shown = hermes("users", "show", "telegram:7")
    listed = hermes("users", "list")
    unknown = hermes("users", "tier", "telegram:7", "gold")
    nobody = hermes("users", "tier", "telegram:8", "pro")

    (person,) = PERSON.findall(given.stdout)
    assert given.stdout == f"telegram:7 ({person}) has the tier pro.\n"
    assert (again.get("changed", False), again["user"]["tier"]) == (False, "pro")
    assert "tier      pro" in shown.stdout
    assert " pro " in listed.stdout
    assert (unknown.returncode, nobody.returncode) == (1, 1)
    assert "'gold' is not a tier here: expected one of " in unknown.stderr
    assert "Nobody is known as" in nobody.stderr


@pytest.mark.req("W31")
def test_pairing_by_the_command_line(hermes, gateway):
    nobody = hermes("pair", "list")
    malformed = hermes("pair", "approve", "telegram", "ABC")
    tried = [hermes("pair", "approve", "telegram", "AAAA-AAAA") for _ in range(6)]
    locked = hermes("pair", "list")
    hermes("users", "add", "telegram:7")
    revoked, again = hermes("pair", "revoke", "telegram:7"), hermes("pair", "revoke", "telegram:7")
    denied = hermes("pair", "deny", "telegram:7")

    assert nobody.stdout == "Nobody waits for approval.\n"
    assert "not a pairing code" in malformed.stderr
    assert {one.returncode for one in tried} == {1}
    assert "4 more wrong ones" in tried[0].stderr
    assert "no code is taken there until 20" in tried[4].stderr
    assert "There were 5 wrong codes" in tried[5].stderr
    assert "Approvals for telegram are locked until 20" in locked.stdout
    assert "is no longer let in" in revoked.stdout
    assert "was not let in" in again.stdout
    assert "does not wait for approval" in denied.stderr


@pytest.mark.req("J20", "A3")
def test_without_a_gateway_the_files_are_changed_and_the_change_is_on_record(hermes, home):
    added = hermes("users", "add", "telegram:4711", "--json")
    listed = json.loads(hermes("users", "list", "--json").stdout)["users"]
    erased = hermes("users", "erase", "telegram:4711", "--yes", "--json")
    paired = hermes("pair", "list", "--json")

    person = json.loads(added.stdout)["user"]["id"]
    assert [user["id"] for user in listed] == [person]
    assert json.loads(erased.stdout)["did"] == "erased"
    assert json.loads(paired.stdout) == {"waiting": [], "paired": [], "locked": {}}
    record = (home / "logs" / "commands.log").read_text()
    assert [json.loads(line)["event"] for line in record.splitlines()] == [
        "user_added",
        "user_erased",
    ]
    assert "4711" not in record


@pytest.mark.req("J20")
def test_looking_and_orders_about_nobody_do_not_make_a_home(hermes, home):
    home.rmdir()

    done = [
        hermes("users", "list"),
        hermes("pair", "list"),
        hermes("users", "show", "telegram:1"),
        hermes("users", "block", "telegram:1"),
        hermes("users", "link", "telegram:1", "signal:2"),
        hermes("users", "tier", "telegram:1", "pro"),
        hermes("pair", "approve", "telegram", "AAAA-AAAA"),
        hermes("pair", "deny", "telegram:1"),
    ]

    assert [one.returncode for one in done] == [0, 0, 1, 1, 1, 1, 1, 1]
    assert not home.exists()
