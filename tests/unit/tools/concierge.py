"""Seventeen tools of a concierge, as somebody would write them; their bodies do nothing."""

from typing import Annotated, Literal

from hermes.tools import tool

Area = Annotated[str, "A district, street or landmark, in the person's own words."]
Day = Annotated[str, "The day as YYYY-MM-DD; work out words such as tomorrow yourself."]


@tool(intents=("venues",), idempotent=True, parallel=True)
def search_venues(
    area: Area,
    category: Literal["restaurant", "bar", "cafe", "club"],
    cuisine: str = "",
    price: Literal["low", "middle", "high"] | None = None,
    limit: int = 5,
) -> str:
    """Find restaurants, bars, cafes and clubs near a place.

    Use it whenever the person looks for somewhere to eat, drink or meet, before you book anything.

    Args:
        category: What kind of place it is.
        cuisine: A kitchen such as italian or vegan, or nothing.
        price: How expensive it may be; leave it out if the person did not say.
        limit: How many places to return at most.
    """
    return ""


@tool(intents=("venues", "booking"), idempotent=True, parallel=True)
def venue_details(venue_id: str) -> str:
    """Get the opening hours, menu, address and pictures of one venue.

    Args:
        venue_id: The id as search_venues returned it.
    """
    return ""


@tool(intents=("booking", "venues"), needs_approval=True)
def book_table(venue_id: str, day: Day, time: str, people: int, note: str = "") -> str:
    """Book a table at a venue; the person is asked before it happens.

    Args:
        venue_id: The id as search_venues returned it.
        time: The time of day as HH:MM.
        people: How many people come.
        note: Wishes for the venue, such as a high chair or allergies.
    """
    return ""


@tool(intents=("booking",), needs_approval=True)
def change_booking(booking_id: str, day: Day, time: str, people: int | None = None) -> str:
    """Move a booking to another day or time, or change how many people come.

    Args:
        booking_id: The id as list_bookings returned it.
        time: The new time of day as HH:MM.
        people: The new number of people; leave it out to keep it.
    """
    return ""


@tool(intents=("booking",), needs_approval=True)
def cancel_booking(booking_id: str, reason: str = "") -> str:
    """Cancel a booking of the person.

    Args:
        booking_id: The id as list_bookings returned it.
        reason: What to tell the venue, if the person said why.
    """
    return ""


@tool(intents=("booking",), idempotent=True)
def list_bookings(past: bool = False) -> str:
    """List the person's bookings, the next one first.

    Args:
        past: Whether to list those that are over instead.
    """
    return ""


@tool(intents=("food",), idempotent=True)
def scan_calories(image: str, portion: float = 1.0) -> str:
    """Estimate the calories and nutrients of a meal in a photo.

    Args:
        image: The name of the attached picture.
        portion: How much of what is shown was eaten, 1.0 for all of it.
    """
    return ""


@tool(intents=("food",))
def log_meal(
    name: str, calories: int, meal: Literal["breakfast", "lunch", "dinner", "snack"]
) -> str:
    """Write a meal that the person ate into their diary.

    Args:
        name: What was eaten, in a few words.
        calories: The kilocalories; estimate them if nobody said.
        meal: Which meal of the day it was.
    """
    return ""


@tool(intents=("food",), idempotent=True)
def calorie_summary(day: Day, days: int = 1) -> str:
    """Sum up what the person ate: calories, protein, carbohydrates and fat against their target.

    Args:
        days: How many days to sum up, counted back from the day.
    """
    return ""


@tool(intents=("weather",), idempotent=True, parallel=True)
def get_weather(area: Area, day: Day, hour: int | None = None) -> str:
    """Get the weather forecast for a place, up to ten days ahead.

    Also use it when the person asks what to wear or whether something can happen outside.

    Args:
        hour: The hour of the day from 0 to 23; leave it out for the whole day.
    """
    return ""


@tool(intents=("reminders",))
def set_reminder(text: str, at: str, repeat: Literal["never", "daily", "weekly"] = "never") -> str:
    """Remind the person of something at a time; they get a message then.

    Args:
        text: What to remind them of, in their own words.
        at: When, as YYYY-MM-DD HH:MM in their time zone.
        repeat: Whether it comes again.
    """
    return ""


@tool(intents=("reminders",), idempotent=True)
def list_reminders() -> str:
    """List the reminders that are still to come, the next one first."""
    return ""


@tool(intents=("reminders",))
def cancel_reminder(reminder_id: str) -> str:
    """Cancel a reminder so that it does not come any more.

    Args:
        reminder_id: The id as list_reminders returned it.
    """
    return ""


@tool(intents=("shopping",), idempotent=True)
def find_similar(image: str, max_price: float | None = None, currency: str = "EUR") -> str:
    """Find products that look like the one in a photo, cheaper ones first.

    Args:
        image: The name of the attached picture.
        max_price: The most that it may cost; leave it out if the person did not say.
        currency: The currency of the price as a three-letter code.
    """
    return ""


@tool(intents=("currency",), idempotent=True, parallel=True)
def convert_currency(amount: float, source: str, target: str) -> str:
    """Convert an amount of money at today's exchange rate.

    Args:
        amount: How much.
        source: The currency it is in, as a three-letter code.
        target: The currency it is wanted in, as a three-letter code.
    """
    return ""


@tool(intents=("directions",), idempotent=True, parallel=True)
def get_directions(
    start: Area, end: Area, by: Literal["foot", "bicycle", "car", "transit"] = "transit"
) -> str:
    """Tell how to get from one place to another, how far it is and how long it takes.

    Args:
        by: How the person travels.
    """
    return ""


@tool(intents=("events",), idempotent=True, parallel=True)
def find_events(
    area: Area, day: Day, kind: Literal["music", "art", "stage", "sport", "any"] = "any"
) -> str:
    """Find concerts, exhibitions, plays and other things to do on a day.

    Args:
        kind: What the person is after.
    """
    return ""


TOOLS = (
    search_venues,
    venue_details,
    book_table,
    change_booking,
    cancel_booking,
    list_bookings,
    scan_calories,
    log_meal,
    calorie_summary,
    get_weather,
    set_reminder,
    list_reminders,
    cancel_reminder,
    find_similar,
    convert_currency,
    get_directions,
    find_events,
)
