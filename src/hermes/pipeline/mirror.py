"""Mirrors: what was delivered into a chat from elsewhere becomes part of that chat's transcript.

A mirror is a row on the chat's own lane, so a turn that runs there never finds its session moved
under it. Nobody is answered and nothing is called.
"""

import msgspec

from hermes.message.event import MessageEvent
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.stages.load_history import load_history
from hermes.pipeline.stages.load_soul import load_soul
from hermes.pipeline.stages.save import build_commit, commit_patiently
from hermes.pipeline.turn import Turn
from hermes.ports.records import TranscriptEntry
from hermes.ports.sends import MIRROR
from hermes.ports.upward import Progress


def is_mirror(event: MessageEvent) -> bool:
    """Tell whether an event is no message, but word of what was delivered into its chat."""
    return event.internal and event.route == MIRROR


async def write_mirror(turn: Turn, ctx: TurnContext) -> Reply:
    """Add what was delivered to the session, and return what that was."""
    (said,) = turn.event.history
    reply = Reply(parts=said.parts, silent=True)
    turn = await _with_soul(turn, ctx)
    ctx.journal.note("mirrored", delivery=turn.event.external_id.rpartition(".")[0])
    await ctx.journal.begin(turn)
    commit = msgspec.structs.replace(
        build_commit(turn, reply, ctx),
        entries=(TranscriptEntry(said),),
        reply=said,
        reply_entry=0,
        interaction=None,
    )
    assert ctx.journal.lease is not None
    await commit_patiently(ctx, ctx.journal.lease, commit)
    done = Progress(kind="done", outcome=reply.outcome, result=commit.result)
    ctx.services.watch.publish(turn.id, done)
    return reply


async def _with_soul(turn: Turn, ctx: TurnContext) -> Turn:
    """Let a session that begins with this be told of its person as any other is."""
    # As if the person had written: a soul is kept for them, and no words of theirs.
    heard = msgspec.structs.replace(turn.event, internal=False, history=())
    begun = await load_history(msgspec.structs.replace(turn, event=heard), ctx)
    if isinstance(begun, Reply) or begun.history:
        return turn
    told = await load_soul(begun, ctx)
    return turn if isinstance(told, Reply) else msgspec.structs.replace(turn, soul=told.soul)
