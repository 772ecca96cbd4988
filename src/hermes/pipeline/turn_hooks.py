"""What hooks hear of turns, sessions and commands.

A context holds ids and plain facts; the words of people and models reach only hooks that ask for
them. Only `refusal` is waited for.
"""

from collections.abc import Callable
from typing import Any

from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.message.session_key import base_lane, depth_of, read_session_key, root_lane
from hermes.pipeline.turn import Turn
from hermes.plugins.hook_book import HookBook
from hermes.ports.hooks import (
    AGENT_END,
    AGENT_START,
    AGENT_STEP,
    COMMAND,
    SESSION_END,
    SESSION_START,
    Context,
)
from hermes.ports.sessions import SessionStore
from hermes.ports.steps import Step
from hermes.ports.turns import LaneView
from hermes.sessions.commands import TypedCommand

_CODE = "forbidden"
_EXPECTED = 'expected None or {"refuse": "what the person is told"}'
_REMEMBERED = 10_000
Heard = Callable[[Step, Step], None]


class TurnHooks:
    """Fits the calls of the pipeline; there is one only where there are hooks."""

    def __init__(self, book: HookBook, sessions: SessionStore) -> None:
        self._book = book
        self._sessions = sessions
        self._hears_steps = book.hears(AGENT_STEP)
        self._hears_sessions = book.hears(SESSION_START)
        # Sessions that need not be looked up again, each by its lane and epoch.
        self._begun: dict[tuple[str, int], None] = {}

    async def started(self, turn: Turn, *, is_again: bool) -> None:
        """A message is worked on; `is_again` says that an attempt before this one had begun."""
        if self._hears_sessions and not is_again and not depth_of(turn.lane):
            await self._look_at_session(turn)
        self._book.tell(
            AGENT_START, {**_about(turn), "is_again": is_again, "text": turn.event.text}
        )

    def ended(self, turn: Turn, reply: Reply) -> None:
        """A message has its outcome."""
        self._book.tell(
            AGENT_END,
            {
                **_about(turn),
                "outcome": reply.outcome.value,
                "code": reply.code,
                "model": reply.model or turn.model,
                "tokens_in": turn.usage.tokens_in,
                "tokens_out": turn.usage.tokens_out,
                "tools": [use.name for use in turn.tools_run],
                "text": turn.event.text,
                "reply": reply.text,
            },
        )

    def abandoned(self, view: LaneView, outcome: Outcome) -> None:
        """A message ends without words, of which nothing more may be known."""
        assert view.message is not None
        key = read_session_key(root_lane(base_lane(view.lane)))
        self._book.tell(
            AGENT_END,
            {
                "message_id": view.message.id,
                "session": base_lane(view.lane),
                "platform": key.platform,
                "agent": key.agent,
                "outcome": outcome.value,
            },
        )

    def steps_of(self, view: LaneView) -> Heard | None:
        """Return who is told of each step of a turn as it ends."""
        message = view.message
        if not self._hears_steps or message is None or message.event is None:
            return None
        about = {
            "message_id": message.id,
            "session": view.lane,
            "platform": message.event.source.platform,
            "agent": read_session_key(root_lane(view.lane)).agent,
        }

        def heard(began: Step, ended: Step) -> None:
            self._book.tell(AGENT_STEP, {**about, **_facts(began, ended)})

        return heard

    def session_ended(self, lane: str, reason: str) -> None:
        """A session is over."""
        key = read_session_key(lane)
        self._book.tell(
            SESSION_END,
            {"session": lane, "platform": key.platform, "agent": key.agent, "reason": reason},
        )

    async def refusal(self, written: TypedCommand, turn: Turn) -> Reply | None:
        """Tell hooks of a command that is about to run; return a reply if one of them refuses."""
        answers = await self._book.collect(
            f"{COMMAND}{written.name}",
            {**_about(turn), "command": written.name, "argument": written.argument},
            read=read_refusal,
        )
        for name, text in answers:
            reason = f"the hook {name} refuses /{written.name}"
            return Reply(
                parts=(TextPart(text),), outcome=Outcome.REFUSED, reason=reason, code=_CODE
            )
        return None

    async def _look_at_session(self, turn: Turn) -> None:
        """Report a session in which no turn has ended yet, once in the life of the process."""
        key = (turn.lane, turn.epoch)
        if key in self._begun:
            return
        while len(self._begun) >= _REMEMBERED:
            del self._begun[next(iter(self._begun))]
        self._begun[key] = None
        if not (await self._sessions.usage(turn.lane)).turns:
            self._book.tell(SESSION_START, _about(turn))


# Any: an answer is whatever the hook returned.
def read_refusal(answer: Any) -> str | None:
    """Return what somebody is told who may not use a command; raises `ValueError`."""
    if answer is None:
        return None
    text = answer.get("refuse") if isinstance(answer, dict) and len(answer) == 1 else None
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"it answered {type(answer).__name__}, {_EXPECTED}")
    return text


def _about(turn: Turn) -> Context:
    source = turn.event.source
    return {
        "message_id": turn.id,
        "session": base_lane(turn.lane),
        "person_id": turn.person_id,
        "platform": source.platform,
        "chat_id": source.chat_id,
        "chat_type": source.chat_type,
        "thread_id": source.thread_id,
        "user_id": source.user_id,
        "agent": turn.agent.key,
        "is_subagent": depth_of(turn.lane) > 0,
        "is_scheduled": turn.event.scheduled is not None,
    }


def _facts(began: Step, ended: Step) -> Context:
    return {
        "step": ended.ordinal,
        "kind": ended.kind,
        "name": ended.name,
        "tool_name": ended.name if ended.kind == "tool" else None,
        "state": ended.state,
        "duration_ms": round((ended.at - began.at) * 1000, 1),
        "tokens_in": ended.usage.tokens_in,
        "tokens_out": ended.usage.tokens_out,
    }
