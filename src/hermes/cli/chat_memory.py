"""Which conversation the terminal chat was in, kept between runs in the home folder."""

import os
from pathlib import Path

from hermes.message.ids import MakeId

_LONGEST_ID = 200


class ChatMemory:
    """The chat's own small folder: the conversation's id and the typed lines."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "chat"
        self._conversation = self._folder / "conversation"

    @property
    def history(self) -> Path:
        """The file of typed lines."""
        return self._folder / "history"

    def conversation(self, make_id: MakeId, *, fresh: bool) -> str:
        """Return the id of the conversation to go on with, or a new one."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not fresh and self._conversation.exists():
            known = self._conversation.read_text(encoding="utf-8", errors="replace").strip()
            if 0 < len(known) <= _LONGEST_ID:
                return known
        return self.keep(make_id("c"))

    def keep(self, conversation_id: str) -> str:
        """Go on with this conversation next time; returns its id."""
        draft = self._conversation.with_name(f".conversation.{os.getpid()}")
        draft.write_text(conversation_id + "\n", encoding="utf-8")
        draft.chmod(0o600)
        draft.replace(self._conversation)
        return conversation_id
