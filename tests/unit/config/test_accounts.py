"""Several bots of one platform in the configuration: their names, their settings, their variables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes.config import LoadedConfig
from hermes.config.platform_files import platform_variable, platform_variables, write_platform
from hermes.errors import ConfigurationError

Load = Callable[..., LoadedConfig]
Write = Callable[..., None]
TWO = """\
agents: {seller: {}}
platforms:
  telegram:
    extra: {bot_token: "1:a"}
    accounts:
      sales: {agent: seller, home_channel: 7, extra: {bot_token: "2:b", mode: webhook}}
      old: {enabled: false, extra: {bot_token: "3:c"}}
"""


def told(loaded: LoadedConfig) -> dict[str, tuple[bool, str | None, Any]]:
    """Return of each channel whether it is on, its agent, and its token."""
    return {
        name: (one.enabled, one.agent, one.extra["bot_token"].get_secret_value())  # type: ignore[attr-defined]
        for name, one in loaded.settings.channels.items()
    }


@pytest.mark.req("W1")
def test_each_account_is_a_channel_with_settings_of_its_own(write: Write, load_home: Load) -> None:
    write(yaml=TWO)

    loaded = load_home(HERMES_PLATFORMS__TELEGRAM__ENABLED="true")

    assert told(loaded) == {
        "telegram": (True, None, "1:a"),
        "telegram/sales": (True, "seller", "2:b"),
        "telegram/old": (False, None, "3:c"),
    }
    assert loaded.settings.channels["telegram/sales"].home_channel == "7"


@pytest.mark.req("W1")
def test_the_short_form_and_variables_mean_the_same(write: Write, load_home: Load) -> None:
    write(yaml='telegram: {accounts: {sales: {agent: main, bot_token: "2:b"}, help-desk: {}}}')

    loaded = load_home(
        TELEGRAM_BOT_TOKEN="1:a",
        HERMES_TELEGRAM__ACCOUNTS__HELP_DESK__BOT_TOKEN="3:c",
        HERMES_PLATFORMS__TELEGRAM__ACCOUNTS__LATE__EXTRA__BOT_TOKEN="4:d",
    )

    assert told(loaded) == {
        "telegram": (True, None, "1:a"),
        "telegram/sales": (True, "main", "2:b"),
        "telegram/help-desk": (True, None, "3:c"),
        "telegram/late": (True, None, "4:d"),
    }


@pytest.mark.req("W1")
def test_a_platform_with_nothing_but_accounts_has_no_bot_of_its_own(
    write: Write, load_home: Load
) -> None:
    write(yaml='platforms: {telegram: {accounts: {sales: {extra: {bot_token: "2:b"}}}}}')

    assert told(load_home()) == {"telegram/sales": (True, None, "2:b")}


@pytest.mark.parametrize(
    ("yaml", "problem"),
    [
        ("platforms: {telegram: {accounts: {default: {}}}}", "not 'default'"),
        ("platforms: {telegram: {accounts: {a__b: {}}}}", "a name of at most 32 small letters"),
        ("platforms: {telegram: {accounts: {a: {agent: nobody}}}}", "expected one of the agents"),
        ("platforms: {telegram: {accounts: {a: {token: x}}}}", "accounts.a.extra.token"),
        ("access: {platforms: {telegram/a/b: {allow_all: true}}}", "telegram/sales"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    write: Write, load_home: Load, yaml: str, problem: str
) -> None:
    write(yaml=yaml)

    with pytest.raises(ConfigurationError) as refused:
        load_home()

    assert problem in str(refused.value)


@pytest.mark.req("W20")
def test_no_secret_of_an_account_is_shown(write: Write, load_home: Load) -> None:
    write(yaml="platforms: {telegram: {accounts: {a: {extra: {bot_token: [hunter2]}}}}}")
    shown = str(load_home().settings)
    write(yaml="platforms: {telegram: {accounts: [{password: hunter2}]}}")
    with pytest.raises(ConfigurationError) as refused:
        load_home()

    assert "hunter2" not in f"{shown}{refused.value}"


def test_rules_of_a_bot_replace_those_of_its_platform(write: Write, load_home: Load) -> None:
    write(
        yaml="access: {platforms: {telegram: {unknown: pair}, telegram/sales: {unknown: allow}}}\n"
        "busy: {platforms: {telegram/sales: queue}}\n"
        "agent_rules: {r: {platform: telegram/sales, agent: main}}\n"
    )

    settings = load_home().settings

    assert settings.access.platforms["telegram/sales"].unknown == "allow"
    assert settings.busy.platforms["telegram/sales"] == "queue"
    assert settings.agent_rules["r"].platform == "telegram/sales"


def test_what_a_setup_writes_is_read_as_that_bots(home: Path, load_home: Load) -> None:
    write_platform(
        home,
        "telegram/help-desk",
        secrets={("bot_token",): "2:b"},
        settings={("mode",): "poll"},
    )

    loaded = load_home()

    assert told(loaded) == {"telegram/help-desk": (True, None, "2:b")}
    assert loaded.settings.channels["telegram/help-desk"].extra["mode"] == "poll"
    assert platform_variable("telegram", "bot_token") == "TELEGRAM_BOT_TOKEN"
    assert platform_variables("telegram/help-desk", "bot_token") == (
        "HERMES_PLATFORMS__TELEGRAM__ACCOUNTS__HELP_DESK__EXTRA__BOT_TOKEN",
        "HERMES_TELEGRAM__ACCOUNTS__HELP_DESK__BOT_TOKEN",
    )
