"""The Matrix channel by itself, as one account of a real homeserver."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tests.system.matrix_rig import Rig
from tests.system.real_synapse import Person, Synapse


class OnSynapse(Rig):
    """The channel of the bot; `more` are settings beside those that it needs."""

    def __init__(self, folder: Path, synapse: Synapse, bot: Person, **more: object) -> None:
        super().__init__(folder, timeout_s=30.0)
        known = {"homeserver": synapse.url, "access_token": bot.token, "join": "all"}
        self._settings = {**known, **more}

    @property
    def settings(self) -> Mapping[str, object]:
        return self._settings

    async def until(self, *texts: str) -> None:
        """Wait until exactly these were accepted."""
        try:
            async with asyncio.timeout(60):
                while self.texts() != list(texts):  # noqa: ASYNC110 - nobody tells of it
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"expected {texts}, found {self.texts()}") from None
