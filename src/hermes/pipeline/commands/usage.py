"""`/usage`: what the conversation has used."""

from hermes.message.session_key import base_lane
from hermes.pipeline.commands.effect import Effect
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.texts.say import say, say_count


async def tell_usage(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Tell tokens and cost of the conversation since it began."""
    del argument
    known = await ctx.services.store.sessions.usage(base_lane(turn.lane))
    usage = known.usage
    if not known.turns:
        return Effect(text=say("This conversation has used nothing yet."))
    lines = [
        say_count(
            "{count} message since this conversation began.",
            "{count} messages since this conversation began.",
            known.turns,
        ),
        say(
            "Tokens: {tokens_in} read ({cached_in} from the model's cache, {cache_written} "
            "written to it), {tokens_out} written.",
            tokens_in=f"{usage.tokens_in:,}",
            cached_in=f"{usage.cached_in:,}",
            cache_written=f"{usage.cache_written:,}",
            tokens_out=f"{usage.tokens_out:,}",
        ),
        f"Cost: ${usage.cost_usd:.4f}."
        + (
            say(" The price of {unpriced} tokens is not known.", unpriced=f"{usage.unpriced:,}")
            if usage.unpriced
            else ""
        ),
    ]
    return Effect(text="\n".join(lines))
