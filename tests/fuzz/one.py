"""One reader under atheris: `python -m tests.fuzz.one NAME CORPUS [libFuzzer options]`."""

import sys

import atheris

with atheris.instrument_imports(include=["hermes"]):
    from tests.fuzz.targets import try_one


def main() -> None:
    """Run until the time is up or something is found."""
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, lambda data: try_one(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
