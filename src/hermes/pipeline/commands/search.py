"""`/search WORDS` in a chat: searches earlier messages that the person may see here."""

from datetime import datetime
from zoneinfo import ZoneInfo

from hermes.errors import BadRequest, HermesError
from hermes.message.session_key import base_lane
from hermes.pipeline.accounts import may_read_history
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.search import FoundMessage, SearchAsk, Searcher
from hermes.texts.say import say, words

_MOST_SHOWN = 10
_USE = words(
    "Write /search and what to look for: words, or parts of words. All of them must "
    'occur; "words in quotes" stand together.'
)


async def tell_search(turn: Turn, ctx: TurnContext, argument: str) -> str:
    """Return the newest messages that fit; where others read along, only those of this session."""
    search, source = ctx.services.search, turn.event.source
    if search is None:
        return say("Search is switched off here.")
    if not argument:
        return say(_USE)
    is_direct = source.chat_type == "dm" and source.thread_id is None
    is_private = is_direct and await may_read_history(turn, ctx.services.store)
    asker = Searcher(turn.person_id, base_lane(turn.lane), is_private)
    try:
        result = await search.find(SearchAsk(text=argument, asker=asker, limit=_MOST_SHOWN))
    except BadRequest as error:
        return str(error)
    except HermesError:
        return say("I cannot search right now. Please try again in a moment.")
    zone = ctx.services.settings.time_zone
    lines = [_line(found, lane=asker.lane, zone=zone) for found in result.found]
    if not lines:
        lines = [say("Nothing was found.")]
    if not result.is_complete or result.unread:
        lines.append(say("There may be more: not everything could be looked at yet."))
    return "\n".join(lines)


def _line(found: FoundMessage, *, lane: str, zone: str | None) -> str:
    at = datetime.fromtimestamp(found.at, ZoneInfo(zone) if zone else None)
    who = "you" if found.role == "user" else "I"
    where = "" if found.session == lane else f", {found.platform}"
    return f"{at:%Y-%m-%d %H:%M}, {who}{where}: {found.snippet}"
