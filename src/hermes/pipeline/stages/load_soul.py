"""Stage: the agent's stable system blocks."""

import msgspec

from hermes.memory.soul import soul_blocks
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def load_soul(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Give the turn its system blocks."""
    started = ctx.services.clock.monotonic()
    blocks = soul_blocks(turn.agent.settings)
    if turn.event.channel_prompt:
        blocks = (*blocks, turn.event.channel_prompt)
    took_ms = (ctx.services.clock.monotonic() - started) * 1000
    return msgspec.structs.replace(turn, system=blocks, soul_ms=took_ms)
