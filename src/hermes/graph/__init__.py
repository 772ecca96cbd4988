"""The message graph: conversations that read and edit like lists and keep every version.

Pure: no I/O of its own. A store implements `GraphStorage`; exporters and senders read `Context` and
`Call`. It knows messages as dicts and nothing about platforms, models or turns.
"""

from hermes.graph.blob import MAX_MESSAGE_BYTES, Message, canonical
from hermes.graph.context import Context
from hermes.graph.diff import Change
from hermes.graph.hasher import PLAIN, Hasher, keyed_hasher, plain_hasher
from hermes.graph.message_graph import MessageGraph
from hermes.graph.records import Call, Edge, Edit, Link, Move, Origin, Ref, Summary
from hermes.graph.roots import context_root, message_id
from hermes.graph.storage import Batch, GraphStorage, MemoryStorage, ObjectStorage
from hermes.graph.tree_check import Problem
from hermes.graph.verify import VerifyReport
from hermes.graph.version import Version

__all__ = [
    "MAX_MESSAGE_BYTES",
    "PLAIN",
    "Batch",
    "Call",
    "Change",
    "Context",
    "Edge",
    "Edit",
    "GraphStorage",
    "Hasher",
    "Link",
    "MemoryStorage",
    "Message",
    "MessageGraph",
    "Move",
    "ObjectStorage",
    "Origin",
    "Problem",
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
