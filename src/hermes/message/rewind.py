"""How the end of a turn changes what was said before it: messages leave, states are kept, it goes back."""

import msgspec


class Rewind(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a conversation's past, in this order; nothing that was said is lost by it.

    The present state is kept under the name `keeps`, the conversation goes on from the state of the
    name `goes_to`, and `cut` messages at its end leave it.
    """

    keeps: str = ""
    goes_to: str = ""
    cut: int = 0
