"""Compaction: a summary replaces messages and can be expanded again.

Cuts are made only between complete groups of tool calls and their results. Nothing is lost: the
edit names the context and the range that the summary replaces.
"""

from hermes.errors import BadRequest
from hermes.graph.blob import Blob, Message
from hermes.graph.context import plain
from hermes.graph.history import History
from hermes.graph.marks import expand
from hermes.graph.records import Call, Summary
from hermes.graph.sequence import Sequence
from hermes.graph.tool_groups import cuts_of
from hermes.graph.version import Version


def squish(history: History, start: int, stop: int, *, summary: Blob, call: Call | None) -> Version:
    """Replace the messages from `start` to `stop` by `summary`."""
    if not 0 <= start < stop <= len(history.sequence):
        raise BadRequest(
            f"A summary replaces at least one of the {len(history.sequence)} messages; the range "
            f"{start} to {stop} holds none. Pass start < stop within the conversation."
        )
    _check_cuts(history.sequence, start, stop)
    if any(blob.id == summary.id for blob in history.sequence.blobs(start, stop)):
        raise BadRequest(
            f"The summary of messages {start} to {stop} reads exactly like one of them. Write one "
            "that differs, or delete the others."
        )
    told = Summary(summary.id, history.sequence.root, start, stop, call.id if call else None)
    made = history.change(start, stop, (summary,), kind="squish", summary=told)
    assert made is not None, "a summary differs from what it replaces"
    return made


def summary_at(history: History, index: int) -> tuple[Summary, Version] | None:
    """Return what the summary at `index` replaces, and the version that put it there."""
    blob = history.sequence.blob(index)
    for version in reversed(history.versions):
        told = version.edit.summary
        if told is not None and told.blob == blob.id and version.kind == "squish":
            return told, version
    return None


def summaries(history: History) -> dict[int, Summary]:
    """Return what the summaries among the messages replace, by index."""
    made = [version.edit.summary for version in history.versions if version.kind == "squish"]
    told = {summary.blob: summary for summary in made if summary is not None}
    found = enumerate(history.sequence.blobs()) if told else ()
    return {index: told[blob.id] for index, blob in found if blob.id in told}


def originals(history: History, index: int) -> list[Message]:
    """Return the messages that the summary at `index` replaces."""
    told, _ = _required(history, index)
    return [blob.message() for blob in history.find(told.source).blobs(told.start, told.stop)]


def expand_summary(history: History, index: int) -> Version:
    """Restore the messages that the summary at `index` replaces."""
    told, version = _required(history, index)
    blobs = list(history.find(told.source).blobs(told.start, told.stop))
    marked = expand(version.edit.was) or bytes(len(blobs))
    made = history.change(index, index + 1, blobs, kind="expand", marked=marked, summary=told)
    assert made is not None, "a summary differs from what it replaces"
    return made


def _check_cuts(sequence: Sequence, *wanted: int) -> None:
    cuts = cuts_of(plain(sequence))
    for cut in wanted:
        if cut not in cuts:
            below = max(one for one in cuts if one < cut)
            above = [str(one) for one in cuts if one > cut][:1]
            raise BadRequest(
                f"A cut before message {cut} would separate a tool call from its result. Cut "
                f"before {' or '.join([str(below), *above])}."
            )


def _required(history: History, index: int) -> tuple[Summary, Version]:
    found = summary_at(history, index)
    if found is None:
        raise BadRequest(
            f"Message {index} is not a summary made by squish(). summaries() lists the summaries."
        )
    return found
