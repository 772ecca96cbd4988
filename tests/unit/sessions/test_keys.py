"""Session keys name a conversation, and no two conversations share one."""

from collections.abc import Mapping
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.config import ChannelSettings, SessionSettings
from hermes.message.session_key import (
    SessionKey,
    base_lane,
    child_lane,
    control_lane,
    depth_of,
    escape,
    is_below,
    is_shared,
    read_session_key,
    unescape,
)
from hermes.message.source import ChatType, Source
from hermes.sessions.keys import SessionKeys, session_key
from hermes.sessions.sharing import SharingRules

DEFAULTS: dict[str, object] = {}


def key(chat_type: ChatType, *, chat: str = "c", user: str = "u", thread: str | None = None) -> str:
    source = Source(
        platform="tg", chat_id=chat, chat_type=chat_type, user_id=user, thread_id=thread
    )
    return str(session_key(source, "main"))


@pytest.mark.req("W22", "A15")
def test_keys_read_as_the_format_says() -> None:
    assert key("dm") == "agent:main:tg:dm:c"
    assert key("group") == "agent:main:tg:group:c:u"
    assert key("group", thread="7") == "agent:main:tg:thread:c:7"


@pytest.mark.req("W22")
def test_a_thread_and_a_person_of_the_same_id_do_not_share_a_session() -> None:
    assert key("group", user="7") != key("group", thread="7")


async def written_by(writers: tuple[str, ...], lane: str) -> tuple[str, ...]:
    return writers if lane.count(":") == 4 else ()


def keys_of(
    writers: tuple[str, ...] = (),
    settings: Mapping[str, object] = DEFAULTS,
    channels: Mapping[str, ChannelSettings] | None = None,
) -> SessionKeys:
    sharing = SharingRules(
        SessionSettings.model_validate(settings), channels or {}, own_chats=("rest",)
    )
    return SessionKeys(("rest",), partial(written_by, writers), sharing=sharing)


@pytest.mark.req("W22")
@given(st.text(), st.text(), st.text(), st.text())
def test_ids_with_separators_cannot_collide(one: str, two: str, three: str, four: str) -> None:
    left = SessionKey(agent="main", platform=one, chat_type="group", chat_id=two, user="u")
    right = SessionKey(agent="main", platform=three, chat_type="group", chat_id=four, user="u")

    assert (str(left) == str(right)) == ((one, two) == (three, four))
    assert unescape(escape(one)) == one


@pytest.mark.req("J14")
def test_lanes_of_subagents_lie_below_their_parents() -> None:
    parent = key("dm")
    child = child_lane(parent, "m_1", number="2")

    assert child == f"{parent}/m_1.2"
    assert (depth_of(parent), depth_of(child)) == (0, 1)
    assert is_below(child, ancestor=parent)
    assert not is_below(key("dm", chat="c/m_1.2"), ancestor=parent)


@pytest.mark.req("J6")
def test_a_control_lane_stands_beside_its_session() -> None:
    assert base_lane(control_lane("x")) == base_lane("x") == "x"
    assert key("dm", chat="c#control") != control_lane(key("dm", chat="c"))


def rest(sender: str, chat: str | None = None) -> Source:
    return Source(platform="rest", chat_id=chat or sender, user_id=sender)


@pytest.mark.req("W22")
@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
async def test_a_name_that_a_caller_chose_belongs_to_its_sender(
    sender: str, chat: str, other: str, other_chat: str
) -> None:
    keys = keys_of()

    same = await keys.lane(rest(sender, chat), "main") == await keys.lane(
        rest(other, other_chat), "main"
    )

    assert same == ((sender, chat) == (other, other_chat))


@pytest.mark.req("W22")
@pytest.mark.parametrize(
    ("writers", "source", "lane"),
    [
        ((), rest("ann"), "agent:main:rest:dm:ann"),
        ((), rest("ann", "kitchen"), "agent:main:rest:dm:kitchen:ann"),
        (("ann",), rest("ann", "kitchen"), "agent:main:rest:dm:kitchen"),
        (("bob",), rest("ann", "kitchen"), "agent:main:rest:dm:kitchen:ann"),
        (("ann",), rest("ann"), "agent:main:rest:dm:ann"),
        (("bob",), rest("ann"), "agent:main:rest:dm:ann:ann"),
        (("",), rest("ann"), "agent:main:rest:dm:ann:ann"),
        (("",), rest("ann", "kitchen"), "agent:main:rest:dm:kitchen:ann"),
    ],
)
async def test_an_old_session_goes_on_for_who_alone_wrote_in_it(
    writers: tuple[str, ...], source: Source, lane: str
) -> None:
    keys = keys_of(writers)

    assert await keys.lane(source, "main") == lane


@pytest.mark.req("W22")
async def test_only_chats_that_callers_name_belong_to_their_sender() -> None:
    keys = keys_of()
    shared = Source(platform="rest", chat_id="k", chat_type="thread", thread_id="k", user_id="ann")

    assert await keys.lane(shared, "main") == "agent:main:rest:thread:k:k"
    web = Source(platform="web", chat_id="k", user_id="owner")
    assert await keys.lane(web, "main") == "agent:main:web:dm:k"


