import json

import pytest

from tests.stores.opening import tables


@pytest.mark.req("A5", "J20")
def test_credits_are_granted_shown_and_audited_through_the_gateway(hermes, gateway):
    hermes("keys", "create", "--user", "ann")
    unknown = hermes("credits", "grant", "v1:bob", "5")
    given = hermes("credits", "grant", "v1:ann", "5", "--reason", "invoice\x1b[2J", "--id", "77")
    again = json.loads(hermes("credits", "grant", "v1:ann", "5", "--id", "77", "--json").stdout)
    taken = hermes("credits", "grant", "v1:ann", "-2")
    shown = hermes("credits", "show", "v1:ann")
    listed = hermes("credits", "list", "--below", "4")
    none = hermes("credits", "list", "--below", "3")
    audit = hermes("credits", "audit")

    assert unknown.returncode == 1
    assert "Nobody is known as 'v1:bob'" in unknown.stderr
    assert given.stdout == "v1:ann received 5 credits. The balance is 5.\n"
    assert (again["changed"], again["balance"], again["line"]["id"]) == (False, 5, "grant:77")
    assert taken.stdout == "v1:ann lost 2 credits. The balance is 3.\n"
    assert shown.stdout.startswith("v1:ann (p_")
    assert " has 3 credits.\nNothing limits them: tier free has the policy unlimited.\n" in (
        shown.stdout
    )
    assert "grant:77" in shown.stdout
    assert "invoice[2J (by " in shown.stdout
    assert "v1:ann" in listed.stdout
    assert none.stdout == "There is no such wallet.\n"
    assert audit.stdout == (
        "Checked 1 wallet with 3 credits, 2 lines of the ledger, 0 open holds: the books balance.\n"
    )


@pytest.mark.req("A5", "A6", "J20")
def test_a_refund_of_what_was_never_paid_for_and_a_code_of_nobody_are_errors(hermes, gateway):
    hermes("keys", "create", "--user", "ann")

    refund = hermes("credits", "refund", "m_unknown")
    refer = hermes("credits", "refer", "v1:ann", "33333-33333")
    wrong = hermes("credits", "refer", "v1:ann", "hello")

    assert [one.returncode for one in (refund, refer, wrong)] == [1, 1, 1]
    assert "Nothing was captured for 'm_unknown'" in refund.stderr
    assert "Nobody has the referral code 33333-33333" in refer.stderr
    assert "'hello' is not a referral code" in wrong.stderr


@pytest.mark.req("A5", "J20")
def test_without_a_gateway_the_files_are_used_and_who_did_what_is_on_record(hermes, home):
    hermes("keys", "create", "--user", "ann")
    hermes("keys", "create", "--user", "bob")
    limits = {"HERMES_CREDITS__POLICY": "wallet", "HERMES_CREDITS__REFERRAL_BONUS": "4"}
    before = json.loads(hermes("credits", "show", "v1:ann", "--json", **limits).stdout)
    text = hermes("credits", "show", "v1:ann", **limits).stdout
    hermes("credits", "grant", "v1:ann", "5", "--reason", "private")
    brought = hermes("credits", "refer", "v1:bob", before["referral_code"], **limits)
    listed = json.loads(hermes("credits", "list", "--json").stdout)["wallets"]

    assert (before["balance"], before["start_to_come"], before["is_limited"]) == (0, 20, True)
    assert "The start grant of 20 credits has not been booked yet." in text
    assert "A message costs 1 credit in tier free." in text
    assert brought.stdout.startswith("v1:bob brings the code of p_")
    assert brought.stdout.endswith(": 4 credits each. The balance is 4.\n")
    assert [(one["users"], one["balance"]) for one in listed] == [(["v1:bob"], 4), (["v1:ann"], 9)]
    log = (home / "logs" / "commands.log").read_text()
    events = [json.loads(line)["event"] for line in log.splitlines()]
    assert events[-2:] == ["credits_granted", "referred"]
    assert "private" not in log


@pytest.mark.req("A5", "J21")
def test_an_audit_that_finds_a_difference_says_so_and_fails(hermes, home):
    hermes("keys", "create", "--user", "ann")
    hermes("credits", "grant", "v1:ann", "5")
    with tables(home) as db:
        db.execute("UPDATE wallets SET balance = 6")

    told = hermes("credits", "audit")
    report = hermes("credits", "audit", "--json")

    assert (told.returncode, report.returncode) == (1, 1)
    assert "1 difference.\n" in told.stdout
    assert "expected 5, found 6" in told.stdout
    assert json.loads(report.stdout)["differences"][0]["expected"] == 5


@pytest.mark.req("A5")
def test_a_home_without_a_journal_stays_empty(hermes, home):
    commands = (
        ("show", "rest:ann"),
        ("grant", "rest:ann", "5"),
        ("refund", "m_1"),
        ("refer", "rest:ann", "33333-33333"),
        ("list",),
        ("audit",),
    )

    codes = [hermes("credits", *command).returncode for command in commands]

    assert codes == [1, 1, 1, 1, 0, 0]
    assert not (home / "hermes.db").exists()


@pytest.mark.req("A5")
def test_who_is_not_limited_used_credits_for_free_and_is_said_to_owe_nothing(hermes, home):
    hermes("keys", "create", "--user", "ann")
    hermes("credits", "grant", "v1:ann", "-13")
    shown = hermes("credits", "show", "v1:ann").stdout
    listed = hermes("credits").stdout
    limited = hermes("credits", "show", "v1:ann", HERMES_CREDITS__POLICY="wallet").stdout

    assert ") has used 13 credits for free.\nNothing limits them" in shown
    assert listed.endswith("used for free: nobody has to pay it.\n")
    assert "for free" not in limited
