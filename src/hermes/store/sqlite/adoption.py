"""Moves the conversations of a database that is older than the message graph into graphs.

Runs once, inside the transaction of the migration, so an interruption leaves the old transcript in
place. The calls of that time were not recorded, so none of their answers counts as sampled.
"""

import os
from collections.abc import Callable, Iterable
from itertools import groupby

import msgspec
import structlog

from hermes.errors import StoreError
from hermes.graph.blob import Blob
from hermes.graph.growth import grow, no_tip
from hermes.graph.hasher import KEYED_SIZE
from hermes.graph.reader import ObjectReader
from hermes.message.chat import ChatMessage
from hermes.message.session_key import graph_name
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.graph_writer import GraphWriter
from hermes.store.sql.numbers import Numbers
from hermes.store.sql.places import blob_place
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.wallet import add_codes
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.tx import SqliteTx, drive

_SQL = load("adoption", package="hermes.store.sqlite")
_PEOPLE = load("people")
_TOLD_EVERY = 1_000
_decode = msgspec.json.Decoder(ChatMessage).decode
_encode = msgspec.json.Encoder().encode
_log = structlog.get_logger(__name__)


def steps_beside(sealer: Sealer) -> dict[str, Callable[[Database], None]]:
    """Return what the migrations need besides their SQL, by migration name."""
    return {
        "0003_graph.sql": lambda db: _adopt_all(db, sealer),
        "0005_credits.sql": lambda db: _add_codes(db, sealer),
    }


def _add_codes(db: Database, sealer: Sealer) -> None:
    load_digest_key(db, sealer)
    drive(add_codes(SqliteTx(db), sealer))


def load_digest_key(db: Database, sealer: Sealer) -> None:
    """Load the database's digest key, creating it on the first start."""
    row = db.row(_PEOPLE["digest_key"])
    if row is None:
        db.execute(_PEOPLE["set_digest_key"], (sealer.make_digest_key(),))
    else:
        sealer.load_digest_key(row[0])


def _adopt_all(db: Database, sealer: Sealer) -> None:
    load_digest_key(db, sealer)
    sealer.number_bodies(int(db.one(_PEOPLE["last_body"])))
    numbers, sessions = Numbers(), db.rows(_SQL["sessions"])
    _reseal_open_answers(db, sealer)
    for done, (lane, epoch) in enumerate(sessions, start=1):
        _adopt(db, sealer, numbers, lane=lane, epoch=epoch)
        if done % _TOLD_EVERY == 0:
            _log.info("moving_transcripts", done=done, of=len(sessions))
    db.execute(_SQL["drop_transcript"])
    if sessions:
        _log.info("moved_transcripts", conversations=len(sessions))


def _reseal_open_answers(db: Database, sealer: Sealer) -> None:
    """Convert the answers of unfinished turns into the new form."""
    for body, owner, sealed in db.rows(_SQL["open_answers"]):
        content = _open(db, sealer, owner, sealed=sealed, body=body)
        if content is not None:
            _reseal(db, sealer, body, owner=owner, content=_encode(_decode(content)))


def _reseal(db: Database, sealer: Sealer, body: int, *, owner: str, content: bytes) -> None:
    sealed = drive(sealer.seal(SqliteTx(db), owner, content, place=blob_place(body)))
    db.execute(_SQL["reseal"], (body, sealed))


def _adopt(db: Database, sealer: Sealer, numbers: Numbers, *, lane: str, epoch: int) -> None:
    hasher, name = sealer.hasher(), graph_name(lane, epoch)
    storage = SqlGraphStorage(db, name, sealer=sealer)
    writer = GraphWriter(SqliteTx(db), name, sealer=sealer, numbers=numbers)
    graph = drive(writer.number())
    tip = no_tip(name, "main", ObjectReader(storage, hasher))
    rows = db.rows(_SQL["entries"], (lane, epoch))
    for (message_id, person_id, at), entries in groupby(rows, key=lambda row: row[:3]):
        blobs = list(_name_bodies(db, sealer, entries, graph=graph))
        growth = grow(tip, blobs, views=(), actor=person_id, reason=message_id, at=at)
        drive(writer.put(growth.batch))
        tip = growth.kept()


def _name_bodies(
    db: Database, sealer: Sealer, rows: Iterable[tuple[object, ...]], *, graph: int
) -> Iterable[Blob]:
    hasher = sealer.hasher()
    for row in rows:
        body, owner, sealed = row[3:6]
        assert isinstance(body, int)
        assert isinstance(owner, str)
        assert isinstance(sealed, bytes)
        content = _open(db, sealer, owner, sealed=sealed, body=body)
        if content is None:
            # It keeps its position, under its own name.
            name = os.urandom(KEYED_SIZE)
        else:
            # Answers had one field too many; steps and deliveries still use the same body.
            data = _encode(_decode(content))
            name = hasher.blob(data)
            if data != content:
                _reseal(db, sealer, body, owner=owner, content=data)
        db.execute(_PEOPLE["name_body"], (body, graph, name))
        if not db.changes():
            # A second copy: if its message is already purged, nothing else would purge it.
            db.execute(_SQL["drop_forgotten"], (body, row[0]))
        yield Blob(name, None, True)


def _open(db: Database, sealer: Sealer, owner: str, *, sealed: bytes, body: int) -> bytes | None:
    """Return what was said; None if the person was erased or the row is damaged."""
    try:
        return sealer.open_at_once(db, owner, sealed, place=blob_place(body))
    except StoreError as error:
        _log.error("message_does_not_open", problem=str(error))
        return None
