"""`config set`: the value gets its type, comments stay, and nothing wrong or secret is written."""

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes.config import load
from hermes.config.change import (
    draft_of,
    draft_with,
    draft_without,
    key_of_name,
    locked_files,
    read_value,
    write_draft,
)
from hermes.config.first_files import replace_file
from hermes.config.yaml_edit import line_of, remove_value
from hermes.errors import BadRequest, ConfigurationError, Conflict

FILE = "# ours\nserver:\n  port: 8080 # the door\n  host: 127.0.0.1\n\nlogs:\n  level: info\n"


def put(home: Path, name: str, text: str, **environ: str) -> str:
    """Set a value as the command does; return the file."""
    key = key_of_name(name)
    draft = draft_with(environ, home, key, value=read_value(key, text))
    assert draft.new_problems == ()
    write_draft(draft)
    return (home / "config.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("server.port", "8090", 8090),
        ("server.drain_s", "5", 5),
        ("server.drain_s", "0.5", 0.5),
        ("offline", "true", True),
        ("agents.main.name", "42", "42"),
        ("agents.main.name", "Iris: the librarian # 1", "Iris: the librarian # 1"),
        ("time_zone", "", None),
        ("platforms.telegram.home_channel", "123456", "123456"),
        ("access.platforms.telegram.allow_from", "4711, 4712", ["4711", "4712"]),
        ("outbox.quick_delays_s", "1,2.5", [1, 2.5]),
        ("outbox.quick_delays_s", "[1, 2]", [1, 2]),
        ("platforms.telegram.extra.mode", "poll", "poll"),
        ("platforms.telegram.extra.poll_s", "30", 30),
        ("platforms.telegram.extra.at", "12:30", "12:30"),
        ("mcp.servers.shop.args", '["-m", "shop"]', ["-m", "shop"]),
    ],
)
def test_a_value_gets_the_type_that_its_key_takes(name: str, text: str, value: Any) -> None:
    assert read_value(key_of_name(name), text) == value


def test_only_the_line_of_the_value_changes(home, write):
    write(yaml=FILE)

    assert put(home, "server.port", "8090") == FILE.replace("8080", "8090")
    assert load({}, home).settings.server.port == 8090
    assert stat.S_IMODE((home / "config.yaml").stat().st_mode) == 0o600


def test_a_new_file_is_made_and_a_new_table_comes_last(home):
    assert put(home, "logs.level", "debug") == 'logs:\n  level: "debug"\n'
    assert put(home, "server.port", "1").endswith("server:\n  port: 1\n")


def test_a_name_of_an_entry_may_have_dots(home):
    put(home, "providers.house.base_url", "http://127.0.0.1:1/v1")
    text = put(home, "providers.house.models.gpt-4.1.context_tokens", "128000")

    models = yaml.safe_load(text)["providers"]["house"]["models"]
    assert models == {"gpt-4.1": {"context_tokens": 128_000}}


def test_the_short_form_of_a_platform_is_kept(home, write):
    write(yaml="telegram:\n  mode: poll\n")

    text = put(home, "platforms.telegram.extra.mode", "webhook")
    assert yaml.safe_load(text) == {"telegram": {"mode": "webhook"}}
    assert key_of_name("telegram.mode") == ("platforms", "telegram", "extra", "mode")


def test_what_would_be_wrong_is_a_new_problem(home, write):
    write(yaml=FILE)
    draft = draft_with({}, home, ("server", "port"), value=70_000)
    assert [one.key for one in draft.new_problems] == ["server.port"]

    # also what is wrong only together with another setting
    draft = draft_with({}, home, ("default_agent",), value="nobody")
    assert [one.key for one in draft.new_problems] == ["default_agent"]


def test_one_of_two_old_problems_can_be_corrected_alone(home, write):
    write(yaml="server:\n  port: x\nlogs:\n  level: loud\n")

    put(home, "server.port", "8090")

    left = draft_of({}, home, (home / "config.yaml").read_text()).found.problems
    assert [one.key for one in left] == ["logs.level"]


@pytest.mark.parametrize(
    ("name", "text", "variable"),
    [
        ("providers.openai.api_key", "sk-1", "OPENAI_API_KEY"),
        ("providers.house.api_key", "sk-1", "HERMES_PROVIDERS__HOUSE__API_KEY"),
        ("telegram.bot_token", "1:a", "TELEGRAM_BOT_TOKEN"),
        ("providers.openai", '{"api_key": "sk-1"}', "OPENAI_API_KEY"),
        ("proxy", "http://ann:pass@proxy.test", "HERMES_PROXY"),
        ("providers.openai.api_key", "${KEY}", "OPENAI_API_KEY"),
        ("mcp.servers.shop.env.TOKEN", "sk-1", "TOKEN"),
    ],
)
def test_a_secret_belongs_into_dotenv(home, name: str, text: str, variable: str):
    key = key_of_name(name)
    with pytest.raises(BadRequest) as refused:
        draft_with({}, home, key, value=read_value(key, text))

    assert f"{variable}=..." in str(refused.value)
    assert text not in str(refused.value)
    assert not (home / "config.yaml").exists()


