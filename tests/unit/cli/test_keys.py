import json
import re

import pytest

SECRET = re.compile(r"hk_[A-Za-z0-9_-]{43}")


@pytest.mark.req("A22", "W35")
def test_a_key_is_printed_once_alone_and_its_use_beside_it(hermes, gateway):
    made = hermes("keys", "create", "--user", "ann", "--budget", "5/month", "--rate", "60")
    listed = hermes("keys", "list")

    assert made.returncode == 0
    secret = made.stdout.strip()
    assert SECRET.fullmatch(secret)
    assert secret not in made.stderr
    assert "of ann: $5.00 a month, 60 a minute." in made.stderr
    assert "curl http://far.example/v1/chat/completions" in made.stderr
    assert 'OpenAI(base_url="http://far.example/v1", api_key=KEY)' in made.stderr
    assert secret not in listed.stdout
    assert f"  {secret[-4:]}  " in listed.stdout
    assert "$0.00 of $5.00, 0 tokens this month" in listed.stdout


@pytest.mark.req("A22", "M1")
def test_a_key_that_stores_responses_says_so_and_others_do_not(hermes, gateway):
    plain = hermes("keys", "create", "--user", "ann")
    storing = hermes("keys", "create", "--user", "bob", "--store-responses")
    listed = hermes("keys", "list")

    assert "of ann, without limits." in plain.stderr
    assert "of bob: stores responses." in storing.stderr
    assert listed.stdout.count("stores responses") == 1


@pytest.mark.req("A22", "M11")
def test_m11_a_key_and_a_token_that_may_delegate_say_so_and_others_do_not(hermes, gateway):
    key = hermes("keys", "create", "--user", "ann", "--delegate")
    hermes("keys", "create", "--user", "bob")
    hermes("token", "create", "--role", "operator", "--delegate")
    hermes("token", "create", "--role", "operator")
    viewer = hermes("token", "create", "--role", "viewer", "--delegate")

    assert "of ann: may delegate." in key.stderr
    assert hermes("keys", "list").stdout.count("may delegate") == 1
    assert hermes("token", "list", "--wide").stdout.count("may delegate") == 1
    assert (viewer.returncode, "cannot delegate" in viewer.stderr) == (1, True)


@pytest.mark.req("A22")
def test_every_limit_reaches_the_gateway(hermes, gateway):
    made = hermes(
        *("keys", "create", "--user", "ann", "--label", "build", "--budget", "0"),
        *("--tokens", "1,000", "--models", "auto,openai:*,agent:main"),
        *("--rate", "3", "--max-output", "9", "--expires", "30d", "--json"),
    )

    told = json.loads(made.stdout)
    key = told["key"]
    assert (made.returncode, made.stderr) == (0, "")
    assert SECRET.fullmatch(told["secret"])
    assert key["models"] == ["auto", "openai:*", "agent:main"]
    assert (key["budget_usd"], key["budget_tokens"], key["budget_period"]) == (0.0, 1_000, "total")
    assert (key["requests_per_minute"], key["max_output_tokens"]) == (3, 9)
    assert key["expires_at"] - key["created_at"] == pytest.approx(30 * 86_400)
    assert (key["user"], key["label"], key["state"]) == ("ann", "build", "active")


@pytest.mark.req("A22")
def test_a_malformed_limit_is_a_wrong_use_and_makes_no_key(hermes, gateway):
    for option, value in [
        ("--budget", "5/week"),
        ("--budget", "-1"),
        ("--tokens", "many"),
        ("--models", ","),
        ("--rate", "0"),
        ("--max-output", "0"),
        ("--expires", "soon"),
    ]:
        done = hermes("keys", "create", "--user", "ann", option, value)
        assert (done.returncode, done.stdout) == (2, "")
        assert option in done.stderr
    both = hermes("keys", "create", "--user", "ann", "--budget", "5/day", "--tokens", "9/month")
    assert both.returncode == 2
    assert "different times" in both.stderr

    assert "There are no keys" in hermes("keys", "list").stdout


@pytest.mark.req("A22")
def test_a_key_is_revoked_by_a_unique_beginning_of_its_id(hermes, gateway):
    made = json.loads(hermes("keys", "create", "--user", "ann\x1b[2J", "--json").stdout)
    name = made["key"]["id"]

    ended, again = hermes("keys", "revoke", name[:8]), hermes("keys", "revoke", name)
    unknown = hermes("keys", "revoke", "k_nobody", "--json")

    hint = made["key"]["hint"]
    assert ended.stdout == f"The key {name} of ann[2J (ends in {hint}) is revoked now.\n"
    assert (again.returncode, "was revoked already, at " in again.stdout) == (0, True)
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert unknown.stderr.startswith("hermes: No key is known as 'k_nobody'.")
    assert "revoked 20" in hermes("keys", "list").stdout


@pytest.mark.req("J20", "A22")
def test_without_a_gateway_the_files_are_changed_and_the_change_is_on_record(hermes, home):
    made = hermes("keys", "create", "--user", "ann")
    listed = json.loads(hermes("keys", "list", "--json").stdout)["keys"]
    ended = hermes("keys", "revoke", listed[0]["id"], "--json")

    assert SECRET.fullmatch(made.stdout.strip())
    assert "curl http://127.0.0.1:8080/v1/" in made.stderr
    assert [(key["user"], key["hint"]) for key in listed] == [("ann", made.stdout.strip()[-4:])]
    assert json.loads(ended.stdout)["changed"] is True
    record = (home / "logs" / "commands.log").read_text()
    assert [json.loads(line)["event"] for line in record.splitlines()] == [
        "key_created",
        "key_revoked",
    ]
    assert made.stdout.strip() not in record


@pytest.mark.req("J20")
def test_the_files_are_left_alone_while_another_process_holds_the_lock(hermes, home, gateway):
    # Its address is gone, as while a gateway starts: nobody can be asked, and nothing is opened.
    (home / "run" / "gateway.json").unlink()

    done = hermes("keys", "create", "--user", "ann")

    assert (done.returncode, done.stdout) == (1, "")
    assert f"pid {gateway.pid}" in done.stderr
    assert not (home / "hermes.db").exists()


@pytest.mark.req("J20")
def test_looking_at_a_home_that_does_not_exist_does_not_make_it(hermes, home):
    home.rmdir()

    done = [
        hermes("keys", "list"),
        hermes("kill-switch", "status"),
        hermes("costs"),
        hermes("keys", "list", "--json"),
    ]

    assert [one.returncode for one in done] == [0, 0, 0, 0]
    assert json.loads(done[3].stdout) == {"keys": []}
    assert not home.exists()
