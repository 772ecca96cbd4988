"""Which conversation a call of an agent belongs to: one place for every door that programs use."""

from hermes.agents.roster import Agent
from hermes.message.source import Source


def call_source(
    agent: Agent, *, platform: str, caller: str, context_id: str | None = None
) -> Source:
    """Return the source of a call, which decides its conversation together with the agent.

    A caller has one conversation with an agent, and one more for each `context_id`; another caller
    with the same `context_id` has another one. Callers of a `shared` agent share its conversations.
    The platform's callers must name chats themselves (`own_chats` in its manifest).
    """
    if not agent.shared:
        return Source(platform=platform, chat_id=context_id or caller, user_id=caller)
    chat = context_id or agent.key
    return Source(
        platform=platform,
        chat_id=chat,
        chat_type="thread",
        thread_id=chat,
        user_id=caller,
        user_name=caller,
    )
