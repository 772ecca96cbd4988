"""Checks that every channel is whole: its files, its manifest, its page, its stand-in, its proof.

Part of `make check`. What a manifest's [quality] list says was verified must be the word of a marker,
`@pytest.mark.quality("...")`, on a test of the conformance suite, or on one of the channel's own tests
(files named test_NAME...). Everything is read as text, but the manifest, which is loaded.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FAMILIES = ("channels", "contrib")
# Doors of the gateway's own server: always open, proven by tests of the server.
OWN_DOORS = frozenset({"rest", "web"})
ONLY = "manifest.toml"
SHAPE = (
    "__init__.py",
    "channel.py",
    "inbound.py",
    "outbound.py",
    "format.py",
    "client.py",
)
# A platform that is described and tested together with another one, and that one.
TOLD_WITH = {"messenger": "instagram"}
# What a channel may do without, and why.
EXCUSED = {
    ("discord", "format.py"): "its Markdown is rows of the manifest",
    ("qq", "format.py"): "its Markdown is rows of the manifest",
    ("webhook", "format.py"): "machines read Markdown as it is written",
    ("webhook", "client.py"): "it makes one call, through the one client",
    ("meta", "format.py"): "the rows of its manifests write its formats",
    ("sms", "format.py"): "plain text has no formats",
}


class Channel(NamedTuple):
    """One channel: its name, its folder and its package, and its manifest there."""

    name: str
    folder: Path
    package: str
    manifest: str = ONLY


def channels(root: Path) -> list[Channel]:
    """Return every channel that can be switched on; a folder may offer several."""
    found = [
        Channel(name, folder, f"hermes.{family}.{folder.name}", manifest)
        for family in FAMILIES
        for folder in sorted((root / "src" / "hermes" / family).glob("*"))
        if (folder / "channel.py").is_file() or (folder / ONLY).is_file()
        for name, manifest in _manifests_of(folder)
    ]
    return [one for one in found if one.name not in OWN_DOORS]


def _manifests_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the platforms of a folder, each with the file of its manifest."""
    several = sorted(folder.glob("*.toml"))
    if (folder / ONLY).is_file() or not several:
        yield folder.name, ONLY
    else:
        yield from ((file.stem, file.name) for file in several)


def words_in(files: Iterable[Path]) -> frozenset[str]:
    """Return the words of all markers `@pytest.mark.quality` in test files."""
    return frozenset(word for file in files for word in _words(file))


def _words(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.quality":
                yield from (str(ast.literal_eval(word)) for word in mark.args)


def cases(root: Path) -> frozenset[str]:
    """Return the platforms over which the conformance suite runs."""
    text = (root / "tests" / "contract" / "channels" / "cases.py").read_text(encoding="utf-8")
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return frozenset(
        str(ast.literal_eval(call.args[1]))
        for call in calls
        if ast.unparse(call.func) == "Case" and len(call.args) > 1
    )


def problems(root: Path, verified: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield what is missing; `verified` is what each manifest says was verified."""
    conformance = words_in((root / "tests" / "contract" / "channels").glob("test_*.py"))
    over = cases(root)
    for channel in channels(root):
        name = channel.name
        yield from _missing_parts(root, channel)
        if name not in over:
            yield f"{name}: no Case in tests/contract/channels/cases.py; add one"
        own = (f"test_{one}*.py" for one in {name, TOLD_WITH.get(name, name)})
        proven = conformance.union(*(words_in((root / "tests").rglob(files)) for files in own))
        for word in verified.get(name, ()):
            if word not in proven:
                yield (
                    f"{name}: [quality] says {word!r}, which no test proves; mark the one that "
                    f'does with @pytest.mark.quality("{word}"), or remove the word'
                )


def _missing_parts(root: Path, channel: Channel) -> Iterator[str]:
    name, folder = channel.name, channel.folder.name
    for file in (channel.manifest, *SHAPE):
        if not (channel.folder / file).is_file() and (folder, file) not in EXCUSED:
            yield f"{name}: {channel.folder.relative_to(root)}/{file} is missing; every channel has one"
    page = TOLD_WITH.get(name, name)
    if not (root / "docs" / "channels" / f"{page}.md").is_file():
        yield f"{name}: docs/channels/{page}.md is missing; write how it is set up"
    stand_in = Path("src") / "hermes" / "testing" / folder / "__main__.py"
    if not (root / stand_in).is_file():
        yield f"{name}: {stand_in} is missing; every channel has a stand-in that runs by itself"


def manifests(root: Path) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return what every manifest says was verified, and what is wrong with those that do not load."""
    sys.path.insert(0, str(root / "src"))
    from hermes.errors import HermesError  # noqa: PLC0415
    from hermes.plugins.manifest import load_manifest  # noqa: PLC0415

    said: dict[str, tuple[str, ...]] = {}
    wrong: list[str] = []
    for channel in channels(root):
        try:
            manifest = load_manifest(channel.package, channel.manifest)
        except (HermesError, ModuleNotFoundError) as error:
            wrong.append(f"{channel.name}: the manifest does not load: {error}")
            continue
        said[channel.name] = manifest.quality.verified
        if manifest.name != channel.name:
            wrong.append(f"{channel.name}: the manifest calls it {manifest.name!r}; use one name")
        if not manifest.setup.steps:
            wrong.append(f"{channel.name}: the manifest has no setup steps; write what to do")
    return said, wrong


def main() -> int:
    """Print what is missing; returns how the process ends."""
    said, wrong = manifests(ROOT)
    found = [*wrong, *problems(ROOT, said)]
    for line in found:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"quality gate: {len(channels(ROOT))} channels, {len(found)} breaches\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
