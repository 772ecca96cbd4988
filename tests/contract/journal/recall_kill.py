"""A gateway that dies while it writes vectors: `python -m tests.contract.journal.recall_kill FOLDER
before|after` learns facts, is asked about them, and is killed on that side of the commit.
"""

import asyncio
import sys
from pathlib import Path

from hermes import failpoints
from hermes.providers.minilm.provider import MiniLmEmbedder
from hermes.providers.minilm.settings import MiniLmSettings
from tests.contract.journal.rig import open_rig
from tests.contract.journal.test_recall import ANN, PATIENT, QUESTION, know
from tests.stores.opening import KEYS


async def _act(home: Path, side: str) -> None:
    (home / "store.keys").write_bytes(KEYS)
    embedder = MiniLmEmbedder(MiniLmSettings())
    async with open_rig(home, embedder=embedder, settings=PATIENT) as rig:
        await know(rig, "ann", ANN)
        failpoints.arm_from(f"store.keep_vectors.{side}:1")
        await rig.answer(QUESTION, chat="before", user="ann")


if __name__ == "__main__":
    asyncio.run(_act(Path(sys.argv[1]), sys.argv[2]))
