"""What a message in a group is: a turn, context for a later one, or nothing."""

import pytest

from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import ChatType, Source
from hermes.people.groups import GroupRules, hear


def said(
    *,
    addressed: bool = False,
    is_bot: bool = False,
    chat: str = "room",
    chat_type: ChatType = "group",
) -> MessageEvent:
    return MessageEvent(
        account="a",
        route="r",
        external_id="x",
        source=Source(
            platform="push", chat_id=chat, user_id="u", chat_type=chat_type, is_bot=is_bot
        ),
        parts=(TextPart("hello"),),
        at=1.0,
        addressed=addressed,
    )


@pytest.mark.req("W30")
@pytest.mark.parametrize(
    ("event", "bots", "require_mention", "hearing"),
    [
        (said(), "ignore", True, "context"),
        (said(), "ignore", False, "turn"),
        (said(chat="hall"), "ignore", True, "turn"),
        (said(addressed=True), "ignore", True, "turn"),
        (said(chat_type="dm"), "ignore", True, "turn"),
        (said(is_bot=True), "ignore", False, "nothing"),
        (said(is_bot=True, addressed=True), "ignore", False, "nothing"),
        (said(is_bot=True), "addressed", False, "context"),
        (said(is_bot=True, chat="hall"), "addressed", True, "context"),
        (said(is_bot=True, addressed=True), "addressed", True, "turn"),
        (said(is_bot=True), "all", False, "turn"),
        (said(is_bot=True), "all", True, "context"),
    ],
)
def test_who_is_answered_in_a_group(
    event: MessageEvent, bots: str, require_mention: bool, hearing: str
) -> None:
    rules = GroupRules(
        platform="push",
        bots=bots,  # type: ignore[arg-type]
        require_mention=require_mention,
        free_chats=frozenset({"hall"}),
    )

    assert hear(event, rules).hearing == hearing
