"""`hermes graph consent USER on|off|show`: whether a person's conversations may be trained on."""

from typing import Annotated

import typer

from hermes.cli.operator_calls import call, operator_name
from hermes.cli.terminal import AsJson, Home, examples, print_done
from hermes.control.consent import ConsentAsk, ConsentOrder, ConsentReport, unknown_person
from hermes.control.orders import CONSENT_SET, CONSENT_SHOW

EPILOG = examples(
    "hermes graph consent telegram:4711 show",
    "hermes graph consent telegram:4711 on",
    "hermes graph consent rest:bob off --json",
    "hermes graph consent p_06gtv2gs6bqvb0ljq03ptcp1 off",
)
_CHOICES = {"on": True, "off": False}
_SHOW = "show"


def _check_choice(value: str) -> str:
    if value not in {*_CHOICES, _SHOW}:
        raise typer.BadParameter(f"{value!r} is not one of on, off, show")
    return value


def command(
    user: Annotated[
        str,
        typer.Argument(metavar="USER", help="PLATFORM:USER_ID, or the id of a person."),
    ],
    choice: Annotated[
        str, typer.Argument(metavar="on|off|show", help="on, off or show.", callback=_check_choice)
    ],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Record whether a person agrees to training on their conversations; at first nobody does."""
    # Asked in any case: an order for somebody unknown is not to make a home.
    report = _ask(home, ConsentAsk(user=user))
    if choice != _SHOW:
        order = ConsentOrder(user=user, may_train=_CHOICES[choice], by=operator_name())
        report = _order(home, order)
    print_done(report, _text(report), as_json=as_json)


def _ask(home: Home, ask: ConsentAsk) -> ConsentReport:
    def nobody() -> ConsentReport:
        raise unknown_person(ask.user)

    return call(home, CONSENT_SHOW, ask, empty=nobody)


def _order(home: Home, order: ConsentOrder) -> ConsentReport:
    return call(home, CONSENT_SET, order)


def _text(report: ConsentReport) -> str:
    who = report.user if report.user == report.person_id else f"{report.user} ({report.person_id})"
    if report.may_train:
        return f"The conversations of {who} may be trained on."
    return f"The conversations of {who} may not be trained on."
