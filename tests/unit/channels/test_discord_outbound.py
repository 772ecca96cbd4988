"""What is sent to Discord fits the schema that Discord publishes; so do the rules of the stand-in."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from hermes.channel_kit.keys import packed_key
from hermes.channels.discord.outbound import (
    edited_body,
    message_body,
    posted_body,
    reaction_path,
)
from hermes.message.parts import Choice, ChoicesPart, TextPart
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import Delivery, Target
from hermes.sessions.commands import BUILT_IN
from hermes.testing.call_rules import CallRules
from hermes.testing.discord.platform import DiscordStandIn
from hermes.testing.site import load_platform

MANIFEST = load_manifest("hermes.channels.discord")
PUBLISHED = json.loads((Path(__file__).parent / "discord_openapi.json").read_text())
ROWS = load_platform("hermes.testing.discord")
# What Discord takes without saying so: discord.py sends it.
UNPUBLISHED = frozenset({("update_message", "tts")})
KEY = "o_0123456789abcdefghijklmn.12"
TARGET = Target(platform="discord", account="default", chat_id="31", group=True, reply_to="8")


def check(operation: str, body: object) -> None:
    """Raise if Discord's schema does not take a body."""
    schema = {**PUBLISHED["operations"][operation]["body"], "schemas": PUBLISHED["schemas"]}
    jsonschema_rs.validator_for(schema).validate(body)


def delivery(*parts: Any, key: str = KEY, target: Target = TARGET) -> Delivery:
    return Delivery(id="o_1", target=target, parts=parts, key=key)


@pytest.mark.req("W9", "J17")
def test_a_message_has_its_key_pings_nobody_and_fits_the_schema() -> None:
    sent = delivery(TextPart("hi"))

    body = posted_body(sent, message_body(sent, "hi", files=["a.txt"]))

    check("create_message", body)
    assert body == {
        "content": "hi",
        "allowed_mentions": {"parse": [], "replied_user": False},
        "attachments": [{"id": "0", "filename": "a.txt"}],
        "nonce": packed_key(KEY, 25),
        "enforce_nonce": True,
        "message_reference": {"message_id": "8", "fail_if_not_exists": False},
    }
    assert len(body["nonce"]) <= 25


@pytest.mark.req("W9")
def test_only_a_message_is_answered_as_one_and_only_in_groups() -> None:
    for other in ({"reply_to": "i8"}, {"reply_to": None}, {"group": False}):
        target = Target(**{**{f: getattr(TARGET, f) for f in TARGET.__struct_fields__}, **other})
        sent = delivery(TextPart("hi"), target=target)
        assert "message_reference" not in posted_body(sent, message_body(sent, "hi", files=[]))


@pytest.mark.req("W9", "J9")
def test_choices_are_rows_of_buttons() -> None:
    choices = tuple(Choice(f"label {number}", f"value-{number}") for number in range(6))
    styled = (*choices, Choice("Yes", "y", "good"), Choice("No", "n", "bad"))
    sent = delivery(ChoicesPart("which?", styled))

    body = posted_body(sent, message_body(sent, "which?", files=[]))

    check("create_message", body)
    assert [len(row["components"]) for row in body["components"]] == [5, 3]
    assert [one["style"] for one in body["components"][1]["components"]] == [2, 3, 4]


@pytest.mark.req("W9")
def test_changes_and_commands_fit_the_schema() -> None:
    check("update_message", edited_body("new"))
    each = MANIFEST.setup.register[0].commands
    assert each is not None
    about = max((one.about for one in BUILT_IN), key=len)[: each.about_chars]
    check("bulk_set_application_commands", [{**each.each, "name": "model", "description": about}])
    assert all(re.fullmatch(each.names, one.name) for one in BUILT_IN)
    for answer in ({"type": 6}, {"type": 5, "data": {"flags": 64}}):
        check("create_interaction_response", answer)
    with pytest.raises(jsonschema_rs.ValidationError):
        check("create_message", {"content": "x", "nonce": "n" * 26})


@pytest.mark.req("W9")
def test_a_reaction_is_part_of_an_address() -> None:
    path = reaction_path(TARGET, "8", emoji="✅")

    assert path == "/channels/31/messages/8/reactions/%E2%9C%85/@me"


def _published(operation: str) -> tuple[str, str]:
    row = PUBLISHED["operations"][operation]
    names = {"channel_id": "channel", "message_id": "message", "emoji_name": "emoji"}
    names |= {"application_id": "application", "guild_id": "guild", "webhook_id": "webhook"}
    names |= {"webhook_token": "token", "interaction_id": "interaction"}
    names |= {"interaction_token": "token"}
    path = row["path"]
    for theirs, ours in names.items():
        path = path.replace(f"{{{theirs}}}", f"{{{ours}}}")
    return row["method"], path


@pytest.mark.req("W9")
def test_the_stand_in_has_the_published_calls_and_takes_no_more_than_they_do() -> None:
    rules = CallRules(
        {name: row.takes for name, row in ROWS.routes.items()},
        groups=ROWS.groups,
        objects=ROWS.objects,
        kinds=DiscordStandIn.kinds,
    )
    for name, row in ROWS.routes.items():
        if name in ("socket", "file"):
            continue
        method, path = _published(name)
        assert row.at == f"{method} /api/v10{path}"
        known = _properties(PUBLISHED["operations"][name])
        for parameter, rule in rules._takes[name].items():
            if parameter == "*" or (name, parameter) in UNPUBLISHED:
                continue
            assert parameter in known, (name, parameter)
            longest = _longest(known[parameter]) or rule.most or 0
            assert (rule.most or 0) <= longest, (name, parameter)


def _properties(operation: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(operation.get("query", ()), True)
    todo = [operation.get("body", {})]
    while todo:
        schema = todo.pop()
        if not isinstance(schema, dict):
            continue
        found |= schema.get("properties", {})
        todo += schema.get("anyOf", []) + schema.get("allOf", [])
        if "$ref" in schema:
            todo.append(PUBLISHED["schemas"][schema["$ref"].rpartition("/")[2]])
    return found


def _longest(schema: Any) -> int | None:
    if not isinstance(schema, dict):
        return None
    return schema.get("maxLength") or schema.get("maxItems")
