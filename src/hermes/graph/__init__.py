"""The message graph: conversations that read and edit like lists and keep every version.

Pure: no I/O of its own. A store implements `GraphStorage`; exporters and senders read `Context` and
`Call`. It knows messages as dicts and nothing about platforms, models or turns.
"""

from typing import TYPE_CHECKING

from hermes.graph.blob import MAX_MESSAGE_BYTES, Message, canonical
from hermes.graph.context import Context
from hermes.graph.hasher import PLAIN, Hasher, keyed_hasher, plain_hasher
from hermes.graph.message_graph import MessageGraph
from hermes.graph.open_call import OpenCall
from hermes.graph.records import (
    Call,
    Edge,
    Edit,
    Feedback,
    Link,
    Move,
    Origin,
    Rating,
    Ref,
    Summary,
)
from hermes.graph.roots import context_root, message_id
from hermes.graph.storage import Batch, GraphStorage, MemoryStorage, ObjectStorage
from hermes.graph.version import Version
from hermes.lazy import late_names

# The library is imported in no time: what few programs use is loaded when it is used.
if TYPE_CHECKING:
    from hermes.graph.diff import Change
    from hermes.graph.files import FileStorage
    from hermes.graph.tree_check import Problem
    from hermes.graph.verify import VerifyReport
else:
    __getattr__ = late_names(
        globals(),
        Change="hermes.graph.diff",
        FileStorage="hermes.graph.files",
        Problem="hermes.graph.tree_check",
        VerifyReport="hermes.graph.verify",
    )

__all__ = [
    "MAX_MESSAGE_BYTES",
    "PLAIN",
    "Batch",
    "Call",
    "Change",
    "Context",
    "Edge",
    "Edit",
    "Feedback",
    "FileStorage",
    "GraphStorage",
    "Hasher",
    "Link",
    "MemoryStorage",
    "Message",
    "MessageGraph",
    "Move",
    "ObjectStorage",
    "OpenCall",
    "Origin",
    "Problem",
    "Rating",
    "Ref",
    "Summary",
    "VerifyReport",
    "Version",
    "canonical",
    "context_root",
    "keyed_hasher",
    "message_id",
    "plain_hasher",
]
