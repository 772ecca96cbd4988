"""A package index for a page that installs packages: wheels made of what is installed here.

`pip` is a real one and installs as on the page; it only looks for packages in this folder.
"""

import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

PIP = "/bin/pip install "
PACKAGE = "mcp"


def wheels_of(folder: Path) -> Mapping[str, str]:
    """Write a wheel for the package and each that it needs; return pip's variables."""
    wheels = folder / "wheels"
    wheels.mkdir()
    for found in _with_needs(PACKAGE, {}).values():
        _write_wheel(found, wheels)
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_NO_CACHE_DIR": "1"}


def _with_needs(name: str, known: dict[str, Distribution]) -> dict[str, Distribution]:
    if name not in known:
        known[name] = distribution(name)
        for needed in map(Requirement, known[name].requires or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                for extra in ("", *needed.extras):
                    _with_needs(needed.name, known)
                    _with_extra(needed.name, extra, known)
    return known


def _with_extra(name: str, extra: str, known: dict[str, Distribution]) -> None:
    for needed in map(Requirement, known[name].requires or ()):
        if extra and needed.marker is not None and needed.marker.evaluate({"extra": extra}):
            _with_needs(needed.name, known)


def _write_wheel(found: Distribution, wheels: Path) -> None:
    tag = next(
        line[5:] for line in (found.read_text("WHEEL") or "").splitlines() if "Tag: " in line
    )
    name = found.metadata["Name"].replace("-", "_")
    with zipfile.ZipFile(wheels / f"{name}-{found.version}-{tag}.whl", "w") as wheel:
        for path, file in _contents(found):
            wheel.write(file, path)


def _contents(found: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield what a wheel holds; scripts and compiled files are made again when it is installed."""
    for path in found.files or ():
        if ".." not in path.parts and path.suffix != ".pyc":
            yield str(path), Path(str(path.locate()))
