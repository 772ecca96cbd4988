"""`SessionKey`: the deterministic name of a conversation, and of the lane that serialises it.

`agent:{agent}:{platform}:{chat_type}:{chat_id}[:{thread}][:{user}]`, each part escaped so that ids
containing `:` cannot collide. A key with a thread always has the chat type `thread`, so a thread id
and a user id in the same place cannot collide either: the place of the thread stays empty if a chat is
a thread itself and its people have a session each. A subagent's lane is the parent's lane, a `/` and
the parent turn's id.
"""

import re

import msgspec

_CODES = (("%", "%25"), (":", "%3A"), ("/", "%2F"), ("#", "%23"))
_GROUPS = (["group"], ["channel"])
_OF_A_GROUPS_PERSON = 6
_OF_A_THREADS_PERSON = 7
_CONTROL = "#control"
_BACKGROUND = ".background"
_TASK = ".task"
# What stands for an id of somebody who was erased: this, and so many digits of a keyed hash.
HIDDEN = "erased-"
HIDDEN_DIGITS = 24
_HIDDEN_ID = re.compile(rf"{HIDDEN}[0-9a-f]{{{HIDDEN_DIGITS}}}")


def escape(part: str) -> str:
    """Return `part` without the separators of a session key, reversibly."""
    if not part:
        return "%00"
    for char, code in _CODES:
        if char in part:
            part = part.replace(char, code)
    return part


def unescape(part: str) -> str:
    """Undo `escape`."""
    if part == "%00":
        return ""
    for char, code in reversed(_CODES):
        part = part.replace(code, char)
    return part


def is_hidden_id(name: str) -> bool:
    """Return whether an id stands for one of somebody who was erased."""
    return _HIDDEN_ID.fullmatch(name) is not None


def names_nobody(lane: str) -> bool:
    """Return whether a session was that of somebody who was erased, and has another name since."""
    return any(is_hidden_id(piece) for piece in re.split("[:/#]", lane))


class SessionKey(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that identify a conversation."""

    agent: str
    platform: str
    chat_type: str
    chat_id: str
    thread: str | None = None
    user: str | None = None

    def __str__(self) -> str:
        chat_type = self.chat_type if self.thread is None else "thread"
        pieces = ["agent", escape(self.agent), escape(self.platform), chat_type]
        pieces.append(escape(self.chat_id))
        if self.thread is not None:
            pieces.append(escape(self.thread))
        elif chat_type == "thread" and self.user is not None:
            pieces.append("")
        if self.user is not None:
            pieces.append(escape(self.user))
        return ":".join(pieces)


def read_session_key(lane: str) -> SessionKey:
    """Return the key of a session's own lane."""
    _, agent, platform, chat_type, chat_id, *last = lane.split(":")
    thread = last.pop(0) if last and chat_type == "thread" else ""
    return SessionKey(
        agent=unescape(agent),
        platform=unescape(platform),
        chat_type=chat_type,
        chat_id=unescape(chat_id),
        # An id that is empty is `%00` here.
        thread=unescape(thread) if thread else None,
        user=unescape(last[0]) if last else None,
    )


def graph_name(lane: str, epoch: int) -> str:
    """Return the name of the message graph that holds one conversation of a session."""
    return f"{lane}#{epoch}"


def child_lane(parent_lane: str, turn_id: str, *, number: str) -> str:
    """Return the lane of the subagent that a turn starts with its child `number`."""
    return f"{parent_lane}/{turn_id}.{number}"


def task_lane(parent_lane: str, turn_id: str, *, number: str) -> str:
    """Return the lane of the task that a turn delegates with its child `number` and leaves alone."""
    return f"{child_lane(parent_lane, turn_id, number=number)}{_TASK}"


def background_lane(session_lane: str, turn_id: str) -> str:
    """Return the lane of the background task that a session's `/background` message starts."""
    return f"{session_lane}/{turn_id}{_BACKGROUND}"


def is_background(lane: str) -> bool:
    """Return whether a lane is that of a background task."""
    return lane.endswith(_BACKGROUND)


def is_task(lane: str) -> bool:
    """Return whether a lane is that of a delegated task for which no turn waits."""
    return lane.endswith(_TASK)


def turn_branch(lane: str, turn_id: str) -> str:
    """Return what the lanes of everything begin with that a turn has started, at any depth."""
    return f"{lane}/{turn_id}."


def depth_of(lane: str) -> int:
    """Return how many parents `lane` has."""
    return lane.count("/")


def root_lane(lane: str) -> str:
    """Return the lane of the session itself, for it or for a subagent's lane below it."""
    return lane.partition("/")[0]


def root_turn(lane: str, turn_id: str) -> str:
    """Return the turn that a person's message started: that of the first subagent's parent."""
    below = [part for part in lane.split("/", 3)[1:] if not is_background(part)]
    return below[0].partition(".")[0] if below else turn_id


def is_below(lane: str, *, ancestor: str) -> bool:
    """Return whether `lane` belongs to a subagent of `ancestor`, at any depth.

    A background task is not a subagent, nor is a delegated task that is left alone: they run beside
    their session.
    """
    if not lane.startswith(ancestor + "/"):
        return False
    return not _is_beside(lane[len(ancestor) + 1 :].partition("/")[0])


def is_subagent(lane: str) -> bool:
    """Return whether another turn waits for the turn of a lane."""
    return depth_of(lane) > 0 and not _is_beside(lane)


def _is_beside(lane: str) -> bool:
    return is_background(lane) or is_task(lane)


def is_direct(lane: str) -> bool:
    """Return whether a lane is a direct chat."""
    return lane.split(":", 4)[3:4] == ["dm"]


def is_shared(lane: str) -> bool:
    """Return whether a lane is that of a group or thread whose people have one session together."""
    pieces = root_lane(base_lane(lane)).split(":")
    return is_groups(lane) or (pieces[3:4] == ["thread"] and len(pieces) < _OF_A_THREADS_PERSON)


def is_groups(lane: str) -> bool:
    """Return whether a lane is that of a group or channel whose people have one session together."""
    pieces = root_lane(base_lane(lane)).split(":")
    return pieces[3:4] in _GROUPS and len(pieces) < _OF_A_GROUPS_PERSON


def control_lane(lane: str) -> str:
    """Return the lane beside `lane` on which its control commands run."""
    return lane + _CONTROL


def base_lane(lane: str) -> str:
    """Return the session's own lane for it or for its control lane."""
    return lane.removesuffix(_CONTROL)
