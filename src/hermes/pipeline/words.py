"""In which language a turn speaks: the person's choice, then their platform's, then the gateway's."""

from hermes.config import Settings
from hermes.message.event import MessageEvent
from hermes.texts.languages import language_of
from hermes.texts.say import shipped, speak


def speak_as(chosen: str, event: MessageEvent, settings: Settings) -> None:
    """Say everything from here on in the language of a person."""
    platform = language_of(event.language, among=shipped()) if event.language else None
    speak(chosen or platform or settings.language)
