"""A chat command that a plugin brings."""

from typing import Protocol

import msgspec

from hermes.message.source import Source


class CommandCall(msgspec.Struct, frozen=True, kw_only=True):
    """One use of a command: what stands behind its name, who wrote it and where."""

    argument: str
    person_id: str
    message_id: str
    session: str
    source: Source


class ChatCommand(Protocol):
    """What a plugin registers; `beside` lets it pass a running turn."""

    @property
    def name(self) -> str:
        """What people write behind the slash."""
        ...

    @property
    def about(self) -> str:
        """What it is for, in a few words."""
        ...

    @property
    def use(self) -> str:
        """What may stand behind its name."""
        ...

    @property
    def beside(self) -> bool:
        """Whether it is answered while a turn runs; then it must be quick."""
        ...

    async def run(self, call: CommandCall) -> str:
        """Return what the person is told; after a crash it may be asked to run again."""
        ...
