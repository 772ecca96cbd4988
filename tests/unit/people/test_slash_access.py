"""W32: who may use which command, by platform and by direct chat or group."""

import pytest

from hermes.config import AccessSettings
from hermes.message.source import ChatType, Source
from hermes.people.slash_access import CommandPlace, is_named_admin, may_let_in, may_use, where_of
from hermes.ports.people import User, UserChannel, UserState

DM, GROUP = CommandPlace("telegram", "dm"), CommandPlace("telegram", "group")
COMMANDS = ("help", "whoami", "stop", "new", "status")


def access(**scopes: object) -> AccessSettings:
    platforms = {"telegram": {"commands": scopes}}
    return AccessSettings.model_validate({"platforms": platforms})


def usable(who: str, where: CommandPlace, settings: AccessSettings) -> list[str]:
    return [name for name in COMMANDS if may_use(name, who, where=where, settings=settings)]


@pytest.mark.req("W32")
def test_without_restrictions_everybody_may_use_them_and_nobody_is_a_named_admin() -> None:
    for settings in (AccessSettings(), access(dm={"gated": False, "admins": ["1"]})):
        assert usable("7", DM, settings) == list(COMMANDS)
        assert not is_named_admin("7", where=DM, settings=settings)


@pytest.mark.req("W32")
def test_admins_may_all_others_what_is_listed_and_help_always() -> None:
    settings = access(dm={"admins": [1], "allowed": ["/Stop"], "people": {"8": ["new"]}})

    assert usable("1", DM, settings) == list(COMMANDS)
    assert usable("7", DM, settings) == ["help", "whoami", "stop"]
    assert usable("8", DM, settings) == ["help", "whoami", "stop", "new"]
    assert is_named_admin("1", where=DM, settings=settings)
    assert not is_named_admin("7", where=DM, settings=settings)


@pytest.mark.req("W32")
def test_groups_and_platforms_are_told_apart() -> None:
    settings = access(group={"gated": True})

    assert usable("7", GROUP, settings) == ["help", "whoami"]
    assert usable("7", DM, settings) == list(COMMANDS)
    assert usable("7", CommandPlace("signal", "group"), settings) == list(COMMANDS)


@pytest.mark.req("W32")
@pytest.mark.parametrize(
    ("kind", "scope"),
    [("dm", "dm"), ("group", "group"), ("channel", "group"), ("thread", "group")],
)
def test_what_is_no_direct_chat_is_a_group(kind: ChatType, scope: str) -> None:
    source = Source(platform="telegram", chat_id="c", chat_type=kind, user_id="7")

    assert where_of(source).scope == scope


@pytest.mark.req("W31")
@pytest.mark.parametrize(
    ("state", "channels", "may"),
    [
        ("active", [("telegram", "1")], ["telegram"]),
        ("active", [("telegram", "9"), ("slack", "5")], ["telegram", "slack"]),
        ("active", [("slack", "1")], []),
        ("active", [("telegram", "7")], []),
        ("owner", [], ["telegram", "slack", "irc"]),
    ],
)
def test_an_admin_lets_people_in_on_their_own_platform_and_the_owner_everywhere(
    state: UserState, channels: list[tuple[str, str]], may: list[str]
) -> None:
    platforms = {
        "telegram": {"commands": {"dm": {"admins": ["1"]}}},
        "telegram/sales": {"commands": {"group": {"admins": ["9"]}}},
        "slack": {"commands": {"dm": {"admins": ["5"]}}},
    }
    settings = AccessSettings.model_validate({"platforms": platforms})
    own = tuple(
        UserChannel(platform=one, user_id=who, person_id="p", added_at=0.0) for one, who in channels
    )
    user = User(id="p", state=state, created_at=0.0, tier="free", may_train=False, channels=own)

    named = ("telegram", "slack", "irc")
    assert [name for name in named if may_let_in(user, name, settings)] == may
