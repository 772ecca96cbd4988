"""What is refused: every problem at once, each with the key, the value and the fix."""

import os

import pytest

pytestmark = pytest.mark.req("W1")


def test_all_problems_are_reported_at_once(write, refusal):
    write(
        yaml="""\
server: {prot: 1, port: abc}
servr: {port: 1}
port: 3
platforms: {telegram: {bot_token: hidden}}
providers: {openai: {api_kye: hidden}, "A B": {}}
turns: {tool_rounds: yes}
outbox: 5
logs: {level: INFO}
approvals: {admins: [ada]}
agents: {poet: {model: "opnai:gpt"}}
"""
    )

    assert refusal(HERMES_INBOX__MAX_WAITING="0").splitlines() == [
        "13 problems in the configuration:",
        "- config.yaml: unknown key server.prot; did you mean server.port?",
        "- config.yaml: unknown key servr; did you mean server?",
        "- config.yaml: unknown key port; did you mean server.port?",
        "- config.yaml: unknown key platforms.telegram.bot_token; "
        "did you mean platforms.telegram.extra.bot_token?",
        "- config.yaml: unknown key providers.openai.api_kye; "
        "did you mean providers.openai.api_key?",
        "- config.yaml: turns.tool_rounds is true, "
        "expected a whole number, at least 0 and at most 100; write a number",
        "- config.yaml: outbox is 5, expected keys with values; "
        "write keys below outbox, or remove it",
        '- config.yaml: server.port is "abc", expected a whole number, at least 0 and at most '
        "65535; correct it, or remove it for 8080",
        '- environment HERMES_INBOX__MAX_WAITING: inbox.max_waiting is "0", expected a whole '
        "number, at least 1 and at most 1000000000000; correct it, or remove it for 5000",
        '- config.yaml: approvals.admins is ["ada"], expected a list, each item '
        '"platform:user_id" such as "telegram:12345"; correct it, or remove it for []',
        "- config.yaml: providers.A B has the name 'A B', expected a name of small letters, "
        "digits, '_' and '-'; rename it",
        '- config.yaml: logs.level is "INFO", expected one of "debug", "info", "warning", '
        '"error"; correct it, or remove it for "info"',
        '- config.yaml: agents.poet.model is "opnai:gpt", expected auto or provider:model with '
        "one of the providers: openai, local; did you mean openai? Otherwise add providers.opnai",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'compaction: {model: "opnai:small"}',
            'config.yaml: compaction.model is "opnai:small", expected auto or provider:model with '
            "one of the providers: openai, local; did you mean openai? Otherwise add "
            "providers.opnai",
        ),
        (
            "agents: {poet: {compaction: {model: 'local:tiny'}}}\n"
            "providers: {local: {enabled: false}}",
            'config.yaml: agents.poet.compaction.model is "local:tiny", but '
            "providers.local.enabled is false; enable providers.local, or name another model",
        ),
        (
            'models: {summaries: "opnai:small"}',
            'config.yaml: models.summaries is "opnai:small", expected auto or provider:model with '
            "one of the providers: openai, local; did you mean openai? Otherwise add "
            "providers.opnai",
        ),
        (
            "default_agent: man",
            'config.yaml: default_agent is "man", expected one of the agents: main; '
            "set it to main, or add agents.man",
        ),
        (
            "models: {default: 'local:tiny'}\nproviders: {local: {enabled: false}}",
            'config.yaml: models.default is "local:tiny", but providers.local.enabled is false; '
            "enable providers.local, or name another model",
        ),
        (
            "providers: {mine: {model: tiny}}",
            "default: providers.mine.base_url is null, expected the address of the model "
            "server; set providers.mine.base_url, such as http://127.0.0.1:11434/v1",
        ),
        (
            "turns: {output_timeout_s: 700}",
            "config.yaml: turns.output_timeout_s is 700.0, expected at most "
            "turns.call_limit_s, 600; lower it",
        ),
        (
            "time_zone: Mars/Base",
            'config.yaml: time_zone is "Mars/Base", expected a time zone that this system '
            "knows; write one such as Europe/Paris, or UTC",
        ),
        (
            "debug: {failpoints: commit}",
            "config.yaml: debug.failpoints can be set by environment variable only; remove it here",
        ),
        ("- a", "config.yaml: expected keys with values at the top, found list; write them so"),
        (
            "server: {port: 1}\nserver: {port: 2}",
            "config.yaml: the key server is repeated at line 2; remove one",
        ),
        (
            "server: {port: [1,\n",
            "config.yaml: is not YAML at line 2, column 1 "
            "(did not find expected node content); correct that line",
        ),
        (
            "server: {port: [1\n",
            "config.yaml: is not YAML at line 2, column 1 "
            "(did not find expected ',' or ']'); correct that line",
        ),
        (
            "irc: &a {x: *a}",
            "config.yaml: the value at line 1 contains itself; write it out",
        ),
        (
            "server: {true: 1}",
            "config.yaml: server holds the key True, expected text; put the key in quotes",
        ),
        (
            "server: {port: 99999}",
            "config.yaml: server.port is 99999, expected a whole number, at least 0 and at most "
            "65535; correct it, or remove it for 8080",
        ),
    ],
)
def test_a_problem_names_the_key_the_value_and_the_fix(text, expected, write, refusal):
    write(yaml=text)

    assert refusal() == expected


