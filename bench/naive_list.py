"""The naive way to keep every version of a conversation: a list that copies itself whole before
each change. It stands beside the graph in the group `graph`.
"""

from copy import deepcopy

from hermes.graph import Message


class CopyingList:
    """Messages whose every version is a deep copy of all of them."""

    def __init__(self, messages: list[Message]) -> None:
        self.versions = [messages]

    def append(self, message: Message) -> None:
        """Add a message, as a new version."""
        self._new_version().append(message)

    def edit(self, index: int, content: str) -> None:
        """Give a message another content, as a new version."""
        self._new_version()[index]["content"] = content

    def _new_version(self) -> list[Message]:
        copied = deepcopy(self.versions[-1])
        self.versions.append(copied)
        return copied
