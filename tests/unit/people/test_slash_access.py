"""W32: who may use which command, by platform and by direct chat or group."""

import pytest

from hermes.config import AccessSettings
from hermes.message.source import ChatType, Source
from hermes.people.slash_access import CommandPlace, is_named_admin, may_use, where_of

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
