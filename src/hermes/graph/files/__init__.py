"""Files of message graphs: `graph.save("talk.db")` and `MessageGraph.open("talk.db")`."""

from hermes.graph.files.file_storage import FileStorage
from hermes.graph.files.file_upkeep import FreedSpace

__all__ = ["FileStorage", "FreedSpace"]
