"""`/reload-mcp` in a chat: reloads the configured MCP servers after a confirmation.

New tools make a model service read the whole session again, which costs money, so it asks first.
"""

import msgspec

from hermes.errors import BadRequest
from hermes.message.chat import ChatMessage
from hermes.message.parts import NotePart, TextPart
from hermes.message.reply import Reply
from hermes.pipeline.questions import asker_of
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.texts.say import say, words
from hermes.tools.mcp.report import diff_text

NAME = "reload-mcp"
_ASK = words(
    "This reads the MCP servers from the configuration again and starts those that "
    "changed. Where tools change, the next answer of every running session costs more "
    "than usual.\n/reload-mcp once does it now, /reload-mcp always does it now and asks "
    "you no more, /reload-mcp cancel does not."
)
_LEFT = words("Nothing was changed.")
_ASKS_AGAIN = words("Nothing was changed, and I ask you again from now on.")
_NOTE = "\n\n[The tools you have may differ from those of earlier messages.\n{}]"


async def reload_mcp(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Reload, ask for confirmation, or cancel; the model is also informed of what changed."""
    approvals, who, word = ctx.services.store.approvals, asker_of(turn.event), argument.casefold()
    is_standing = await approvals.is_standing(NAME, who)
    if word == "cancel":
        if is_standing:
            await approvals.stand(NAME, who, is_standing=False)
        return _said(say(_ASKS_AGAIN) if is_standing else say(_LEFT))
    if word not in ("once", "always") and (word or not is_standing):
        return _said(say(_ASK))
    if word == "always" and not is_standing:
        await approvals.stand(NAME, who, is_standing=True)
    try:
        diff = await ctx.services.on_record(
            "mcp.reload", turn.person_id, work=ctx.services.reload_mcp
        )
    except BadRequest as error:
        return _said(str(error))
    text = diff_text(diff)
    ctx.journal.note("mcp_reloaded", added=diff.tools_added, removed=diff.tools_removed)
    return Reply(parts=(TextPart(text),), note="" if diff.is_empty else _NOTE.format(text))


def with_note(turn: Turn, reply: Reply) -> Turn:
    """Return the turn so that its commit keeps the command and its note for the model.

    A session that has not begun needs none: its first call sees the tools as they are.
    """
    if not turn.head:
        return turn
    asked = ChatMessage("user", (TextPart(turn.event.text), NotePart(reply.note)))
    turn = msgspec.structs.replace(turn, user=asked)
    return turn.plus(ChatMessage("assistant", reply.parts), ordinal=None)


def _said(text: str) -> Reply:
    return Reply(parts=(TextPart(text),))
