"""Which of a person's vectors point most nearly in the direction of another. Pure."""

from collections.abc import Sequence

from hermes.ports.arrays import np
from hermes.ports.memory import FactVector

# Less alike than this has nothing to do with each other.
_LEAST = 0.15


def nearest(vectors: Sequence[FactVector], *, query: Sequence[float], limit: int) -> Sequence[str]:
    """Return the ids of the facts nearest to `query` by cosine, the nearest first."""
    if not vectors:
        return ()
    wanted = np.asarray(query, dtype=np.float32)
    rows = [one for one in vectors if len(one.data) == wanted.nbytes]
    table = np.frombuffer(b"".join(one.data for one in rows), dtype=np.float32)
    table = table.reshape(len(rows), len(wanted))
    lengths = np.linalg.norm(table, axis=1) * np.linalg.norm(wanted)
    scores = (table @ wanted) / np.maximum(lengths, 1e-12)
    best = np.argsort(-scores, kind="stable")[:limit]
    return [rows[int(place)].fact_id for place in best if scores[place] >= _LEAST]
