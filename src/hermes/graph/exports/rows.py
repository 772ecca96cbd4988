"""Exports: graphs in, rows of training data out, one at a time.

Pure: the caller decides what may be used for training, and a graph that may not be is never read.
Rows are dicts; see jsonl.py for files.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import sha256
from itertools import groupby

import msgspec
from msgspec.structs import replace

from hermes.errors import BadRequest
from hermes.graph.exports.certificate import certified
from hermes.graph.exports.kept_calls import calls_of
from hermes.graph.exports.pairs import pair_rows
from hermes.graph.exports.rated_answers import labelled_rows
from hermes.graph.exports.report import Report, UnfitRow
from hermes.graph.exports.sequences import sequence_rows
from hermes.graph.exports.shapes import ExportShape, FormatName, shape_of
from hermes.graph.exports.sheet import Row, TrainingSheet
from hermes.graph.exports.tokens import Tokenizer
from hermes.graph.message_graph import MessageGraph

SHORTEST_SALT = 16
_NAME_DIGITS = 12


def _has_none(_text: str) -> bool:
    return False


def export_rows(
    graphs: Iterable[MessageGraph],
    format_name: FormatName,
    *,
    may_train: Callable[[str], bool],
    salt: bytes,
    report: Report,
    tokenizer: Tokenizer | None = None,
    template: str | None = None,
    has_secret: Callable[[str], bool] = _has_none,
) -> Iterator[Row]:
    """Iterate over the rows of `graphs` and count them in `report`.

    `may_train` is called with the name of each graph; a graph that may not be used is not read.
    Branches of one graph must be consecutive. `salt` hides the names. `template` is the chat
    template of the models, if known; a tokenizer has its own. A row whose messages `has_secret` finds
    one in is refused: it could not be masked and still be what the model saw.
    """
    shape = shape_of(format_name, tokenizer)
    if format_name == "tokens" and tokenizer is None:
        raise BadRequest("The format tokens needs a tokenizer, and none was given. Pass one.")
    if len(salt) < SHORTEST_SALT:
        raise BadRequest(
            f"The salt of an export has at least {SHORTEST_SALT} bytes, this one has {len(salt)}. "
            "Make one with os.urandom(16), and keep it if later exports should have the same ids."
        )
    template = tokenizer.template if format_name == "tokens" and tokenizer else template
    write = partial(_write, name=format_name, shape=shape, has_secret=has_secret)
    blank = TrainingSheet(graph="", model="", messages=(), seen=0, trained=(), template=template)
    if format_name == "trl-preference":
        make = partial(pair_rows, write=write, report=report)
    elif format_name == "trl-kto":
        make = partial(labelled_rows, write=write, report=report)
    else:
        merge = format_name != "trl-prompt-completion"
        make = partial(sequence_rows, merge=merge, write=write, report=report)
    return _rows(graphs, blank, make=make, may_train=may_train, salt=salt, report=report)


def _write(
    sheet: TrainingSheet, name: str, shape: ExportShape, *, has_secret: Callable[[str], bool]
) -> Row:
    for message in sheet.messages:
        if has_secret(msgspec.json.encode(message).decode()):
            raise UnfitRow("secret", "One of its messages contains a secret of this gateway.")
    return certified(sheet, name, shape)


def hashed_name(name: str, salt: bytes) -> str:
    """Return the name of a graph in a row: 12 hex digits that only the salt can link back."""
    return sha256(salt + b"\x00" + name.encode()).hexdigest()[:_NAME_DIGITS]


def _rows(
    graphs: Iterable[MessageGraph],
    blank: TrainingSheet,
    *,
    make: Callable[[list[MessageGraph], TrainingSheet], Iterator[Row]],
    may_train: Callable[[str], bool],
    salt: bytes,
    report: Report,
) -> Iterator[Row]:
    told: set[str] = set()
    for name, together in groupby(graphs, key=lambda graph: graph.name):
        if name in told:
            raise BadRequest(
                f"Branches of graph {name!r} were not passed consecutively, so the messages they "
                "share would be trained twice. Pass them one after another."
            )
        told.add(name)
        branches = list(together)
        report.graphs += 1
        if not may_train(name):
            for call in calls_of(branches):
                report.refuse(call.id, UnfitRow("no_consent", "This graph may not be trained on."))
            continue
        before = report.rows
        yield from make(branches, replace(blank, graph=hashed_name(name, salt)))
        report.with_rows += report.rows > before
