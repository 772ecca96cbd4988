"""`hermes route PROMPT`: which models would be tried for a prompt, and why."""

from typing import Annotated, get_args

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hermes.cli.environment import settings_for
from hermes.cli.failure import FAILED
from hermes.cli.model_offers import ask_here, gateway_of, price_text
from hermes.cli.operator_calls import ask_gateway
from hermes.cli.terminal import AsJson, Home, clean, error_console, examples, print_report
from hermes.config.model_settings import TASKS
from hermes.control.models import RouteReport, route_report
from hermes.control.orders import MODELS_ROUTE
from hermes.ports.provider import Capability
from hermes.routing.plan import CallNeeds

EPILOG = examples(
    'hermes route "What time is it in Lima?"',
    'hermes route "Refactor this function" --tools',
    'hermes route "Sum this up" --capability summarization',
    'hermes route "Hello" --tier starter --json',
    'hermes route "Hello" --model claude-sonnet',
)
_CAPABILITIES: tuple[Capability, ...] = get_args(Capability)


def _one_of(known: tuple[str, ...], value: str | None) -> str | None:
    if value is not None and value not in known:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}")
    return value


def _check_capability(value: str) -> str:
    return _one_of(_CAPABILITIES, value) or value


def _check_task(value: str | None) -> str | None:
    return _one_of(TASKS, value)


def command(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The prompt to plan for.")],
    *,
    home: Home = None,
    capability: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(_CAPABILITIES)}.", callback=_check_capability),
    ] = "chat",
    tier: Annotated[
        str | None, typer.Option(help="The tier of the person who asks.", show_default=False)
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model that the call names.", show_default=False)
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="The task type; by default guessed from the prompt.",
            callback=_check_task,
            show_default=False,
        ),
    ] = None,
    tools: Annotated[bool, typer.Option("--tools", help="The call offers tools.")] = False,
    images: Annotated[bool, typer.Option("--images", help="The call contains an image.")] = False,
    agent: Annotated[
        str,
        typer.Option(help="The agent that calls; it may have keys of its own.", show_default=False),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Show the plan for a prompt: each candidate with its rule, each dropped model with its reason.

    No model is called. Exit code 1 if no model could answer.
    """
    ask = CallNeeds(
        prompt=prompt,
        capability=next(one for one in _CAPABILITIES if one == capability),
        tier=tier,
        model=model,
        task=task,
        tools=tools,
        images=images,
        agent=agent,
    )
    report = _report(ask, home)
    print_report(report, _print, as_json=as_json)
    if report.problem is not None:
        error_console().print(f"hermes: {clean(report.problem)}", markup=False, soft_wrap=True)
        raise typer.Exit(FAILED)


def _report(ask: CallNeeds, home: Home) -> RouteReport:
    gateway = gateway_of(home)
    if gateway is not None:
        return ask_gateway(gateway, MODELS_ROUTE, ask)
    loaded = settings_for(home)
    return route_report(ask, ask_here(loaded), settings=loaded.settings)


def _print(report: RouteReport, out: Console) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for place, one in enumerate(report.candidates, start=1):
        name = f"{one.provider}:{one.model}"
        table.add_row(*_texts(f"{place}", name, one.rule, price_text(one.price)))
    for gone in report.dropped:
        table.add_row(*_texts("-", gone.provider, f"dropped: {gone.reason}", ""))
    if table.row_count:
        out.print(table)
    for name, value in (("complexity", report.complexity), ("task", report.task)):
        if value is not None:
            out.print(Text(f"{name} {value}", style="dim"))


def _texts(*cells: str) -> list[Text]:
    return [Text(clean(cell)) for cell in cells]
