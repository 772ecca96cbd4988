"""The parts of Hermes whose tests a mutation run judges, and the tests that it may run."""

from collections.abc import Iterator
from pathlib import Path

from tests.mutants import operators, sql_guards
from tests.mutants.faults import Fault
from tests.mutants.sql_check import runnable

ROOT = Path(__file__).parents[2]
AREAS: dict[str, tuple[str, ...]] = {
    "inbox": ("inbox/*.py", "store/sql/queries/inbox.sql"),
    "pipeline": ("pipeline/**/*.py", "store/sql/queries/turns.sql"),
    "store": (
        "store/sql/*.py",
        "store/sqlite/*.py",
        "store/sql/queries/*.sql",
    ),
    "outbox": ("outbox/*.py", "store/sql/queries/outbox.sql", "store/sql/queries/sends.sql"),
    "calls": ("calls/*.py", "store/sql/queries/spend.sql"),
    "people": (
        "people/*.py",
        "store/sql/queries/people.sql",
        "store/sql/queries/pairing.sql",
        "store/sql/queries/wallet.sql",
    ),
    "tools": ("tools/*.py", "tools/builtin/*.py", "store/sql/queries/approvals.sql"),
    "net": ("net/*.py", "http/*.py", "media/*.py"),
    "signatures": (
        "channel_kit/proof.py",
        "channel_kit/handshakes.py",
        "channel_kit/webhook_door.py",
        "channels/webhook/inbound.py",
        "channels/slack/receiver.py",
        "channels/telegram/inbound.py",
        "channels/email/authenticity.py",
        "channels/web/signin.py",
    ),
    "graph": ("graph/*.py", "store/sql/queries/graph.sql"),
    "auth": (
        "server/auth.py",
        "server/webhooks.py",
        "server/writes.py",
        "store/sql/queries/access.sql",
    ),
}
# The tests of the tools that build Hermes and of its command line, which are programs, are not among them.
_UNIT = (
    "agents app calls channel_kit channels control graph http inbox memory message net ops outbox people "
    "pipeline plugins ports providers routing schedule schema server sessions store tools"
)
TESTS = ("tests/contract", *(f"tests/unit/{folder}" for folder in _UNIT.split()))


def all_faults(only: str = "") -> Iterator[Fault]:
    """Yield every fault of every area, or of one; a file belongs to the first area that names it."""
    owner: dict[Path, str] = {}
    for area in sorted(AREAS, key=lambda name: name == "store"):
        for pattern in AREAS[area]:
            for path in sorted((ROOT / "src/hermes").glob(pattern)):
                owner.setdefault(path, area)
    for path, area in owner.items():
        if only in ("", area):
            yield from file_faults(path, area=area)


def file_faults(path: Path, *, area: str) -> Iterator[Fault]:
    """Yield the faults of one file."""
    source = path.read_text(encoding="utf-8")
    name = str(path.relative_to(ROOT))
    if path.suffix == ".sql":
        yield from runnable(sql_guards.faults_of(source, area=area, path=name), source)
    else:
        yield from operators.faults_of(source, area=area, path=name)
