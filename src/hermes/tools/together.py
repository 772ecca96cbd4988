"""Combines several tables of tools into one; each may change while it is used."""

from collections.abc import Iterator, Mapping

from hermes.ports.tool import Tool


class ToolsTogether(Mapping[str, Tool]):
    """The tools of all tables; of two with the same name the first table's wins."""

    def __init__(self, *tables: Mapping[str, Tool]) -> None:
        self._tables = tables

    @property
    def version(self) -> tuple[int, ...]:
        """A value that changes whenever a table does."""
        return tuple(
            len(table) if type(table) is dict else getattr(table, "version", 0)
            for table in self._tables
        )

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
