"""`hermes init`: asks for what a first start needs, tests the key, and writes the settings.

Questions go to standard error, so that standard output holds only the result.
"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hermes.cli.terminal import AsJson, Home, examples
from hermes.lazy import lazy

if TYPE_CHECKING:
    from hermes.cli.init_setup import set_up
else:
    set_up = lazy("hermes.cli.init_setup:set_up")

EPILOG = examples(
    "hermes init",
    "hermes init --yes   (the built-in demonstration model, no questions)",
    "OPENAI_API_KEY=sk-... hermes init --yes --provider openai",
    "pass show anthropic | hermes init --yes --provider anthropic --key-stdin --json",
    "hermes init --yes --provider vllm --base-url http://10.0.0.5:8000/v1 --model qwen3",
)


def command(
    *,
    home: Home = None,
    provider: Annotated[
        str | None,
        typer.Option(help="The model service, such as openai, or local.", show_default=False),
    ] = None,
    key_stdin: Annotated[
        bool, typer.Option("--key-stdin", help="Read the service's key from standard input.")
    ] = False,
    base_url: Annotated[
        str | None, typer.Option(help="The address of the service.", show_default=False)
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model to use.", show_default=False)] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The name of the agent.", show_default=False)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65_535, help="The port to listen on.", show_default=False),
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option(help="The time zone, such as Europe/Paris.", show_default=False)
    ] = None,
    test: Annotated[
        bool, typer.Option("--test/--no-test", help="Test the key with one short, real call.")
    ] = True,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: use the options and the defaults.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Replace existing files; each old file is kept beside the new one."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Set up a home: ask for what a first start needs, test the key, write config.yaml and .env."""
    if not yes and not sys.stdin.isatty():
        raise typer.BadParameter(
            "there is no terminal to ask questions; add --yes, and options for values that "
            "differ from the defaults"
        )
    given: dict[str, object] = {
        "provider": provider,
        "base_url": base_url,
        "model": model,
        "agent": name,
        "port": port,
        "time_zone": time_zone,
    }
    given["api_key"] = _piped_key() if key_stdin else None
    set_up(given, home, test=test, yes=yes, force=force, as_json=as_json)


def _piped_key() -> str:
    key = sys.stdin.readline().strip()
    if not key:
        raise typer.BadParameter("--key-stdin: standard input held no key")
    return key
