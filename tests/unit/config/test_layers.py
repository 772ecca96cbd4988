"""Which layer wins, what each can say, and where a value is said to come from."""

import json

import pytest

from hermes.config import (
    BusySettings,
    ServerSettings,
    Settings,
    StoreSettings,
    load,
)
from hermes.home_path import home_folder

pytestmark = pytest.mark.req("W1")


def test_without_any_layer_the_settings_are_the_defaults(load_home):
    # given a home with no files and an empty environment
    loaded = load_home()

    # then
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.warnings == ()


def test_the_defaults_are_those_of_the_specification():
    settings = Settings()

    assert settings.server == ServerSettings(
        host="127.0.0.1",
        port=8080,
        max_body_bytes=2_097_152,
        drain_s=180,
        keep_alive_s=75,
        max_head_bytes=65_536,
        max_head_lines=100,
        head_timeout_s=10,
        send_timeout_s=60,
        max_connections=4096,
        max_connections_per_address=512,
        public_url=None,
    )
    assert settings.store == StoreSettings(
        group_commit_max=512, disk_reserve_mb=64, retention_days=8, synchronous="FULL"
    )
    assert settings.busy == BusySettings(default=None, platforms={"rest": "queue"})
    assert list(settings.outbox.quick_delays_s) == [0, 1, 3, 9]
    assert list(settings.outbox.later_delays_s) == [60, 300, 1500]
    assert settings.streaming.cursor == " ▉"
    assert list(settings.providers) == ["openai", "local"]
    assert settings.providers["local"].kind == "local"
    assert settings.providers["local"].context_tokens == 4096
    assert settings.providers["openai"].base_url == "https://api.openai.com/v1"
    assert settings.agents["main"].tools == ("*",)


def test_each_layer_wins_over_the_one_before(write, load_home):
    # given one more key in each stronger layer
    write(
        legacy=json.dumps(
            {"server": {"host": "1.1.1.1", "port": 1, "drain_s": 1, "keep_alive_s": 1}}
        ),
        dotenv="HERMES_SERVER__PORT=2\nHERMES_SERVER__DRAIN_S=2\nHERMES_SERVER__KEEP_ALIVE_S=2\n",
        yaml="server:\n  drain_s: 3\n  keep_alive_s: 3\n",
    )

    # when
    loaded = load_home(HERMES_SERVER__KEEP_ALIVE_S="4")

    # then
    server = loaded.settings.server
    assert (server.host, server.port, server.drain_s, server.keep_alive_s) == ("1.1.1.1", 2, 3, 4)
    assert [
        loaded.origins[f"server.{name}"]
        for name in ("max_body_bytes", "host", "port", "drain_s", "keep_alive_s")
    ] == [
        "default",
        "gateway.json",
        ".env HERMES_SERVER__PORT",
        "config.yaml",
        "environment HERMES_SERVER__KEEP_ALIVE_S",
    ]


def test_a_variable_that_shadows_the_file_is_reported(write, load_home):
    write(yaml="server: {port: 9000}\n")

    loaded = load_home(HERMES_SERVER__PORT="9001")

    assert [str(warning) for warning in loaded.warnings] == [
        'environment HERMES_SERVER__PORT sets server.port to "9001" and hides 9000 of '
        "config.yaml; remove one of the two"
    ]


def test_a_dotenv_variable_that_the_file_hides_is_reported(write, load_home):
    write(dotenv="OPENAI_API_KEY=aaa\n", yaml="providers: {openai: {api_key: bbb}}\n")

    loaded = load_home()

    key = loaded.settings.providers["openai"].api_key
    assert key is not None
    assert key.get_secret_value() == "bbb"
    assert str(loaded.warnings[0]) == (
        'config.yaml sets providers.openai.api_key to "****" and hides "****" of '
        ".env OPENAI_API_KEY; remove one of the two"
    )


@pytest.mark.req("W1")
def test_two_places_that_say_the_same_are_not_worth_a_word(write, load_home):
    """`hermes channels add` switches a platform on in the file, which its token does, too."""
    write(
        dotenv="TELEGRAM_BOT_TOKEN=1:a\nTELEGRAM_ALLOWED_USERS=1,2\nHERMES_SERVER__PORT=9000\n",
        yaml="""\
server: {port: 9000}
telegram: {enabled: true, allowed_users: [1, 2]}
""",
    )

    assert load_home(TELEGRAM_BOT_TOKEN="1:a").warnings == ()
    told = load_home(TELEGRAM_BOT_TOKEN="1:b", HERMES_TELEGRAM__ENABLED="no").warnings
    assert sorted(warning.key for warning in told) == [
        "platforms.telegram.enabled",
        "platforms.telegram.enabled",
        "platforms.telegram.extra.bot_token",
    ]


def test_the_full_name_wins_over_the_well_known_one_whatever_their_order(load_home):
    full, short = "HERMES_PROVIDERS__OPENAI__BASE_URL", "OPENAI_BASE_URL"
    values = {full: "http://full/v1", short: "http://short/v1"}

    first = load_home(**{name: values[name] for name in (full, short)})
    second = load_home(**{name: values[name] for name in (short, full)})

    assert first.settings.providers["openai"].base_url == "http://full/v1"
    assert second.settings.providers["openai"].base_url == "http://full/v1"
    assert first.warnings == second.warnings
    assert f'hides "http://short/v1" of environment {short}' in str(first.warnings[0])


