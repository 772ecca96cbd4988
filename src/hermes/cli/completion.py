"""`hermes completion bash|zsh|fish`: prints a completion script for a shell."""

import enum
from typing import Annotated

import typer

from hermes.cli.complete import VARIABLE
from hermes.cli.terminal import examples
from hermes.lazy import lazy

EPILOG = examples(
    'eval "$(hermes completion bash)"   (in ~/.bashrc)',
    "hermes completion zsh > ~/.zfunc/_hermes   (a folder of fpath)",
    "hermes completion fish > ~/.config/fish/completions/hermes.fish",
)


class Shell(enum.StrEnum):
    """The supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def command(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a shell's completion script; the examples show where to put it."""
    # By name: typer has these two for everybody, but its types do not say so.
    script = lazy("typer.completion:get_completion_script")
    print(script(prog_name="hermes", complete_var=VARIABLE, shell=shell.value))
