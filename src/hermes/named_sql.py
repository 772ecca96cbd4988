"""Named SQL: each `.sql` file holds queries as `-- name: x`, a sentence, and one statement."""

from functools import cache
from importlib import resources


@cache
def load_queries(topic: str, *, package: str) -> dict[str, str]:
    """Return the queries of one file of a package, by name."""
    text = resources.files(package).joinpath(f"{topic}.sql").read_text(encoding="utf-8")
    queries: dict[str, str] = {}
    for block in text.split("-- name: ")[1:]:
        name, _, rest = block.partition("\n")
        lines = [line for line in rest.splitlines() if not line.startswith("--")]
        queries[name.strip()] = "\n".join(lines).strip()
    return queries
