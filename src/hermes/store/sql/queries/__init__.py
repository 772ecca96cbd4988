"""The queries of the store: one `.sql` file for each topic."""

from hermes.named_sql import load_queries


def load(topic: str, *, package: str = __name__) -> dict[str, str]:
    """Return the queries of one topic by name."""
    return load_queries(topic, package=package)