def test_well_known_names_set_their_keys(load_home):
    loaded = load_home(
        HERMES_API_KEY="k1",
        OPENROUTER_API_KEY="k2",
        ANTHROPIC_API_KEY="k3",
        GEMINI_API_KEY="k4",
        OPENAI_API_KEY="k5",
        OPENAI_BASE_URL="http://127.0.0.1:1/v1",
        HERMES_FAILPOINTS="commit.before",
    )

    # then each has its key, and they stand in the order of preference
    providers = loaded.settings.providers
    assert [
        (name, entry.kind, entry.api_key and entry.api_key.get_secret_value())
        for name, entry in providers.items()
    ] == [
        ("hermes", "openai", "k1"),
        ("openrouter", "openai", "k2"),
        ("anthropic", "anthropic", "k3"),
        ("gemini", "gemini", "k4"),
        ("openai", "openai", "k5"),
        ("local", "local", None),
    ]
    assert providers["openai"].base_url == "http://127.0.0.1:1/v1"
    assert loaded.settings.debug.failpoints == "commit.before"
    assert loaded.warnings == ()


def test_an_empty_well_known_variable_is_as_good_as_none(load_home):
    loaded = load_home(OPENAI_API_KEY="", TELEGRAM_BOT_TOKEN="")

    assert loaded.settings == Settings()


def test_variables_can_hold_lists_tables_and_nothing(write, load_home):
    write(yaml="proxy: http://proxy:1\nproviders: {my-llm: {base_url: 'http://127.0.0.1:1/v1'}}\n")

    loaded = load_home(
        HERMES_PLUGINS="one, two,",
        HERMES_OUTBOX__QUICK_DELAYS_S="[0, 2.5]",
        HERMES_AGENTS='{"poet": {"tone": "hype"}}',
        HERMES_BUSY__PLATFORMS__TELEGRAM="steer",
        HERMES_PROXY="",
        HERMES_PROVIDERS__MY_LLM__MODEL="tiny",
        HERMES_OFFLINE="yes",
    )

    settings = loaded.settings
    assert settings.plugins == ("one", "two")
    assert settings.outbox.quick_delays_s == (0, 2.5)
    assert (settings.agents["poet"].tone, settings.agents["poet"].name) == ("hype", "poet")
    assert settings.busy.platforms == {"rest": "queue", "telegram": "steer"}
    assert settings.proxy is None
    assert settings.providers["my-llm"].model == "tiny"
    assert settings.offline is True


def test_an_unknown_variable_is_a_warning_with_the_nearest_name(load_home):
    loaded = load_home(HERMES_SERVER__PROT="1", HERMES_PORT="1", HERMES_API_KY="sk-hidden")

    assert [str(warning) for warning in loaded.warnings] == [
        f"environment {name}: no setting has this name and its value is ignored; "
        f"did you mean {meant}?"
        for name, meant in (
            ("HERMES_SERVER__PROT", "HERMES_SERVER__PORT"),
            ("HERMES_PORT", "HERMES_SERVER__PORT"),
            ("HERMES_API_KY", "HERMES_API_KEY"),
        )
    ]


def test_a_foreign_name_in_dotenv_is_a_warning_only_when_it_is_almost_ours(write, load_home):
    write(dotenv="TELEGRAM_BOT_TOKN=1\nWEATHER_SERVICE=x\nHERMES_HOME=/elsewhere\n")

    loaded = load_home()

    assert [warning.key for warning in loaded.warnings] == ["TELEGRAM_BOT_TOKN", "HERMES_HOME"]
    assert loaded.warnings[0].fix == "did you mean TELEGRAM_BOT_TOKEN?"


def test_the_home_folder_comes_from_the_environment(home, write):
    write(yaml="server: {port: 9000}\n")

    loaded = load({"HERMES_HOME": str(home)}, None)

    assert (loaded.home, loaded.settings.server.port) == (home, 9000)
    assert home_folder({"HOME": "/people/ada"}).as_posix() == "/people/ada/.hermes"


def test_off_in_yaml_is_a_word_where_a_word_is_expected(write, load_home):
    write(yaml="streaming: {transport: off}\n")

    assert load_home().settings.streaming.transport == "off"


def test_an_entry_that_is_only_named_exists(write, load_home):
    write(yaml="agents:\n  helper:\nplatforms: {irc: {}}\nserver:\n")

    settings = load_home().settings

    assert list(settings.agents) == ["main", "helper"]
    assert settings.platforms["irc"].enabled is False


def test_settings_cannot_be_changed(load_home):
    settings = load_home(TELEGRAM_BOT_TOKEN="t").settings

    with pytest.raises(ValueError, match="frozen"):
        settings.server.port = 1
    with pytest.raises(TypeError):
        settings.providers["x"] = settings.providers["local"]
    with pytest.raises(TypeError):
        settings.platforms["telegram"].extra["bot_token"] = "other"
