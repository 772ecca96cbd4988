"""`hermes models swap`: changes the default model, also over restarts."""

from typing import Annotated

import typer

from hermes.cli.environment import home_for
from hermes.cli.gateway_client import connect
from hermes.cli.operator_calls import ask_gateway, operator_name
from hermes.cli.terminal import AsJson, Home, clean, examples, print_json
from hermes.control.model_swap import AS_CONFIGURED
from hermes.control.orders import MODELS_SWAP
from hermes.control.runtime import SwapOrder

EPILOG = examples(
    "hermes models swap anthropic:claude-sonnet-4-6",
    "hermes models swap auto",
    "hermes models swap default   (what the configuration says)",
)


def command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="PROVIDER:MODEL, auto, or default for the configured model."
        ),
    ],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Change the model used when no agent, person or session names one, also over restarts."""
    order = SwapOrder(model=model, by=operator_name())
    report = ask_gateway(connect(home_for(home)), MODELS_SWAP, order)
    if as_json:
        print_json(report)
    else:
        print(clean(f"{report.model} is now the default model instead of {report.before}."))
        if model != AS_CONFIGURED:
            print("It stays so over restarts; `hermes models swap default` undoes it.")
        if report.note:
            print(clean(report.note))
