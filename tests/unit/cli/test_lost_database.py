"""A key file says that a database was made here: without that database nothing starts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.sqlite_only

SAY = ("chat", "--message", "hello")
# Opens the store of a home, and ends at a failpoint as a power switch would.
CUT_OFF = """
import asyncio, sys
from pathlib import Path
from hermes import failpoints
from hermes.app.store_files import open_store
from hermes.config import ensure_home, load
from hermes.message.ids import make_id
from hermes.ports.clock import SystemClock
home = ensure_home(Path(sys.argv[1]))
failpoints.arm(sys.argv[2], failpoints.die)
async def start():
    open_store(home, load({}, home).settings, clock=SystemClock(), make_id=make_id)
asyncio.run(start())
"""


def contents(home: Path) -> dict[str, bytes]:
    """Return the database and its keys, byte by byte; SQLite's own index of the log is left out."""
    files = [*home.glob("hermes.db*"), *home.glob("keys/*")]
    return {path.name: path.read_bytes() for path in files if not path.name.endswith("-shm")}


@pytest.fixture(params=["missing", "empty", "copied without its log"])
def lost(request, home, hermes, model) -> Path:
    """A home in which something was said, and whose database is gone since."""
    assert hermes(*SAY, **model).returncode == 0
    database = home / "hermes.db"
    match request.param:
        case "missing":
            database.unlink()
        case "empty":
            database.write_bytes(b"")
        case _:
            young = database.with_name("young.db")
            make = "import apsw, sys; apsw.Connection(sys.argv[1]).pragma('journal_mode', 'wal')"
            subprocess.run([sys.executable, "-c", make, str(young)], check=True)
            young.rename(database)
    for beside in home.glob("hermes.db-*"):
        beside.unlink()
    return home


@pytest.mark.req("W1", "J24")
def test_a_lost_database_is_neither_replaced_nor_passed_over(lost, hermes, model):
    before = contents(lost)

    done = hermes("up", HERMES_SERVER__PORT="0", **model)

    assert done.returncode not in (0, 75)
    assert str(lost / "hermes.db") in done.stderr
    assert "hermes restore" in done.stderr
    assert "Traceback" not in done.stderr
    assert contents(lost).items() >= before.items()


@pytest.mark.req("W7")
@pytest.mark.parametrize("command", [("users", "list"), ("token", "list"), ("graph", "list")])
def test_commands_do_not_take_it_for_an_empty_home(command, home, hermes, model):
    assert hermes(*SAY, **model).returncode == 0
    (home / "hermes.db").unlink()

    done = hermes(*command)

    assert done.returncode == 1
    assert "hermes.db is missing" in done.stderr


@pytest.mark.req("W7")
def test_what_is_left_of_the_lost_one_has_to_go_before_a_backup_comes(lost, hermes, model):
    (lost / "hermes.db").unlink(missing_ok=True)
    (lost / "hermes.db-wal").write_bytes(b"of the lost one")

    done = hermes("up", HERMES_SERVER__PORT="0", **model)

    assert "First move hermes.db-wal out of" in done.stderr


@pytest.mark.req("W7")
def test_who_wants_an_empty_home_moves_away_what_is_named(home, hermes, model):
    assert hermes(*SAY, **model).returncode == 0
    files = [home / "keys" / "store.keys", home / "hermes.db"]
    files[1].write_bytes(b"")

    refused = hermes("up", HERMES_SERVER__PORT="0", **model)
    for named in files:
        named.unlink()

    assert f"move {files[0]} and {files[1]} away" in refused.stderr
    assert hermes(*SAY, **model).returncode == 0


@pytest.mark.req("W7")
def test_the_doctor_says_what_to_do_about_it(lost, hermes):
    done = hermes("doctor", "--json", HERMES_SERVER__PORT="0")

    checks = json.loads(done.stdout)["checks"]
    (failed,) = [one for one in checks if one["name"] == "database"]
    assert done.returncode == 1
    assert (failed["status"], "hermes restore" in failed["fix"]) == ("fail", True)


@pytest.mark.req("W1", "J24")
@pytest.mark.parametrize("failpoint", ["store.open.before", "store.open.after"])
def test_a_first_start_that_was_cut_off_is_simply_done_again(failpoint, home, hermes, model):
    cut_off = subprocess.run(
        [sys.executable, "-c", CUT_OFF, str(home), failpoint], check=False, capture_output=True
    )

    checks = json.loads(hermes("doctor", "--json", HERMES_SERVER__PORT="0").stdout)["checks"]
    done = hermes(*SAY, **model)

    assert cut_off.returncode == -9, cut_off.stderr
    assert [one["status"] for one in checks if one["name"] in ("database", "key file")] == ["ok"]
    assert (done.returncode, "hello" in done.stdout) == (0, True)
    assert [path.name for path in (home / "keys").iterdir()] == ["store.keys"]


@pytest.mark.req("W7")
def test_moving_away_what_is_named_makes_room_for_an_empty_home(home, hermes, model):
    assert hermes(*SAY, **model).returncode == 0
    (home / "hermes.db").write_bytes(b"")
    for beside in home.glob("hermes.db-*"):
        beside.unlink()

    advice = hermes("users", "list").stderr.partition("empty home instead, move ")[2]
    for name in advice.partition(" away")[0].split(" and "):
        Path(name).rename(f"{name}.old")

    done = hermes(*SAY, **model)
    assert done.returncode == 0, done.stderr
