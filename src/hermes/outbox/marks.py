"""Marks in a delivery's `failure` column that change how it is sent next; they survive restarts."""

from typing import Final

from hermes.texts.say import words

# The preview could not be edited: the reply is sent as a new message, with its own key.
EDIT_REJECTED: Final = "edit_rejected"
# An earlier send may have arrived: this one says so, and it is the last.
POSSIBLE_REPEAT: Final = "possible_repeat"
# A preview of this chunk may have been posted; a search did not find it.
NOT_THERE: Final = "not_there"
# The platform refused the file with the whole reply: a note is sent in its place.
FILE_REFUSED: Final = "file_refused"
# The prefix of the text of such a send.
REPEAT_PREFIX: Final = words("(possibly a repeat) ")
# The end of a text that is longer than the platform allows.
CUT_OFF: Final = words("(The reply is cut here: {count} more characters. Ask for the rest.)")
# The end of a text whose whole reply follows as a file, and what is said if that is refused.
IN_FILE: Final = words("(The reply is too long for the chat. All of it is in the file below.)")
NOT_IN_FILE: Final = words("(The file with the whole reply was refused here. Ask for the rest.)")
