"""Marks in a delivery's `failure` column that change how it is sent next; they survive restarts."""

from typing import Final

# The preview could not be edited: the reply is sent as a new message, with its own key.
EDIT_REJECTED: Final = "edit_rejected"
# An earlier send may have arrived: this one says so, and it is the last.
POSSIBLE_REPEAT: Final = "possible_repeat"
# A preview of this chunk may have been posted; a search did not find it.
NOT_THERE: Final = "not_there"
# The prefix of the text of such a send.
REPEAT_PREFIX: Final = "(possibly a repeat) "
# The end of a text that is longer than the platform allows.
CUT_OFF: Final = "(The reply is cut here: {} more characters. Ask for the rest.)"
