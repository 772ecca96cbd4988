import subprocess
import sys

import pytest

LEAN = """
import sys
from hermes.ops.lean_imports import import_lean

import_lean()
import hermes.ops.logs, hermes.server.listen
print([name for name in ("structlog", "uvicorn", "rich", "typer", "click", "greenlet") if name in sys.modules])
"""


def printed(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.req("W35")
def test_the_server_logs_and_listens_without_the_packages_of_command_lines():
    assert printed(LEAN) == "['structlog', 'uvicorn']\n"


@pytest.mark.req("W35")
def test_what_was_left_out_can_still_be_imported():
    rest = "import rich, click, uvicorn\nprint(uvicorn.run.__module__, uvicorn.Server.__name__)\n"
    assert printed(LEAN + rest).splitlines()[1] == "uvicorn.main Server"
    assert printed(LEAN + "print(hasattr(uvicorn := sys.modules['uvicorn'], 'nothing'))").endswith(
        "False\n"
    )


@pytest.mark.req("W35")
def test_packages_that_are_there_already_are_left_as_they_are():
    script = (
        "import uvicorn, structlog\n"
        "from hermes.ops.lean_imports import import_lean\n"
        "import_lean()\n"
        "print(uvicorn.run.__name__, '__getattr__' in vars(uvicorn))\n"
    )
    assert printed(script) == "run False\n"
