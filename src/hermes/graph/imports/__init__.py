"""Conversations of other programs as message graphs: JSON lines, ShareGPT, exports of ChatGPT.

Files are hostile input: their size, their lines and their nesting are bounded, and what cannot be
read is named by file and line.
"""

from hermes.graph.imports.chatgpt_export import read_chatgpt
from hermes.graph.imports.rows import read_jsonl, read_sharegpt

__all__ = ["read_chatgpt", "read_jsonl", "read_sharegpt"]
