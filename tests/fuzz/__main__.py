"""`make fuzz`: bytes that look for new paths through every reader, for some seconds each.

It needs atheris, which has an environment of its own. A reader that raises anything but a refusal ends
the run; the bytes are then in the folder that the last lines name.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from tests.fuzz.seeds import SEEDS

_LONGEST = 4096


def fuzz(name: str, *, seconds: int, folder: Path) -> int:
    """Fuzz one reader in a process of its own; returns its exit code."""
    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]):
        (corpus / f"seed-{number}").write_bytes(seed)
    command = [
        *(sys.executable, "-m", "tests.fuzz.one", name, str(corpus)),
        *(
            f"-max_total_time={seconds}",
            f"-max_len={_LONGEST}",
            "-timeout=10",
            "-rss_limit_mb=2048",
        ),
        f"-artifact_prefix={folder}/{name}-",
    ]
    return subprocess.run(command, check=False).returncode


def main() -> int:
    """Fuzz every reader, or those that are named."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="READER", help=f"of {', '.join(SEEDS)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each of them")
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz"))
    options = parser.parse_args()
    failed = []
    for name in options.names or SEEDS:
        sys.stdout.write(f"fuzzing {name} for {options.seconds} s\n")
        sys.stdout.flush()
        if fuzz(name, seconds=options.seconds, folder=options.folder):
            failed.append(name)
    sys.stdout.write(f"failed: {', '.join(failed)}\n" if failed else "nothing was found\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
