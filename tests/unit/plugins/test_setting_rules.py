"""The rules of a manifest's settings hold at every start, and an error says what to do."""

from typing import Any

import msgspec
import pytest

from hermes.errors import ConfigurationError
from hermes.plugins.manifest import Manifest, read_settings

SETTINGS: dict[str, Any] = {
    "token": {
        "help": "The token.",
        "type": "secret",
        "pattern": "[0-9]+:[a-z]+",
        "expects": "the form 123:abc",
        "hint": "copy it whole",
    },
    "address": {"help": "The address.", "form": "url", "default": "https://chat.example"},
    "poll_s": {"help": "How long.", "type": "number", "least": 1, "most": 50, "default": 30},
    "ping_s": {"help": "How often.", "type": "number", "least": 0.5},
    "rooms": {"help": "Where.", "type": "list", "pattern": "#.+", "most": 2},
    "mode": {"help": "How.", "choices": ["poll", "webhook"], "default": "poll"},
    "hook_secret": {
        "help": "The secret of calls.",
        "type": "secret",
        "needed_if": {"mode": "webhook"},
        "env": "HOOK_SECRET",
        "hint": "such as the output of `openssl rand -hex 32`",
    },
    "user": {"help": "The user.", "needed_if": [{"token": ""}, {"rooms": "*"}]},
    "routes": {
        "help": "The routes.",
        "type": "table",
        "entries": {
            "kind": {"help": "How.", "choices": ["a", "b"], "default": "a"},
            "key": {"help": "The key.", "type": "secret", "needed_if": {"kind": "b"}},
            "back": {"help": "Where to.", "form": "url"},
        },
    },
}
GOOD: dict[str, Any] = {"token": "1:a"}


def manifest(settings: dict[str, Any] = SETTINGS) -> Manifest:
    table = {
        "name": "example",
        "label": "Example",
        "capabilities": {"delivery": "push"},
        "settings": settings,
        "auth": {"scheme": "none"},
        "quality": {"verified": []},
    }
    return msgspec.convert(table, Manifest)


@pytest.mark.req("W12")
def test_values_that_keep_the_rules_are_read() -> None:
    given = {
        "token": "12:ab",
        "address": "http://10.0.0.1:8443/base",
        "poll_s": "50",
        "ping_s": 0.5,
        "rooms": ["#a", "#b"],
        "mode": "webhook",
        "hook_secret": "s",
        "user": "ada",
        "routes": {"one": {"kind": "b", "key": "k", "back": "https://chat.example/x"}},
    }
    assert read_settings(manifest(), given) == {
        **given,
        "poll_s": 50,
        "rooms": ("#a", "#b"),
    }


@pytest.mark.req("W12", "W35")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"token": "12"}, "token: expected the form 123:abc, found something else; copy it whole"),
        ({"address": "chat"}, "address: expected an http(s) address such as https://chat.example.org, found 'chat'; correct it"),
        ({"address": "https://a:b@"}, "address: expected an http(s) address such as https://chat.example.org, found something else; correct it"),
        ({"address": "https://a/?x=1"}, "address: expected an http(s) address such as https://chat.example.org, found 'https://a/?x=1'; correct it"),
        ({"address": "https://a:99999"}, "address: expected an http(s) address such as https://chat.example.org, found 'https://a:99999'; correct it"),
        ({"poll_s": 0}, "poll_s: expected 1 to 50, found '0'; correct it"),
        ({"poll_s": 50.5}, "poll_s: expected 1 to 50, found '50.5'; correct it"),
        ({"poll_s": "nan"}, "poll_s: expected a number, found 'nan'"),
        ({"ping_s": -1}, "ping_s: expected at least 0.5, found '-1'; correct it"),
        ({"user": "u", "rooms": "#a,b"}, "rooms: expected a text of the form #.+, found 'b'; correct it"),
        ({"user": "u", "rooms": "#a,#b,#c"}, "rooms: expected at most 2 entries, found '3'; correct it"),
        (
            {"mode": "webhook"},
            "hook_secret: expected a value, found none, and mode is webhook: The secret of calls. Such as "
            "the output of `openssl rand -hex 32`. Set it (or HOOK_SECRET in the environment), or "
            "disable the platform: without it the channel does not start",
        ),
        (
            {"token": ""},
            "user: expected a value, found none, and token is not set: The user. Set it, or disable the "
            "platform: without it the channel does not start",
        ),
        (
            {"rooms": "#a"},
            "user: expected a value, found none, and rooms is set: The user. Set it, or disable the "
            "platform: without it the channel does not start",
        ),
        ({"routes": {"x": {"kind": "c"}}}, "routes.x.kind: expected a or b, found 'c'"),
        ({"routes": {"x": {"knd": "a"}}}, "routes.x.knd: there is no such setting; known: back, key, kind"),
        ({"routes": {"x": 1}}, "routes.x: expected a table, found int"),
        ({"routes": {"x": {"back": "ftp://a"}}}, "routes.x.back: expected an http(s) address such as https://chat.example.org, found 'ftp://a'; correct it"),
        (
            {"routes": {"x": {"kind": "b"}}},
            "routes.x.key: expected a value, found none, and kind is b: The key. Set it, or disable the "
            "platform: without it the channel does not start",
        ),
    ],
)  # fmt: skip
def test_a_broken_rule_names_the_setting_what_was_found_and_what_to_do(
    given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_settings(manifest(), {**GOOD, **given})
    assert str(refused.value) == f"platforms.example.{said}"


@pytest.mark.req("W12")
def test_while_questions_are_asked_a_needed_setting_may_be_missing() -> None:
    read = read_settings(manifest(), {**GOOD, "mode": "webhook"}, whole=False)
    assert read["hook_secret"] is None


@pytest.mark.req("W12")
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"pattern": "("}, "pattern is no regular expression"),
        ({"needed_if": {"mod": "x"}}, "needed_if names mod, which is no setting"),
        ({"entries": {"a": {"help": "", "needed_if": {"b": ""}}}}, "needed_if names b, which"),
    ],
)
def test_a_rule_that_cannot_be_kept_is_refused_with_its_manifest(
    setting: dict[str, Any], said: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        manifest({"one": {"help": "One.", **setting}})