def test_a_legacy_file_with_an_unknown_key_or_no_json_is_refused(write, refusal):
    write(legacy='{"servr": {}}')
    assert refusal() == "gateway.json: unknown key servr; did you mean server?"

    write(legacy='{\n"server": ')
    assert refusal() == "gateway.json: is not JSON at line 2; correct that line"


def test_a_table_in_a_variable_must_be_json(refusal):
    assert refusal(HERMES_SERVER="{port: 1") == (
        'environment HERMES_SERVER: server expected a JSON object such as {"a": 1}; '
        "write one, or set a single key such as HERMES_SERVER__..."
    )


def test_a_file_that_cannot_be_read_is_named(home, refusal):
    (home / "config.yaml").mkdir()

    assert refusal() == (
        f"config.yaml: cannot be read ({os.strerror(21)}); make it a readable file"
    )


def test_a_file_that_is_not_utf8_is_named(home, refusal):
    (home / ".env").write_bytes(b"A=\xff\n")

    assert refusal() == ".env: is not UTF-8 at byte 2; save it as UTF-8"


def test_values_that_weaken_a_promise_are_warnings(write, load_home):
    write(
        yaml="""\
store: {synchronous: NORMAL}
outbox: {max_age_s: 600}
models: {default: "openai:gpt-4o-mini"}
agents: {main: {system_prompt: Hello, system_blocks: [One]}}
"""
    )

    assert [str(warning) for warning in load_home().warnings] == [
        'config.yaml: store.synchronous is "NORMAL", so promise 1 does not hold: a power cut can '
        "lose messages that were accepted; set it to FULL",
        "config.yaml: outbox.max_age_s is 600.0, so replies become dead letters before their "
        "last retry, 1873 s on; set it to at least 1873, or shorten outbox.later_delays_s",
        'config.yaml: models.default is "openai:gpt-4o-mini", but providers.openai.api_key is '
        "not set; set OPENAI_API_KEY, or name another model",
        'config.yaml: agents.main.system_prompt is "Hello", but agents.main.system_blocks is '
        "given, so it is not used; remove one of the two",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "compaction: {keep: 0.7}",
            "config.yaml: compaction.keep is 0.7, so nothing is left to sum up at compaction.at, "
            "0.7; set it below 0.7, or raise compaction.at",
        ),
        (
            "agents: {main: {compaction: {keep: 0.9}}}",
            "config.yaml: agents.main.compaction.keep is 0.9, so nothing is left to sum up at "
            "compaction.at, 0.7; set it below 0.7, or raise compaction.at",
        ),
        (
            "agents: {main: {compaction: {at: 0.2}}}",
            "default: compaction.keep is 0.3, so nothing is left to sum up at "
            "agents.main.compaction.at, 0.2; set it below 0.2, or raise agents.main.compaction.at",
        ),
    ],
)
def test_a_conversation_that_keeps_all_it_has_is_warned_of(write, load_home, text, told):
    write(yaml=text)

    assert [str(warning) for warning in load_home().warnings] == [told]


@pytest.mark.parametrize(
    "text",
    [
        "compaction: {enabled: false, keep: 0.9}",
        "compaction: {at: 0.9, keep: 0.8}",
        "agents: {main: {compaction: {enabled: false, keep: 0.9}}}",
    ],
)
def test_a_share_that_is_not_used_or_leaves_some_is_fine(write, load_home, text):
    write(yaml=text)

    assert load_home().warnings == ()


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("half", "other"),
    [
        ("price_in_per_million", "price_out_per_million"),
        ("price_out_per_million", "price_in_per_million"),
    ],
)
def test_half_a_price_is_warned_of_and_a_whole_one_is_not(write, load_home, half, other):
    write(
        yaml=f"""
providers:
  mine: {{base_url: "https://models.example.com/v1", model: m, {half}: 1.5}}
  openai: {{price_in_per_million: 0, price_out_per_million: 0}}
"""
    )

    assert [str(warning) for warning in load_home().warnings] == [
        f"config.yaml: providers.mine.{half} is 1.5, but providers.mine.{other} is not set, so it "
        "is not used; set both, or remove it"
    ]


def test_an_age_for_pruning_without_pruning_is_a_warning(write, load_home):
    write(yaml="sessions: {prune_days: 30}\n")

    assert [str(warning) for warning in load_home().warnings] == [
        "config.yaml: sessions.prune_days is 30, but sessions.prune is false, so nothing is deleted; "
        "set sessions.prune to true, or remove it"
    ]


def test_a_result_that_is_cut_is_shorter_than_one_that_is_not(write, refusal):
    write(yaml="cron: {max_chars: 100}\n")

    assert refusal() == (
        "default: cron.shown_chars is 3800, expected at most cron.max_chars, 100; lower it"
    )
