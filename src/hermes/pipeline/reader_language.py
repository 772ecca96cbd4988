"""In which language Hermes speaks with a person: their choice, their platform's, or the gateway's."""

from typing import Protocol

from hermes.config import Settings
from hermes.message.event import MessageEvent
from hermes.pipeline.needs import Lookup
from hermes.ports.people import Person
from hermes.texts.languages import language_of
from hermes.texts.say import shipped, speak


class KnowsPeople(Protocol):
    """A store that knows people."""

    @property
    def people(self) -> Lookup[Person]: ...


def language_with(person: Person | None, named: str, settings: Settings) -> str:
    """Return the language for a person; `named` is what their platform says."""
    if person is not None and person.language:
        return person.language
    return (language_of(named, among=shipped()) if named else None) or settings.language


async def language_for(
    person_id: str, event: MessageEvent | None, *, store: KnowsPeople, settings: Settings
) -> str:
    """Return the language for the person who reads the answer to an event."""
    named = "" if event is None else event.language
    return language_with(await store.people.get(person_id), named, settings)


def speak_with(person: Person | None, event: MessageEvent, settings: Settings) -> None:
    """Say everything from here on in the language of a person."""
    speak(language_with(person, event.language, settings))
