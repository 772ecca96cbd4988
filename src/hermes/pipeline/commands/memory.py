"""`/memory` in a chat: what is known of the person who asks, and a way to have it forgotten."""

from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.texts.say import say, words

_MOST_SHOWN = 50
_USE = words("`/memory forget KEY` forgets one of them, `/memory forget everything` all of it.")
_EVERYTHING = "everything"


async def tell_memory(turn: Turn, ctx: TurnContext, argument: str) -> str:
    """Return what is known of the person, or forget what they name; doing it again is harmless."""
    source = turn.event.source
    if source.chat_type != "dm" or source.thread_id is not None:
        return say("Ask me in a direct chat: others read along here.")
    facts = ctx.services.facts
    word, _, key = argument.partition(" ")
    if word.casefold() == "forget" and key.strip().casefold() == _EVERYTHING:
        await facts.forget_all(turn.person_id)
        return "Forgotten."
    if word.casefold() == "forget" and key.strip():
        gone = await facts.forget(turn.person_id, key.strip())
        return (
            say("Forgotten.")
            if gone
            else say("I know nothing under {key}.", key=repr(key.strip()[:50]))
        )
    if argument:
        return say("Say /memory to see what I know of you, or /memory forget KEY.")
    known = sorted(await facts.of(turn.person_id), key=lambda fact: not fact.is_structural)
    dream = await ctx.services.store.dreams.of(turn.person_id)
    insights = [f"I gathered: {one}" for one in (dream.insights if dream else ())]
    if not known and not insights:
        return say("I know nothing of you yet.")
    lines = [f"{fact.key}: {fact.value}" for fact in known[:_MOST_SHOWN]]
    more = len(known) - len(lines)
    return "\n".join(
        (*lines, *([say("and {count} more", count=more)] if more else []), *insights, say(_USE))
    )
