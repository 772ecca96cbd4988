"""The weights' file of a built-in embedder as arrays that the operating system reads on demand.

A safetensors file is a length, a JSON table of names, types and positions, and the numbers.
Memory-mapping keeps the vocabulary, half of the file, out of memory, except for the words that
occur.
"""

import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hermes.errors import ProviderUnavailable
from hermes.ports.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

_LENGTH_BYTES = 8
_LARGEST_TABLE = 16_777_216
# The kinds of numbers that are read, and their names in numpy.
_TYPES = {"F32": "<f4", "F16": "<f2"}


class _Place(msgspec.Struct):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class Weights:
    """A mapped file of weights."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self._mapped = mapped
        self.arrays: Mapping[str, Array] = _arrays(mapped)

    @classmethod
    def open(cls, path: Path, *, package: str) -> "Weights":
        """Map a safetensors file of a package; raise if it is not one."""
        try:
            with path.open("rb") as file:
                return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            raise ProviderUnavailable(
                f"{path.name} cannot be read as weights ({error}): install {package} again"
            ) from error

    def release(self) -> None:
        """Let the operating system drop the pages read so far; they are read again on use."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


def _arrays(mapped: mmap.mmap) -> Mapping[str, "Array"]:
    length = int.from_bytes(mapped[:_LENGTH_BYTES], "little")
    if length > min(len(mapped), _LARGEST_TABLE):
        raise ValueError(f"its header claims a table of {length} bytes")
    start = _LENGTH_BYTES + length
    table = msgspec.json.decode(mapped[_LENGTH_BYTES:start], type=dict[str, msgspec.Raw])
    table.pop("__metadata__", None)
    places = {name: msgspec.json.decode(raw, type=_Place) for name, raw in table.items()}
    return {
        name: _array(mapped, place, start=start)
        for name, place in places.items()
        if place.dtype in _TYPES
    }


def _array(mapped: mmap.mmap, place: _Place, *, start: int) -> "Array":
    begin, end = place.data_offsets
    kind = np.dtype(_TYPES[place.dtype])
    count = (end - begin) // kind.itemsize
    return np.frombuffer(mapped, kind, count=count, offset=start + begin).reshape(place.shape)
