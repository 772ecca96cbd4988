"""The structural keys: facts worth knowing about everyone, always in the soul. Pure."""

from typing import Literal

import msgspec

Layer = Literal["person", "fitness"]


class StructuralKey(msgspec.Struct, frozen=True):
    """One key: its meaning, for the model that looks for it, and its layer in the soul."""

    name: str
    meaning: str
    layer: Layer = "person"


KEYS = (
    StructuralKey("name", "how they want to be called"),
    StructuralKey("language", "the language they want to be answered in"),
    StructuralKey("home_city", "where they live"),
    StructuralKey("time_zone", "their time zone"),
    StructuralKey("diet", "how they eat, such as vegan"),
    StructuralKey("interests", "what they like to do"),
    StructuralKey("favourite_areas", "the places and quarters they like"),
    StructuralKey("favourite_venue", "the one place they like best"),
    StructuralKey("favourite_category", "the kind of place they like best"),
    StructuralKey("last_booking", "what they booked last"),
    StructuralKey("typical_party_size", "how many they usually are"),
    StructuralKey("preferred_booking_hour", "the hour they like to book for"),
    StructuralKey("preferred_booking_day", "the day they like to book for"),
    StructuralKey("calorie_target", "how many calories they want to eat a day", "fitness"),
    StructuralKey("dietary_restrictions", "what they must not eat", "fitness"),
    StructuralKey("fitness_goal", "what they train for", "fitness"),
)
BY_NAME = {key.name: key for key in KEYS}
# Other names for a key, in its common form.
_ALIASES = {
    "first_name": "name",
    "preferred_language": "language",
    "timezone": "time_zone",
    "city": "home_city",
    "allergies": "dietary_restrictions",
    "party_size": "typical_party_size",
    "hobbies": "interests",
}


def common_key(text: str) -> str:
    """Return a key in the form in which it is stored: lower case, one word for one thing."""
    key = "_".join(text.casefold().replace("-", " ").replace("_", " ").split())
    key = key.replace("favorite", "favourite")
    return _ALIASES.get(key, key)
