"""Linking: one person on several channels, joined by a one-time code that they carry over.

Pure. The code is made on a channel where the person was let in; whoever sends it from another
channel says "this is me". So it counts for a short time, and only in direct chats.
"""

from hermes.people.pairing import CodeLimits, spoken
from hermes.ports.people import Settled

LINKING = CodeLimits(valid_s=900.0)


def code_text(code: str) -> str:
    """Return what a person is told who wants to link another channel."""
    return (
        f"Your code is {spoken(code)}. Send `/link {spoken(code)}` to me from your other account "
        "within 15 minutes, and I know that it is yours. It works once. Give it to nobody: whoever "
        "sends it is taken for you."
    )


def only_directly() -> str:
    """Return what somebody is told who wants to link in a group."""
    return "Codes are not for a group to see. Write `/link` to me in a direct chat."


def malformed(text: str) -> str:
    """Return what somebody is told whose words are no code."""
    return (
        f"{text[:40]!r} is no code: one has 8 letters and digits, such as K7QM-4XWP. Send `/link` "
        "alone on a channel where I know you to get one."
    )


def link_text(settled: Settled, *, now: float) -> str:
    """Return what somebody is told who sent a code."""
    if settled.verdict == "right":
        return (
            "This account is linked: I know you as the same person on both now. What you wrote "
            "here before stays as it was, and this is a new conversation."
        )
    if settled.verdict == "own":
        return "You are on an account that is linked already. Send the code from the other one."
    if settled.verdict == "locked" or settled.until > now:
        return f"There were too many wrong codes. Try again in {minutes(settled.until - now)}."
    return (
        "That code is not good: it may be wrong, used or too old. Send `/link` there for a new one."
    )


def minutes(seconds: float) -> str:
    """Return a time to wait, in whole minutes."""
    count = max(1, -int(-seconds // 60))
    return "1 minute" if count == 1 else f"{count} minutes"
