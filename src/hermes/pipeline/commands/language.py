"""`/language`: in which language Hermes itself speaks with a person, on all their channels."""

from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.reader_language import speak_with
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.texts.languages import LANGUAGES, language_of
from hermes.texts.say import say, shipped, spoken

_AUTO = "auto"


async def choose_language(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Show the language, or change it from this answer on."""
    wanted = argument.strip()
    if not wanted:
        return _said(_shown(is_chosen=bool(turn.person and turn.person.language)))
    code = "" if wanted.lower() == _AUTO else language_of(wanted, among=shipped())
    if code is None:
        text = say("I do not speak {word}. {list}", word=repr(wanted[:40]), list=_listed())
        return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED)
    await ctx.services.store.people.set_language(turn.person_id, code)
    ctx.journal.note("language", language=code or _AUTO)
    person = await ctx.services.store.people.get(turn.person_id)
    speak_with(person, turn.event, ctx.services.settings)
    if not code:
        return _said(
            say("I speak the language of your app again, if it tells me which one that is.")
        )
    return _said(say("I speak {language} with you now.", language=LANGUAGES[code].name))


def _shown(*, is_chosen: bool) -> str:
    name = LANGUAGES[spoken()].name
    if is_chosen:
        head = say("I speak {language} with you: you chose it.", language=name)
    else:
        head = say("I speak {language} with you.", language=name)
    return f"{head} {_listed()}"


def _listed() -> str:
    codes = ", ".join(code for code in LANGUAGES if code in shipped())
    return say(
        "/language CODE changes that: {codes}. What the model writes is its own matter: ask it in your "
        "language.",
        codes=codes,
    )


def _said(text: str) -> Reply:
    return Reply(parts=(TextPart(text),))
