"""The locks are complete, hash-checked for every platform, and name no place to fetch from."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).resolve().parents[3] / "requirements"
LOCKS = ["api-docs", "build", "dev", "matrix", "model", "recall", "runtime", "training"]
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)(?: ; [^\\]+)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")


def lines_of(lock: str) -> list[str]:
    return (REQUIREMENTS / f"{lock}.txt").read_text().splitlines()


def pins_of(lock: str) -> dict[str, str]:
    found = [PIN.match(line) for line in lines_of(lock)]
    return {match[1]: match[2] for match in found if match}


def wanted_by(lock: str) -> set[str]:
    lines = (REQUIREMENTS / f"{lock}.in").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith(("#", "-c"))]
    return {re.split(r"[\s;<>=!~\[]", line)[0].lower().replace("_", "-") for line in wanted}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_only_pins_and_hashes(lock: str) -> None:
    # Hosts, indexes, paths and options would all be other lines than these two.
    other = [line for line in lines_of(lock) if not PIN.match(line) and not HASH.match(line)]

    assert other == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_is_followed_by_a_hash(lock: str) -> None:
    lines = [*lines_of(lock), ""]
    bare = [line for line, after in pairwise(lines) if PIN.match(line) and not HASH.match(after)]

    assert bare == []


@pytest.mark.parametrize("lock", LOCKS)
def test_everything_asked_for_is_locked(lock: str) -> None:
    assert wanted_by(lock) - pins_of(lock).keys() == set()


@pytest.mark.parametrize(
    ("lock", "other"),
    [
        ("runtime", "dev"),
        ("runtime", "training"),
        ("dev", "training"),
        ("matrix", "dev"),
        ("recall", "training"),
    ],
)
def test_two_locks_agree_on_what_both_hold(lock: str, other: str) -> None:
    one, two = pins_of(lock), pins_of(other)
    shared = one.keys() & two.keys()

    assert {name: two[name] for name in shared} == {name: one[name] for name in shared}


def test_only_torch_is_left_out_of_the_training_lock() -> None:
    # Which build of it there is, and with which hash, depends on the machine.
    assert wanted_by("torch") == {"torch"}
    assert "torch" not in pins_of("training")


@pytest.mark.parametrize("package", ["aiohttp", "apsw-sqlite3mc", "cryptography", "msgspec"])
def test_compiled_packages_carry_the_hashes_of_all_platforms(package: str) -> None:
    text = (REQUIREMENTS / "runtime.txt").read_text()
    [entry] = re.findall(rf"^{package}==.*\n((?:    --hash.*\n)+)", text, flags=re.MULTILINE)

    assert entry.count("--hash") > 20
