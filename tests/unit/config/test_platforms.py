"""Platforms in the configuration: two spellings, credentials that enable, the legacy file."""

import json

import pytest

from hermes.errors import ConfigurationError
from hermes.plugins.manifest import load_manifest, read_settings

pytestmark = pytest.mark.req("W1")


def test_the_short_and_the_full_spelling_mean_the_same(write, load_home):
    write(yaml="telegram: {enabled: true, require_mention: true}\n")
    short = load_home()

    write(yaml="platforms: {telegram: {enabled: true, extra: {require_mention: true}}}\n")
    full = load_home()

    assert short.settings == full.settings
    assert short.origins == full.origins
    assert full.settings.platforms["telegram"].extra == {"require_mention": True}


def test_a_plugin_platform_has_the_short_spelling_once_it_is_named(write, load_home):
    write(yaml="platforms: {pager: {enabled: true}}\npager: {number: 7}\n")

    assert load_home().settings.platforms["pager"].extra == {"number": 7}


def test_both_spellings_of_one_key_are_an_error(write, refusal):
    write(yaml="telegram: {a: 1}\nplatforms: {telegram: {extra: {a: 2}}}\n")

    assert refusal() == (
        "config.yaml: platforms.telegram.extra.a is given twice, also in its short form; "
        "remove one of the two"
    )


@pytest.mark.parametrize("source", ["environment", ".env"])
def test_a_credential_in_a_variable_enables_the_platform(source, write, load_home):
    environ = {"TELEGRAM_BOT_TOKEN": "1:a", "TELEGRAM_ALLOWED_USERS": "12, 34"}
    lines = "".join(f"{name}='{value}'\n" for name, value in environ.items())
    write(dotenv=lines if source == ".env" else "")

    loaded = load_home(**(environ if source == "environment" else {}))

    telegram = loaded.settings.platforms["telegram"]
    assert telegram.enabled is True
    assert telegram.extra["allowed_users"] == ("12", "34")
    assert telegram.extra["bot_token"].get_secret_value() == "1:a"
    assert loaded.origins["platforms.telegram.enabled"] == f"{source} TELEGRAM_BOT_TOKEN"


def test_numbers_in_a_list_of_people_become_text(write, load_home):
    write(yaml="telegram: {enabled: true, allowed_users: [12, 34]}\n")

    assert load_home().settings.platforms["telegram"].extra["allowed_users"] == ("12", "34")


def test_an_explicit_no_in_the_file_wins_over_a_credential_and_is_reported(write, load_home):
    write(yaml="telegram: {enabled: false}\n")

    loaded = load_home(TELEGRAM_BOT_TOKEN="1:a")

    assert loaded.settings.platforms["telegram"].enabled is False
    assert [str(warning) for warning in loaded.warnings] == [
        "config.yaml sets platforms.telegram.enabled to false and hides true of "
        "environment TELEGRAM_BOT_TOKEN; remove one of the two"
    ]


def test_an_explicit_no_in_dotenv_wins_over_a_credential(write, load_home):
    write(dotenv="HERMES_TELEGRAM__ENABLED=false\n")

    loaded = load_home(TELEGRAM_BOT_TOKEN="1:a")

    assert loaded.settings.platforms["telegram"].enabled is False


def test_a_platform_with_settings_that_is_not_enabled_is_reported(write, load_home):
    write(yaml="irc: {server: irc.example}\n")

    assert [str(warning) for warning in load_home().warnings] == [
        "default: platforms.irc.enabled is false, but the platform has settings; "
        "set platforms.irc.enabled to true to connect it, or remove them"
    ]


LEGACY = {
    "platforms": {
        "telegram": {"enabled": False, "token": "1:a", "home_channel": {"chat_id": "9"}},
    },
    "sessions_dir": "/old",
}


def test_the_legacy_file_is_understood(write, load_home):
    write(legacy=json.dumps(LEGACY))

    loaded = load_home()

    telegram = loaded.settings.platforms["telegram"]
    assert telegram.enabled is False
    assert telegram.extra["bot_token"].get_secret_value() == "1:a"
    assert telegram.home_channel == "9"
    assert [str(warning) for warning in loaded.warnings] == [
        'gateway.json: sessions_dir is "/old" and has no effect any more; remove it'
    ]


def test_a_credential_in_the_environment_enables_what_the_legacy_file_left_off(write, load_home):
    write(legacy=json.dumps(LEGACY))

    loaded = load_home(TELEGRAM_BOT_TOKEN="2:b")

    assert loaded.settings.platforms["telegram"].enabled is True


@pytest.mark.req("W2", "W9")
def test_a_secret_may_name_a_variable_and_one_that_nobody_set_refuses_its_channel_only(
    write, load_home
):
    hook, chat = (load_manifest(f"hermes.channels.{name}") for name in ("webhook", "telegram"))
    write(
        yaml='platforms: {webhook: {enabled: true, extra: {routes: {ci: {secret: "${CI_SECRET}", '
        'prompt: "${CI_SECRET}"}}}}, telegram: {enabled: true, extra: {bot_token: "${TOKEN}"}}}',
        dotenv="CI_SECRET=from-the-env-file\n",
    )

    found = load_home().settings.platforms

    routes = read_settings(hook, found["webhook"].extra)["routes"]
    assert routes == {"ci": {"secret": "from-the-env-file", "prompt": "${CI_SECRET}"}}
    with pytest.raises(ConfigurationError, match=r"telegram.bot_token: the variable TOKEN is set"):
        read_settings(chat, found["telegram"].extra)
    write(dotenv="")
    with pytest.raises(ConfigurationError, match=r"routes.ci.secret: the variable CI_SECRET is"):
        read_settings(hook, load_home().settings.platforms["webhook"].extra)
