"""Rotates the key of a store while no gateway uses it.

Imported by name only when used, because it imports the whole composition root.
"""

import asyncio

from hermes.app.key_rotation import KeyRotation
from hermes.app.make_operations import make_audited
from hermes.app.store_files import DATABASE, KEY_FILE, open_store
from hermes.cli.offline import logs_in_a_file
from hermes.cli.progress import Show
from hermes.config import LoadedConfig, ensure_home
from hermes.control.order import local_actor
from hermes.control.orders import GATEWAY_ROTATE_KEYS
from hermes.control.store_keys import RotationReport
from hermes.errors import NotFound
from hermes.message.ids import make_id
from hermes.ops.instance import acquire
from hermes.ports.clock import SystemClock
from hermes.store.sqlite.inspection import inspect


def rotate(loaded: LoadedConfig, *, by: str, show: Show) -> RotationReport:
    """Rotate the key under the lock that a gateway would hold."""
    path = loaded.home / DATABASE
    if not path.exists():
        raise NotFound(f"Nothing is stored in {loaded.home} yet, so there is no key to rotate.")
    ensure_home(loaded.home)
    instance = acquire(loaded.home)
    try:
        with logs_in_a_file(loaded):
            return asyncio.run(_rotate(loaded, by=by, show=show))
    finally:
        instance.release()


async def _rotate(loaded: LoadedConfig, *, by: str, show: Show) -> RotationReport:
    home = loaded.home
    total = inspect(home / DATABASE, (home / KEY_FILE).read_bytes(), alive=_ignore).keys
    store = open_store(home, loaded.settings, clock=SystemClock(), make_id=make_id)
    try:
        rotation = KeyRotation(home / KEY_FILE, store, search=None)
        audited = make_audited(store, loaded.settings, clock=SystemClock(), make_id=make_id)
        return await audited.act(
            local_actor(by),
            GATEWAY_ROTATE_KEYS,
            work=lambda: rotation.rotate(by, tell=lambda done: show(done, total, "")),
        )
    finally:
        await store.close()


def _ignore() -> None:
    """Do nothing: there is no progress bar yet."""
