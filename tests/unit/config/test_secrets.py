"""Secrets never come out: not in rows, warnings, errors, or the text of the settings."""

import json

import pytest

from hermes.config import SettingRow, show

SECRET = "hunter2secret"


@pytest.mark.req("W1", "W35")
def test_no_secret_is_shown_in_rows_warnings_or_text(write, load_home):
    # given a secret in every place that can hold one, and each shadowed once
    write(
        dotenv=f"OPENAI_API_KEY={SECRET}\nTELEGRAM_BOT_TOKEN={SECRET}\n",
        yaml=f"""\
providers: {{openai: {{api_key: {SECRET}, headers: {{X-Key: {SECRET}}}}}}}
telegram: {{bot_token: {SECRET}, webhook_secret: {SECRET}, logins: [{{password: {SECRET}}}], pin_key: 12345678}}
proxy: http://ada:{SECRET}@proxy:1
""",
    )

    # when
    loaded = load_home(OPENAI_API_KEY=f"{SECRET}-2", HERMES_API_KY=SECRET)

    # then
    rows = show(loaded, origin=True)
    printed = json.dumps(rows) + repr(loaded) + "".join(map(str, loaded.warnings))
    assert SECRET not in printed
    assert "12345678" not in printed
    values = {row.key: row.value for row in rows}
    assert values["providers.openai.api_key"] == "****"
    assert values["providers.openai.headers.X-Key"] == "****"
    assert values["platforms.telegram.extra.webhook_secret"] == "****"
    assert values["proxy"] == "http://****@proxy:1"
    assert len(loaded.warnings) >= 3


@pytest.mark.req("W1", "W35")
def test_no_secret_is_shown_in_an_error(write, refusal):
    write(
        yaml=f"""\
providers: {{openai: {{api_key: [{SECRET}], api_kye: {SECRET}, base_url: "http://a:{SECRET}@b"}}}}
""",
        dotenv=f'A {SECRET}\nB=\'{SECRET}\nC={SECRET} {SECRET}\nD="\\{SECRET}"\n',
    )

    text = refusal(ANTHROPIC_API_KEY=f"{SECRET}\n", HERMES_PROVIDERS=f'{{"x": "{SECRET}')

    assert SECRET not in text
    assert "9 problems" in text


@pytest.mark.req("W1", "M2")
def test_a_malformed_key_is_refused(refusal):
    assert refusal(ANTHROPIC_API_KEY="sk-1\n") == (
        'environment ANTHROPIC_API_KEY: providers.anthropic.api_key is "****", '
        "expected a secret text without spaces or line ends; correct it"
    )


@pytest.mark.req("W1")
def test_a_file_with_secrets_that_others_can_read_is_reported(home, write, load_home):
    write(dotenv="OPENAI_API_KEY=a\n")
    (home / ".env").chmod(0o644)
    assert load_home().warnings == ()  # the folder itself is closed

    home.chmod(0o755)
    assert [str(warning) for warning in load_home().warnings] == [
        ".env: providers.openai.api_key is **** and others on this machine can read it; "
        f"run chmod 600 {home}/.env"
    ]


@pytest.mark.req("W1")
def test_a_secret_that_others_can_read_is_found_by_its_form_too(home, write, load_home):
    home.chmod(0o755)
    server = "mcp:\n  servers:\n    one:\n      command: run\n"
    write(yaml=f"{server}      env:\n        API_KEY: ${{OUR_KEY}}\n")
    (home / "config.yaml").chmod(0o644)
    assert load_home(OUR_KEY="sk-1").warnings == ()  # the name of a variable is no secret

    write(yaml=f"{server}      args: [--token, aSecretOfOurs]\n")
    assert [str(warning) for warning in load_home().warnings] == [
        "config.yaml: mcp.servers.one.args is **** and others on this machine can read it; "
        f"run chmod 600 {home}/config.yaml"
    ]


@pytest.mark.req("W1")
def test_rows_hold_plain_values_and_origins_on_request(load_home):
    loaded = load_home(HERMES_SERVER__PORT="0")

    assert SettingRow("server.port", 0, "environment HERMES_SERVER__PORT") in show(
        loaded, origin=True
    )
    assert SettingRow("server.port", 0, None) in show(loaded, origin=False)
    assert SettingRow("outbox.quick_delays_s", [0, 1, 3, 9], "default") in show(loaded, origin=True)
    assert {row.key for row in show(loaded, origin=False)} == set(loaded.origins)
