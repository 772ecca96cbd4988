"""Thumbs for answers: who rates which call, and what all of them say about it together.

The rating belongs to the call, so an edit of its answer does not move it to other words.
"""

from collections import Counter
from collections.abc import Iterable
from typing import get_args

from hermes.errors import BadRequest
from hermes.graph.arguments import check_text
from hermes.graph.history import History
from hermes.graph.records import Call, Feedback, Rating


def rate(history: History, call: Call, rating: Rating, *, actor: str, reason: str) -> Feedback:
    """Record a thumb for the answer of a call."""
    family = history.family
    if rating not in get_args(Rating):
        raise BadRequest(f"A rating is 'up', 'down' or 'none', this one is {rating!r}.")
    check_text(actor, "Who rates", may_be_empty=True)
    check_text(reason, "The reason of a rating", may_be_empty=True)
    if call.response is None or not family.has_call(call.id):
        raise BadRequest(
            f"Call {call.id} is not a call of graph {family.name!r} with an answer, so there is "
            "nothing to rate. calls() lists them."
        )
    thumb = Feedback(family.name, call.id, rating, actor=actor, reason=reason, at=family.time())
    family.feedback.append(thumb)
    history.new_feedback.append(thumb)
    return thumb


def writer_of(history: History, index: int) -> Call:
    """Return the call that wrote the message at an index."""
    name = history.sequence.blob(index).id
    wrote = [call for call in history.family.calls if call.response == name]
    here = [call for call in wrote if (call.branch, call.shared) == (history.branch, index)]
    if not wrote:
        raise BadRequest(
            f"No recorded call wrote message {index} as it is now, and only answers of calls can be "
            "rated. To rate an answer that was changed since, pass its call."
        )
    return (here or wrote)[-1]


def verdicts(feedback: Iterable[Feedback]) -> dict[str, bool]:
    """Return what the thumbs say of each call: true for up, false for down, absent for neither.

    The latest thumb of each actor counts, and the larger number decides.
    """
    latest = {(thumb.call, thumb.actor): thumb.rating for thumb in feedback}
    counts: Counter[str] = Counter()
    for (call, _), rating in latest.items():
        counts[call] += {"up": 1, "down": -1, "none": 0}[rating]
    return {call: count > 0 for call, count in counts.items() if count}
