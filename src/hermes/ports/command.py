"""The chat commands that plugins provide."""

from typing import Protocol

import msgspec

from hermes.message.source import Source


class CommandCall(msgspec.Struct, frozen=True, kw_only=True):
    """One use of a command: the text after its name, who wrote it and where."""

    argument: str
    person_id: str
    message_id: str
    session: str
    source: Source


class ChatCommand(Protocol):
    """The command that a plugin registers; `beside` lets it run beside a running turn."""

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
        """What may follow its name."""
        ...

    @property
    def beside(self) -> bool:
        """Whether it is answered while a turn runs; then it must be quick."""
        ...

    async def run(self, call: CommandCall) -> str:
        """Return the reply for the person; after a crash it may be called again.

        It is cancelled after 30 s, or after 5 s if it runs beside a turn.
        """
        ...
