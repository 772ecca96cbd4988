"""Combines several tables of tools into one; each may change while it is used."""

from collections.abc import Iterator, Mapping

from hermes.ports.tool import Tool


class ToolsTogether(Mapping[str, Tool]):
    """The tools of all tables; of two with the same name the first table's wins."""

    def __init__(self, *tables: Mapping[str, Tool]) -> None:
        # The tables of a table of this class stay the same: it is as good as its tables.
        self._tables: tuple[Mapping[str, Tool], ...] = tuple(
            one
            for table in tables
            for one in (table._tables if isinstance(table, ToolsTogether) else (table,))
        )

    @property
    def version(self) -> tuple[int, ...]:
        """A value that changes whenever a table does."""
        # A list, not a generator: every turn asks several times.
        versions = [
            len(table) if type(table) is dict else getattr(table, "version", 0)
            for table in self._tables
        ]
        return tuple(versions)

    def __getitem__(self, name: str) -> Tool:
        for table in self._tables:
            tool = table.get(name)
            if tool is not None:
                return tool
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for table in self._tables for name in table))

    def __len__(self) -> int:
        return sum(1 for _ in self)
