"""The older gateway's `gateway.json`: a whole file is understood, and newer layers win over it."""

import json

import pytest

OLD = {
    "platforms": {
        "telegram": {
            "enabled": True,
            "token": "1:a",
            "reply_to_mode": "first",
            "home_channel": {"platform": "telegram", "chat_id": "4711", "name": "Home"},
            "extra": {"allow_from": [12, 34], "require_mention": False, "proxy_url": "none"},
        },
        "discord": {
            "enabled": False,
            "token": "d",
            "home_channel": {"chat_id": 9, "thread_id": 7, "name": "bots"},
        },
    },
    "default_reset_policy": {"mode": "both", "at_hour": 5, "idle_minutes": 90, "notify": False},
    "reset_by_type": {"group": {"mode": "idle", "idle_minutes": 60}},
    "reset_by_platform": {"discord": {"mode": "none"}},
    "group_sessions_per_user": False,
    "thread_sessions_per_user": True,
    "reset_triggers": ["/new", "/reset"],
    "sessions_dir": "/home/old/.hermes/sessions",
    "always_log_local": True,
    "unauthorized_dm_behavior": "ignore",
    "streaming": {
        "enabled": True,
        "transport": "edit",
        "edit_interval": 1.5,
        "buffer_threshold": 40,
        "cursor": "|",
        "fresh_final_after_seconds": 60.0,
    },
}


@pytest.fixture
def old(write):
    def put(tree=OLD, **files):
        write(legacy=json.dumps(tree), **files)

    return put


@pytest.mark.req("W1")
def test_a_whole_file_of_the_older_gateway_is_understood(old, load_home):
    old()

    loaded = load_home()

    settings = loaded.settings
    reset, sessions = settings.sessions.reset, settings.sessions
    assert (reset.mode, reset.at, reset.idle_min, sessions.tell_reset) == (
        "both",
        "05:00",
        90,
        False,
    )
    assert (sessions.groups, sessions.threads) == ("shared", "per_user")
    assert sessions.reset_chat_types["group"].idle_min == 60
    assert sessions.reset_platforms["discord"].mode == "none"
    streaming = settings.streaming
    assert (streaming.transport, streaming.interval_s, streaming.min_chars) == ("edit", 1.5, 40)
    telegram, discord = settings.platforms["telegram"], settings.platforms["discord"]
    assert (telegram.enabled, discord.enabled) == (True, False)
    assert telegram.extra["bot_token"].get_secret_value() == "1:a"
    assert telegram.extra["reply_to_mode"] == "first"
    assert (telegram.home_channel, discord.home_channel) == ("4711", "9:7")
    access = settings.access.platforms["telegram"]
    assert (access.allow_from, access.require_mention, access.unknown) == (
        ("12", "34"),
        False,
        "ignore",
    )


@pytest.mark.req("W1")
def test_what_has_no_meaning_any_more_is_named_with_its_value(old, load_home):
    old()

    told = [str(warning) for warning in load_home().warnings]

    assert told == [
        'gateway.json: reset_triggers is ["/new", "/reset"] and has no effect any more; remove it',
        'gateway.json: sessions_dir is "/home/old/.hermes/sessions" and has no effect any more; '
        "remove it",
        "gateway.json: always_log_local is true and has no effect any more; remove it",
    ]


@pytest.mark.req("W1")
def test_every_newer_layer_wins_over_the_older_file(old, load_home):
    old(
        dotenv="HERMES_SESSIONS__RESET__AT=06:00\nHERMES_SESSIONS__RESET__IDLE_MIN=10\n",
        yaml="sessions: {reset: {idle_min: 20, mode: idle}}\n",
    )

    loaded = load_home(HERMES_SESSIONS__RESET__MODE="daily")

    reset = loaded.settings.sessions.reset
    assert (reset.at, reset.idle_min, reset.mode) == ("06:00", 20, "daily")
    assert loaded.settings.sessions.tell_reset is False
    assert loaded.origins["sessions.tell_reset"] == "gateway.json"


@pytest.mark.req("W1")
def test_streaming_that_was_switched_off_stays_off(old, load_home):
    old({"streaming": {"enabled": False, "transport": "auto"}})

    assert load_home().settings.streaming.transport == "off"


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (
            {"default_reset_policy": {"mode": "weekly"}},
            'gateway.json: sessions.reset.mode is "weekly", expected one of',
        ),
        (
            {"streaming": {"edit_intervall": 1}},
            "gateway.json: unknown key streaming.edit_intervall",
        ),
    ],
)
def test_a_mistake_in_it_is_refused_by_todays_name(tree, said, old, refusal):
    old(tree)

    assert refusal().startswith(said)
