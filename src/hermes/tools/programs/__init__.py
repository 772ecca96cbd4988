"""Programs that answer the messages of agents: Claude Code, Codex, or one that a file describes.

`adapter.py` runs them in the sandbox of the terminal; how one is spoken with is a dialect, pure.
"""
