"""All rows of one person in a store, for them to take along.

Read in pages beside a running gateway, so that neither the size of the store nor that of the export
stops anybody.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec

from hermes.ports.graph_reader import GraphReader
from hermes.ports.secrets import SecretReader


class PersonRow(msgspec.Struct, frozen=True):
    """One thing that is kept of a person: what kind, and its fields as plain JSON."""

    kind: str
    # Any: JSON of any shape.
    fields: dict[str, Any]


class PersonRowReader(Protocol):
    """Reads what is kept of a person beside the messages of their sessions."""

    def moment(self) -> AbstractContextManager[None]:
        """Return a block in which everything is read as it is when the block begins.

        Only for a reader that nobody else uses meanwhile.
        """
        ...

    def person_rows(self, person_id: str) -> Iterator[PersonRow]:
        """Yield everything, kind by kind; a body that cannot be opened is None."""
        ...

    def left_out(self) -> Mapping[str, str]:
        """Return what the store holds that is not among these rows, with the reasons."""
        ...


class HomeReader(GraphReader, PersonRowReader, SecretReader, Protocol):
    """The files of a home, read beside its gateway."""
