"""`hermes graph rate CALL up|down|none`: a thumb for an answer, which exports of training data use."""

from typing import Annotated, get_args

import typer

from hermes.cli.operator_calls import call as give
from hermes.cli.operator_calls import operator_name
from hermes.cli.terminal import AsJson, Home, examples, print_done
from hermes.control.orders import GRAPHS_RATE
from hermes.control.ratings import RatingOrder, RatingReport
from hermes.errors import NotFound
from hermes.graph import Rating

EPILOG = examples(
    "hermes graph rate m_06gtv2gs6bqvb0ljq03ptcp1.1 up",
    'hermes graph rate tcp1.1 down --note "too long"',
    "hermes graph rate m_06gtv2gs6bqvb0ljq03ptcp1.1 none --json",
)
_RATINGS: dict[str, Rating] = {one: one for one in get_args(Rating)}
_TEXTS: dict[Rating, str] = {
    "up": "The answer of {} was rated up.",
    "down": "The answer of {} was rated down: exports do not train on it.",
    "none": "Your rating of the answer of {} was taken back.",
}


def _check_rating(value: str) -> str:
    if value not in _RATINGS:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(_RATINGS)}")
    return value


def command(
    call: Annotated[
        str,
        typer.Argument(
            metavar="CALL",
            help="The call that wrote it, as `graph show` names it, or its beginning or end.",
        ),
    ],
    rating: Annotated[
        str,
        typer.Argument(metavar="up|down|none", help="up, down or none.", callback=_check_rating),
    ],
    *,
    note: Annotated[str, typer.Option(help="Why; kept encrypted.")] = "",
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Give an answer a thumb up or down, or take it back; exports of training data use it."""

    def nothing() -> RatingReport:
        raise NotFound("Nothing is stored here yet, so there is no answer to rate.")

    order = RatingOrder(call=call, rating=_RATINGS[rating], note=note, by=operator_name())
    report = give(home, GRAPHS_RATE, order, empty=nothing)
    print_done(report, _TEXTS[report.rating].format(report.call), as_json=as_json)
