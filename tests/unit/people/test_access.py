"""W30: who is answered, as a pure decision over the rules, the sender and the chat."""

from pathlib import Path

import pytest

from hermes.config import Settings, load
from hermes.message.source import ChatType, Source
from hermes.people.access import PlatformRules, admit, is_vouched_for, platform_rules
from hermes.ports.people import ChannelAccess, Unknown

STRANGER = ChannelAccess("p_1")
LET_IN = ChannelAccess("p_1", is_active=True)
BLOCKED = ChannelAccess("p_1", is_active=True, is_blocked=True)


def settings_of(tmp_path: Path, yaml: str) -> Settings:
    (tmp_path / "config.yaml").write_text(yaml)
    return load({}, tmp_path).settings


def rules(tmp_path: Path, yaml: str, *, manifest: Unknown = "allow") -> PlatformRules:
    return platform_rules("telegram", settings_of(tmp_path, yaml), manifest=manifest)


def verdict(
    made: PlatformRules,
    *,
    user: str = "7",
    chat: str = "c",
    kind: ChatType = "dm",
    channel_access: ChannelAccess = STRANGER,
    parent: str | None = None,
) -> str:
    source = Source(
        platform="telegram",
        chat_id=chat,
        chat_type=kind,
        user_id=user,
        user_name="12",
        parent_chat_id=parent,
    )
    return admit(source, channel_access, rules=made).verdict


@pytest.mark.req("W30", "A3")
@pytest.mark.parametrize(
    ("unknown", "directly", "in_a_group"),
    [
        ("allow", "in", "in"),
        ("pair", "pair", "tell"),
        ("signup", "signup", "tell"),
        ("ignore", "ignore", "ignore"),
    ],
)
def test_strangers_get_what_the_platform_says_and_groups_follow(
    tmp_path: Path, unknown: str, directly: str, in_a_group: str
) -> None:
    made = rules(tmp_path, f"access: {{platforms: {{telegram: {{unknown: {unknown}}}}}}}")

    assert verdict(made) == directly
    assert verdict(made, kind="group") == in_a_group
    assert (
        verdict(made, channel_access=LET_IN)
        == verdict(made, kind="group", channel_access=LET_IN)
        == "in"
    )
    assert verdict(made, channel_access=BLOCKED) == "blocked"


@pytest.mark.req("W30")
def test_what_is_not_configured_is_the_manifests_word(tmp_path: Path) -> None:
    assert [rules(tmp_path, "{}", manifest=word).unknown for word in ("allow", "pair")] == [
        "allow",
        "pair",
    ]
    assert rules(tmp_path, "{}").is_open
    assert not rules(tmp_path, "{}", manifest="pair").is_open


@pytest.mark.req("W30")
@pytest.mark.parametrize(
    "yaml",
    [
        "access: {platforms: {telegram: {allow_from: [12]}}}",
        "telegram: {allowed_users: [12]}",
    ],
)
def test_a_list_of_people_closes_an_open_platform(tmp_path: Path, yaml: str) -> None:
    made = rules(tmp_path, yaml)

    assert verdict(made, user="12") == verdict(made, user="12", kind="group") == "in"
    # Their display name is that of the id on the list.
    assert verdict(made, user="7") == "pair"
    assert verdict(made, user="7", kind="group") == "tell"


@pytest.mark.req("W30")
def test_a_list_for_groups_lets_nobody_in_directly(tmp_path: Path) -> None:
    made = rules(tmp_path, "access: {platforms: {telegram: {group_allow_from: [12]}}}")

    assert (verdict(made, user="12"), verdict(made, user="12", kind="group")) == ("pair", "in")


@pytest.mark.req("W30")
def test_only_the_allowed_chats_are_answered_and_everybody_in_them(tmp_path: Path) -> None:
    made = rules(
        tmp_path, "access: {platforms: {telegram: {unknown: pair, allowed_chats: [-100]}}}"
    )

    assert verdict(made, chat="-100", kind="group") == "in"
    assert verdict(made, chat="9", parent="-100", kind="thread") == "in"
    assert verdict(made, chat="-200", kind="group", channel_access=LET_IN) == "ignore"
    assert verdict(made, chat="7") == "pair"
    assert not rules(tmp_path, "telegram: {allowed_chats: [-100]}").is_open


@pytest.mark.req("W30")
@pytest.mark.parametrize(
    "yaml",
    [
        "access: {allow_all: true, platforms: {telegram: {unknown: ignore}}}",
        "access: {platforms: {telegram: {unknown: ignore, allow_all: true}}}",
    ],
)
def test_the_switch_lets_everybody_in_but_the_blocked(tmp_path: Path, yaml: str) -> None:
    made = rules(tmp_path, yaml)

    assert made.is_open
    assert verdict(made) == verdict(made, kind="group") == "in"
    assert verdict(made, channel_access=BLOCKED) == "blocked"


@pytest.mark.req("W30")
def test_groups_have_a_word_of_their_own(tmp_path: Path) -> None:
    made = rules(tmp_path, "access: {platforms: {telegram: {unknown: pair, groups: ignore}}}")

    assert (verdict(made), verdict(made, kind="group")) == ("pair", "ignore")


@pytest.mark.req("A3", "W30")
def test_an_open_door_is_nobodys_word_for_a_stranger(tmp_path: Path) -> None:
    made = rules(tmp_path, "access: {platforms: {telegram: {unknown: allow, allow_from: [12]}}}")

    def vouched(user: str, *, is_active: bool = False, manifest: Unknown = "pair") -> bool:
        source = Source(platform="telegram", chat_id="c", user_id=user)
        return is_vouched_for(source, is_active=is_active, rules=made, manifest=manifest)

    assert verdict(made, user="7") == "in"
    assert not vouched("7")
    assert vouched("7", is_active=True)
    assert vouched("12")
    # Where the manifest says so, whoever writes has shown a token.
    assert vouched("7", manifest="allow")