def test_the_name_of_a_variable_is_no_secret_where_it_is_replaced(home):
    put(home, "mcp.servers.shop.command", "shop")
    put(home, "mcp.servers.shop.env.TOKEN", "${SHOP_TOKEN}", SHOP_TOKEN="s")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("servr.port", "server.port"),
        ("logs.levle", "logs.level"),
        ("agents.main.temprature", "agents.main.temperature"),
        ("platforms.telegram.tokn", ""),
        ("providers.house.modl", "providers.house.model"),
        ("a..b", ""),
    ],
)
def test_an_unknown_setting_names_the_nearest(name: str, meant: str) -> None:
    with pytest.raises(BadRequest, match=f"is not a setting.*{meant}"):
        key_of_name(name)


def test_only_names_that_may_have_dots_have_some() -> None:
    key = key_of_name("providers.house.models.gpt-4.1.context_tokens")

    assert key == ("providers", "house", "models", "gpt-4.1", "context_tokens")


def test_a_table_needs_a_setting_or_json() -> None:
    with pytest.raises(BadRequest, match="settings below it"):
        read_value(key_of_name("server"), "8080")


def test_a_file_that_is_no_yaml_is_not_touched(home, write):
    write(yaml="server: [1\n")
    with pytest.raises(ConfigurationError, match="line 2"):
        draft_with({}, home, ("server", "port"), value=1)

    assert (home / "config.yaml").read_text() == "server: [1\n"


def test_a_file_that_changed_meanwhile_is_not_replaced(home, write):
    draft = draft_with({}, home, ("server", "port"), value=1)
    write(yaml="offline: true\n")

    with pytest.raises(Conflict, match="changed meanwhile"):
        write_draft(draft)
    assert (home / "config.yaml").read_text() == "offline: true\n"


def test_a_link_stays_a_link(home, tmp_path):
    kept = tmp_path / "dotfiles.yaml"
    kept.write_text("offline: true\n")
    (home / "config.yaml").symlink_to(kept)

    put(home, "offline", "false")

    assert (home / "config.yaml").is_symlink()
    assert kept.read_text() == "offline: false\n"


def test_init_and_channels_add_replace_what_a_link_leads_to_and_keep_the_old_text_beside_it(
    home, tmp_path
):
    kept = tmp_path / "dotfiles" / "hermes.yaml"
    kept.parent.mkdir()
    kept.write_text("offline: true\n")
    (home / "config.yaml").symlink_to(kept)

    old = replace_file(home / "config.yaml", "offline: false\n")

    assert (home / "config.yaml").is_symlink()
    assert kept.read_text() == "offline: false\n"
    assert [(one, one.read_text()) for one in old] == [
        (tmp_path / "dotfiles" / "hermes.yaml.old1", "offline: true\n")
    ]


def test_two_commands_never_change_it_at_once(home):
    with locked_files(home), pytest.raises(Conflict, match="right now"), locked_files(home):
        pass
    with locked_files(home):
        pass


def test_what_is_unset_leaves_comments_and_neighbours(home, write):
    write(yaml=FILE)
    draft = draft_without({}, home, ("server", "port"))

    assert draft.after == FILE.replace("  port: 8080 # the door\n", "")
    assert remove_value("a:\n  b:\n    - 1\n    - 2\nc: 3\n", ("a", "b")) == "a:\nc: 3\n"
    assert remove_value(FILE, ("server", "nothing")) == FILE
    with pytest.raises(ConfigurationError, match=r"remove server\.port by hand"):
        remove_value("server: {port: 1, host: x}\n", ("server", "port"))


def test_the_line_of_a_key_or_of_the_nearest_above_it() -> None:
    text = (
        "server:\n  port: 1\nproviders:\n  house:\n    models:\n      gpt-4.1:\n        weight: 1\n"
    )

    assert line_of(text, "server.port") == 2
    assert line_of(text, "providers.house.models.gpt-4.1.weight") == 7
    assert line_of(text, "server.host") == 1
    assert line_of(text, "logs.level") is None
    assert line_of("{", "a") is None
