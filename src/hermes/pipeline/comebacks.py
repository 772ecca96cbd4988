"""What an earlier process left behind and this one does not take up again.

Asked before a turn is resumed. A session that was cut off again and again is suspended: its message
ends with a word, and what is said next starts over. After a loop of crashes a whole start leaves
what ran, or even what waited, to the people who sent it.
"""

from typing import Literal

import msgspec

from hermes.message.outcome import MessageState
from hermes.message.reply import Reply
from hermes.message.session_key import base_lane, depth_of
from hermes.pipeline import replies
from hermes.ports.turns import LaneView, MessageRecord

LeftAlone = Literal["nothing", "running", "waiting"]


class Comeback(msgspec.Struct, frozen=True, kw_only=True):
    """How this process started: work accepted before `since` that is not resumed.

    `running` covers turns that a crash cut off, `waiting` also everything that had not begun.
    """

    since: float = 0.0
    leaves: LeftAlone = "nothing"


ALL_TAKEN_UP = Comeback()


def given_up(
    view: LaneView, message: MessageRecord, *, comeback: Comeback, max_restarts: int
) -> Reply | None:
    """Return the outcome of a message that is not resumed, or None if it is resumed."""
    is_cut_off = message.state is MessageState.RUNNING
    if is_cut_off and not _is_beside(view.lane) and 0 < max_restarts <= view.restarts:
        return replies.suspended(f"cut off by {view.restarts} restarts (lanes.max_restarts)")
    if comeback.leaves == "nothing" or message.received_at >= comeback.since:
        return None
    if is_cut_off:
        cause = "it ran when the gateway crashed again and again (process.crash_starts)"
        return replies.suspended(cause, ends=not _is_beside(view.lane))
    if comeback.leaves == "waiting" and message.state is MessageState.NEW:
        return replies.left_alone()
    return None


def _is_beside(lane: str) -> bool:
    """Return whether a lane is not a conversation of its own: a command's or a subagent's lane."""
    return depth_of(lane) > 0 or base_lane(lane) != lane
