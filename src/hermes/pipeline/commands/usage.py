"""`/usage`: what the conversation has used."""

from hermes.message.session_key import base_lane
from hermes.pipeline.commands.effect import Effect
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def tell_usage(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Tell tokens and cost of the conversation since it began."""
    del argument
    known = await ctx.services.store.sessions.usage(base_lane(turn.lane))
    usage = known.usage
    if not known.turns:
        return Effect(text="This conversation has used nothing yet.")
    lines = [
        f"{known.turns} {'message' if known.turns == 1 else 'messages'} since this conversation began.",
        f"Tokens: {usage.tokens_in:,} read ({usage.cached_in:,} from the model's cache, "
        f"{usage.cache_written:,} written to it), {usage.tokens_out:,} written.",
        f"Cost: ${usage.cost_usd:.4f}."
        + (f" The price of {usage.unpriced:,} tokens is not known." if usage.unpriced else ""),
    ]
    return Effect(text="\n".join(lines))
