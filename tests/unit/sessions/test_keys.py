"""Session keys name a conversation, and no two conversations share one."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.message.session_key import (
    SessionKey,
    base_lane,
    child_lane,
    control_lane,
    depth_of,
    escape,
    is_below,
    unescape,
)
from hermes.message.source import ChatType, Source
from hermes.sessions.keys import SessionKeys, session_key


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
    keys = SessionKeys(("rest",), partial(written_by, ()))

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
    keys = SessionKeys(("rest",), partial(written_by, writers))

    assert await keys.lane(source, "main") == lane


@pytest.mark.req("W22")
async def test_only_chats_that_callers_name_belong_to_their_sender() -> None:
    keys = SessionKeys(("rest",), partial(written_by, ()))
    shared = Source(platform="rest", chat_id="k", chat_type="thread", thread_id="k", user_id="ann")

    assert await keys.lane(shared, "main") == "agent:main:rest:thread:k:k"
    web = Source(platform="web", chat_id="k", user_id="owner")
    assert await keys.lane(web, "main") == "agent:main:web:dm:k"
