"""How the end of a turn changes the conversation before it: remove messages, save or restore
states."""

import msgspec


class Rewind(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a conversation's past, in this order; nothing is lost by it.

    The current state is saved under the name `keeps`, the conversation continues from the state
    named `goes_to`, and `cut` messages at its end are removed. If it `is_edit`, what follows is another
    version of them, from their first message on.
    """

    keeps: str = ""
    goes_to: str = ""
    cut: int = 0
    is_edit: bool = False