def place(chat_type: ChatType, *, thread: str | None = None, platform: str = "tg") -> Source:
    return Source(
        platform=platform, chat_id="c", chat_type=chat_type, user_id="u", thread_id=thread
    )


@pytest.mark.req("W22")
@pytest.mark.parametrize(
    ("settings", "source", "lane"),
    [
        ({}, place("group"), "group:c:u"),
        ({}, place("channel"), "channel:c:u"),
        ({}, place("group", thread="7"), "thread:c:7"),
        ({}, place("thread", thread="7"), "thread:c:7"),
        ({}, place("thread"), "thread:c"),
        ({}, place("dm", thread="7"), "thread:c:7"),
        ({"groups": "shared"}, place("group"), "group:c"),
        ({"groups": "shared"}, place("channel"), "channel:c"),
        ({"groups": "shared", "threads": "per_user"}, place("dm"), "dm:c"),
        ({"groups": "shared"}, place("group", thread="7"), "thread:c:7"),
        ({"threads": "per_user"}, place("group"), "group:c:u"),
        ({"threads": "per_user"}, place("group", thread="7"), "thread:c:7:u"),
        ({"threads": "per_user"}, place("thread"), "thread:c::u"),
        ({"group_chat_types": {"channel": "shared"}}, place("channel"), "channel:c"),
        ({"group_chat_types": {"channel": "shared"}}, place("group"), "group:c:u"),
        ({"thread_chat_types": {"group": "per_user"}}, place("group", thread="7"), "thread:c:7:u"),
        ({"thread_chat_types": {"group": "per_user"}}, place("dm", thread="7"), "thread:c:7"),
        ({"group_platforms": {"tg": "shared"}}, place("group"), "group:c"),
        ({"group_platforms": {"slack": "shared"}}, place("group"), "group:c:u"),
        ({"thread_platforms": {"tg": "per_user"}}, place("group", thread="7"), "thread:c:7:u"),
        (
            {"groups": "shared", "group_platforms": {"tg": "per_user"},
             "group_chat_types": {"group": "shared"}},
            place("group"), "group:c:u",
        ),
        (
            {"group_platforms": {"tg": "shared", "tg/sales": "per_user"}},
            place("group", platform="tg/sales"), "group:c:u",
        ),
    ],
)  # fmt: skip
async def test_settings_say_who_shares_a_session(
    settings: Mapping[str, object], source: Source, lane: str
) -> None:
    platform = escape(source.platform)

    found = await keys_of(settings=settings).lane(source, "main")

    assert found == f"agent:main:{platform}:{lane}"


CHATS = {
    "tg": ChannelSettings.model_validate({"chats": {"c": {"groups": "shared"}, "p": {}}}),
    "tg/sales": ChannelSettings.model_validate(
        {"chats": {"p": {"threads": "per_user", "groups": "shared"}, "c": {"agent": "main"}}}
    ),
}


@pytest.mark.req("W22")
@pytest.mark.parametrize(
    ("source", "lane"),
    [
        (place("group"), "tg:group:c"),
        (place("group", thread="7"), "tg:thread:c:7"),
        (place("group", platform="tg/sales"), "tg%2Fsales:group:c:u"),
        (
            Source(platform="tg/sales", chat_id="c", parent_chat_id="p", chat_type="thread",
                   thread_id="7", user_id="u"),
            "tg%2Fsales:thread:c:7:u",
        ),
        (Source(platform="tg", chat_id="d", chat_type="group", user_id="u"), "tg:group:d:u"),
    ],
)  # fmt: skip
async def test_a_chat_says_it_before_its_platform(source: Source, lane: str) -> None:
    keys = keys_of(settings={"group_platforms": {"tg": "per_user"}}, channels=CHATS)

    assert await keys.lane(source, "main") == f"agent:main:{lane}"


@pytest.mark.req("W22")
async def test_callers_who_name_chats_themselves_say_whether_they_share() -> None:
    keys = keys_of(settings={"threads": "per_user", "groups": "shared"})
    shared = Source(platform="rest", chat_id="k", chat_type="thread", thread_id="k", user_id="ann")

    assert await keys.lane(shared, "main") == "agent:main:rest:thread:k:k"


CHAT_TYPES = st.sampled_from(["dm", "group", "channel", "thread"])


@pytest.mark.req("W22")
@given(CHAT_TYPES, st.text(), st.none() | st.text(), st.none() | st.text())
def test_a_key_is_read_as_it_was_written(
    chat_type: str, chat: str, thread: str | None, user: str | None
) -> None:
    kind = chat_type if thread is None else "thread"
    one = SessionKey(
        agent="main", platform="tg", chat_type=kind, chat_id=chat, thread=thread, user=user
    )

    assert read_session_key(str(one)) == one
    assert is_shared(child_lane(str(one), "m_1", number="2")) == is_shared(str(one))
    assert is_shared(control_lane(str(one))) == (kind != "dm" and user is None)
