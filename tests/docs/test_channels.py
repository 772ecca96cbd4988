"""The table of channels says what the manifests say, and every channel has a page."""

import pytest

from hermes.plugins.manifest import Manifest, load_manifest, manifests_in
from tests.docs.markdown import ROOT

PAGE = ROOT / "docs" / "channels" / "index.md"
PACKAGES = ("hermes.channels", "hermes.contrib")
# Doors of the gateway's own server, with pages of their own.
OWN = frozenset({"rest", "web"})
HEAD = """\
| channel | can | attachments | longest message | a lost answer | strangers |
| --- | --- | --- | --- | --- | --- |"""
UNITS = {"chars": "characters", "utf16": "UTF-16 units", "bytes": "bytes"}


def manifests() -> list[Manifest]:
    """Return the manifest of every channel that comes with Hermes and is switched on."""
    found = {name: file for package in PACKAGES for name, file in manifests_in(package).items()}
    loaded = (
        load_manifest(one.package, one.file) for name, one in found.items() if name not in OWN
    )
    return sorted(loaded, key=lambda one: one.name)


def row_of(manifest: Manifest) -> str:
    """Return the row of a channel."""
    able = manifest.capabilities
    flags = ("edit", "draft", "delete", "typing", "threads")
    can = ", ".join(name for name in flags if getattr(able, name)) or "text"
    lost = "marked as a possible repeat"
    if able.key_window_s > 0:
        lost = "sent again, with its key"
    elif able.history:
        lost = "looked up"
    elif able.proof_s > 0:
        lost = "proven later, or marked as a possible repeat"
    elif able.in_doubt == "hold":
        lost = "held for the operator"
    cells = (
        f"[{manifest.label}]({manifest.name}.md)",
        can,
        ", ".join(able.media) or "none",
        f"{able.max_chars:,} {UNITS[able.unit]}",
        lost,
        able.strangers,
    )
    return f"| {' | '.join(cells)} |"


@pytest.mark.req("W10")
def test_the_table_is_what_the_manifests_say() -> None:
    rows = "\n".join((HEAD, *map(row_of, manifests())))
    assert rows in PAGE.read_text(encoding="utf-8"), f"docs/channels/index.md needs:\n{rows}"


@pytest.mark.req("W9")
def test_every_channel_has_a_page_and_the_index_of_the_docs_links_it() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    names = [one.name for one in manifests()]
    assert [name for name in names if not (PAGE.parent / f"{name}.md").is_file()] == []
    assert [name for name in names if f"(channels/{name}.md)" not in index] == []
