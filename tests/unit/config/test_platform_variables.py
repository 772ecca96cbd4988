"""Variables that every platform has: who is answered, the home channel, mentions."""

import pytest

from hermes.config.variables import PLATFORM_NAMES
from hermes.people.access import platform_rules

pytestmark = pytest.mark.req("W1")


@pytest.mark.parametrize("platform", sorted(PLATFORM_NAMES))
@pytest.mark.parametrize("source", ["environment", ".env"])
def test_every_platform_has_the_four_variables(platform, source, write, load_home):
    prefix = platform.upper()
    environ = {
        f"HERMES_PLATFORMS__{prefix}__ENABLED": "true",
        f"{prefix}_ALLOW_ALL_USERS": "true",
        f"{prefix}_ALLOWED_USERS": "12, 34",
        f"{prefix}_ALLOWED_CHATS": "-100",
        f"{prefix}_HOME_CHANNEL": "77",
        f"{prefix}_REQUIRE_MENTION": "false",
    }
    lines = "".join(f"{name}='{value}'\n" for name, value in environ.items())
    write(dotenv=lines if source == ".env" else "")

    loaded = load_home(**(environ if source == "environment" else {}))

    access = loaded.settings.access.platforms[platform]
    rules = platform_rules(platform, loaded.settings, manifest="pair")
    assert (rules.allow_all, rules.allow_from) == (True, frozenset({"12", "34"}))
    assert rules.allowed_chats == {"-100"}
    assert access.require_mention is False
    assert loaded.settings.platforms[platform].home_channel == "77"
    assert loaded.origins[f"platforms.{platform}.home_channel"] == f"{source} {prefix}_HOME_CHANNEL"
    assert loaded.warnings == ()


def test_a_plugin_has_them_once_a_file_names_it(write, load_home):
    write(yaml="platforms: {my-pager: {enabled: true}}\n")

    loaded = load_home(MY_PAGER_HOME_CHANNEL="desk", MY_PAGER_ALLOWED_USERS="ann")

    assert loaded.settings.platforms["my-pager"].home_channel == "desk"
    assert loaded.settings.access.platforms["my-pager"].allow_from == ("ann",)


def test_a_plugin_has_them_once_a_variable_names_it(load_home):
    environ = {"HERMES_PLATFORMS__PAGER__ENABLED": "true", "PAGER_ALLOW_ALL_USERS": "1"}

    assert load_home(**environ).settings.access.platforms["pager"].allow_all is True


def test_the_variables_of_other_programs_are_left_alone(load_home):
    loaded = load_home(PAGER_HOME_CHANNEL="desk", X_REQUIRE_MENTION="false")

    assert loaded.settings.platforms == {}
    assert loaded.settings.access.platforms == {}
    assert loaded.warnings == ()


def test_an_empty_variable_sets_nothing(write, load_home):
    write(yaml="access: {platforms: {slack: {require_mention: false}}}\n")

    assert (
        load_home(SLACK_REQUIRE_MENTION="").settings.access.platforms["slack"]
        == (load_home().settings.access.platforms["slack"])
    )


def test_a_word_that_is_no_answer_is_refused_by_the_name_of_the_variable(refusal):
    assert refusal(SLACK_REQUIRE_MENTION="sometimes") == (
        'environment SLACK_REQUIRE_MENTION: access.platforms.slack.require_mention is "sometimes", '
        "expected true or false; correct it, or remove it for true"
    )


def test_a_variable_that_hides_the_file_is_reported(write, load_home):
    write(yaml="platforms: {slack: {home_channel: C1}}\n")

    loaded = load_home(SLACK_HOME_CHANNEL="C2")

    assert loaded.settings.platforms["slack"].home_channel == "C2"
    assert [str(warning) for warning in loaded.warnings] == [
        'environment SLACK_HOME_CHANNEL sets platforms.slack.home_channel to "C2" and hides "C1" '
        "of config.yaml; remove one of the two"
    ]


def test_the_full_name_takes_precedence_over_the_short_one(load_home):
    environ = {
        "SLACK_HOME_CHANNEL": "C1",
        "HERMES_PLATFORMS__SLACK__HOME_CHANNEL": "C2",
    }

    assert load_home(**environ).settings.platforms["slack"].home_channel == "C2"
    backwards = dict(reversed(environ.items()))
    assert load_home(**backwards).settings.platforms["slack"].home_channel == "C2"
