"""Status and result to JSON answers. Pure.

200 says that the turn has ended; 202 that the message is kept and its end is still to come.
"""

from hermes.http.json_body import json_response
from hermes.http.turn import Ticket, TurnView
from hermes.message.outcome import MessageState
from hermes.ports.channel import HttpResponse


def accepted_response(ticket: Ticket, *, state: MessageState = MessageState.NEW) -> HttpResponse:
    """Return the answer for a message that is kept and not waited for."""
    return json_response(
        {"id": ticket.id, "state": state, "duplicate": ticket.duplicate},
        202,
        headers={"location": f"/api/messages/{ticket.id}"},
    )


def turn_response(view: TurnView) -> HttpResponse:
    """Return the answer for a turn that was waited for."""
    return json_response(view, 200 if view.state is MessageState.DONE else 202)
