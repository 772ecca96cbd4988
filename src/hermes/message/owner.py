"""The owner of a gateway: whoever signs in to the web chat, and whoever types at its terminal.

Both are one person; messages that are for the owner and for no chat go to a web conversation of theirs.
"""

from typing import Final

WEB_OWNER: Final = ("web", "owner")
TERMINAL: Final = ("rest", "cli")
# The first decides whose the others become.
OWNER_CHANNELS: Final = (WEB_OWNER, TERMINAL)
# The web conversation, which is named like its person, as direct chats are.
OWNER_CHAT: Final = "owner"
