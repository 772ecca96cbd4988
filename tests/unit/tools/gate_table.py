"""Sixty messages and the tools that answering them takes; None stands for small talk."""

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import TextPart, ToolCallPart

Said = tuple[ChatMessage, ...]


def said(*words: str) -> Said:
    """Return a conversation that the person began."""
    return tuple(
        user_text(text) if index % 2 == 0 else ChatMessage("assistant", (TextPart(text),))
        for index, text in enumerate(words)
    )


OFFERED = said(
    "find me an italian restaurant near the river",
    "Trattoria Luna is open tonight and has a terrace. Shall I book a table for two at 19:30?",
)
GREETED = said("Hey!", "Hello! Shall I book a table for tonight?")
CHOICE = said("any vegan places around here?", "1. Green Fork 2. Root 3. Leaf. Which one?")
SUNNY = said("what's the weather in Porto tomorrow", "Sunny, 24 degrees.")
LONG_AGO = (
    *said("book a table at Luna for friday", "For how many people?", "four", "At what time?"),
    *said("half past seven", "Luna on Friday at 19:30 for four people. Shall I go ahead?"),
)
USED = (
    user_text("hm, can you have a look at that thing for me"),
    ChatMessage("assistant", (ToolCallPart("c1", "list_reminders", "{}"),)),
    ChatMessage("assistant", (TextPart("There is one for Monday, 9 o'clock."),)),
)
NOTHING: Said = ()

TRIVIAL: tuple[tuple[str, Said], ...] = (
    ("hi", NOTHING),
    ("Hello there!", NOTHING),
    ("hey Hermes 👋", NOTHING),
    ("Good morning :)", NOTHING),
    ("thanks!", SUNNY),
    ("Thank you so much 🙏", SUNNY),
    ("ok", SUNNY),
    ("okkkk cool", SUNNY),
    ("👍", SUNNY),
    ("❤️❤️", SUNNY),
    ("great, thanks", SUNNY),
    ("lol", NOTHING),
    ("Guten Morgen!", NOTHING),
    ("Danke schön", SUNNY),
    ("¡Hola! ¿Qué tal", NOTHING),
    ("muchas gracias", SUNNY),
    ("Bonjour, ça va", NOTHING),
    ("merci beaucoup !", SUNNY),
    ("bye, see you tomorrow", SUNNY),
    ("...", NOTHING),
)
NEEDING: tuple[tuple[str, Said, tuple[str, ...]], ...] = (
    ("find me a sushi place near the station", NOTHING, ("search_venues",)),
    ("I'm hungry", NOTHING, ("search_venues",)),
    ("where should we go for drinks tonight?", NOTHING, ("search_venues",)),
    ("is Luna open on sundays? what are the opening hours", NOTHING, ("venue_details",)),
    ("book a table for 4 at Luna tomorrow at 8", NOTHING, ("book_table",)),
    ("can you reserve somewhere nice for friday", NOTHING, ("search_venues", "book_table")),
    ("cancel my booking", NOTHING, ("list_bookings", "cancel_booking")),
    ("move my reservation to 9pm", NOTHING, ("list_bookings", "change_booking")),
    ("what bookings do I have?", NOTHING, ("list_bookings",)),
    ("how many calories have I had today", NOTHING, ("calorie_summary",)),
    ("I ate a bowl of ramen", NOTHING, ("log_meal",)),
    ("log two eggs for breakfast", NOTHING, ("log_meal",)),
    ("will it rain tomorrow?", NOTHING, ("get_weather",)),
    ("do I need a jacket", NOTHING, ("get_weather",)),
    ("remind me to call mum at 6", NOTHING, ("set_reminder",)),
    ("what reminders do I have", NOTHING, ("list_reminders",)),
    ("delete the reminder about the dentist", NOTHING, ("list_reminders", "cancel_reminder")),
    ("how do I get to the museum", NOTHING, ("get_directions",)),
    ("how much is 50 dollars in euros", NOTHING, ("convert_currency",)),
    ("what's on this weekend", NOTHING, ("find_events",)),
    ("find a cheaper one that looks like this", NOTHING, ("find_similar",)),
    (
        "will it be sunny on saturday? if so book us a terrace table and remind me at noon",
        NOTHING,
        ("get_weather", "search_venues", "book_table", "set_reminder"),
    ),
    ("Reservier bitte einen Tisch für zwei", NOTHING, ("book_table",)),
    ("Regnet es morgen in Berlin?", NOTHING, ("get_weather",)),
    ("Erinnere mich um acht an die Tabletten", NOTHING, ("set_reminder",)),
    ("¿Dónde puedo cenar cerca de aquí?", NOTHING, ("search_venues",)),
    ("Recuérdame comprar pan mañana", NOTHING, ("set_reminder",)),
    ("Annule ma réservation de demain", NOTHING, ("list_bookings", "cancel_booking")),
    ("Quel temps fera-t-il à Lyon ?", NOTHING, ("get_weather",)),
    ("yes, do that", OFFERED, ("book_table",)),
    ("ok", GREETED, ("book_table",)),
    ("👍", OFFERED, ("book_table",)),
    ("the second one", CHOICE, ("venue_details", "book_table")),
    ("2", CHOICE, ("venue_details", "book_table")),
    ("go ahead", LONG_AGO, ("book_table",)),
    ("and on sunday?", SUNNY, ("get_weather",)),
    ("make it 10 o'clock then", USED, ("list_reminders", "set_reminder", "cancel_reminder")),
    ("what do you think of it all", NOTHING, ("find_events", "get_weather", "search_venues")),
    ("?", SUNNY, ("get_weather",)),
    ("hallo, wird es heute kalt?", NOTHING, ("get_weather",)),
)
