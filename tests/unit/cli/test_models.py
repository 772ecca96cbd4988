import json

import pytest


@pytest.mark.req("P6", "P7")
def test_models_works_without_a_gateway_and_asks_what_the_configuration_names(hermes, home):
    (home / "config.yaml").write_text(
        "providers: {mine: {base_url: 'http://models.example.com/v1', model: big}}"
    )
    shown, told = hermes("models"), hermes("models", "--json")

    assert (shown.returncode, told.returncode, shown.stderr) == (0, 0, "")
    rows = {row["provider"]: row for row in json.loads(told.stdout)["models"]}
    assert rows["openai"]["available"] is False
    assert rows["openai"]["problem"] == "no key: set OPENAI_API_KEY"
    assert rows["mine"]["price"] is None
    assert rows["local"]["demonstration"] is True
    lines = {line.split()[0]: line for line in shown.stdout.splitlines()}
    assert lines["mine:big"].rstrip().endswith("price unknown")
    assert "no key: set OPENAI_API_KEY" in lines["openai:gpt-4o-mini"]
    assert "this machine, demonstration" in next(
        line for name, line in lines.items() if name.startswith("local:")
    )


@pytest.mark.req("P6", "A20")
def test_a_refresh_without_a_gateway_prints_its_report_and_no_log(hermes, home):
    (home / "config.yaml").write_text(
        "providers: {mine: {base_url: 'http://127.0.0.1:9/v1', model: big}}"
    )

    told = hermes("models", "refresh", "mine", "--json")

    (service,) = json.loads(told.stdout)["services"]
    assert (told.returncode, service["provider"], told.stderr) == (1, "mine", "")


@pytest.mark.req("P6")
def test_models_asks_the_running_gateway_and_hides_control_codes(hermes, gateway):
    shown = hermes("models")

    assert shown.returncode == 0
    assert "far[2J:away-1" in shown.stdout
    assert "64,000" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "openai" not in shown.stdout


@pytest.mark.req("P7")
def test_route_tells_the_rule_of_every_candidate_and_the_reason_of_every_other(hermes, model):
    shown = hermes("route", "What time is it?", **model)
    told = json.loads(hermes("route", "What time is it?", "--json", **model).stdout)

    assert shown.returncode == 0
    assert "1  openai:gpt-4o-mini  local first: complexity 0.00 <= 1.0" in shown.stdout
    assert "dropped: a configured model comes first" in shown.stdout
    assert [one["provider"] for one in told["candidates"]] == ["openai"]
    assert [one["provider"] for one in told["dropped"]] == ["local"]


@pytest.mark.req("P7", "A19", "A23")
def test_route_takes_what_a_call_may_need(hermes, model):
    tier = hermes("route", "Hello", "--tier", "starter", **model)
    named = hermes("route", "Hello", "--model", "openai:other", "--tools", **model)
    summary = hermes("route", "Hello", "--capability", "summarization", "--json", **model)

    own = hermes(
        *("route", "Hello", "--capability", "summarization", "--tier", "pro"),
        **model,
        HERMES_MODELS__SUMMARIES="openai:small-1",
    )

    assert "1  openai:small-1  explicit model openai:small-1" in own.stdout
    assert "tier starter, 2 of 2: local" in tier.stdout
    assert "dropped: no provider serves claude-haiku-4-5-20251001" in tier.stdout
    assert "1  openai:other  explicit model openai:other" in named.stdout
    assert json.loads(summary.stdout)["candidates"][0]["provider"] == "openai"


@pytest.mark.req("P1", "P7")
def test_a_route_without_a_candidate_is_exit_code_1_with_the_reasons(hermes):
    done = hermes("route", "Hello", "--tier", "gold")

    assert done.returncode == 1
    assert done.stderr == (
        "hermes: the tier 'gold' is not one of routing.tiers: free, starter, pro; "
        "add routing.tiers.gold, or change the person's tier\n"
    )


@pytest.mark.req("W7")
def test_a_capability_or_task_that_does_not_exist_is_a_wrong_use(hermes):
    for option in ("--capability", "--task"):
        done = hermes("route", "Hello", option, "nonsense")
        assert done.returncode == 2
        assert "is not one of" in done.stderr


@pytest.mark.req("P7")
def test_route_asks_the_running_gateway(hermes, gateway):
    shown = hermes("route", "Hello", "--tools")

    assert shown.returncode == 0
    assert "any available provider that can do chat" in shown.stdout
    assert "price unknown" in shown.stdout


def test_a_plan_without_any_row_is_an_error_alone(hermes):
    done = hermes("route", "Hello", "--model", "nosuch")

    assert (done.returncode, done.stdout) == (1, "")
    assert "no provider for the explicit model 'nosuch'" in done.stderr
