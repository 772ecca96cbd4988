"""`hermes keys create|list|revoke`: the keys for `/v1`."""

from collections.abc import Callable
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.operator_calls import call, money, operator_name
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Wide,
    clean,
    error_console,
    examples,
    print_json,
    print_report,
)
from hermes.control.key_terms import lifetime, model_patterns, one_period, token_budget, usd_budget
from hermes.control.keys import KeyEnd, KeyLine, KeysReport, MadeKey, NewKey
from hermes.control.order import NoFields
from hermes.control.orders import KEYS_CREATE, KEYS_LIST, KEYS_REVOKE
from hermes.control.why_answer import clock_time
from hermes.errors import BadRequest
from hermes.ports.keys import BudgetPeriod

CREATE_EPILOG = examples(
    "hermes keys create --user ann",
    "KEY=$(hermes keys create --user ann --budget 5/month)",
    'hermes keys create --user ci --label "nightly build" --tokens 200000/day --expires 30d',
    'hermes keys create --user ann --models "auto,openai:*,agent:main" --rate 60 --json',
)
LIST_EPILOG = examples("hermes keys list", "hermes keys list --json")
REVOKE_EPILOG = examples(
    "hermes keys revoke k_06gtv2gs6bqvb0ljq03ptcp1",
    "hermes keys revoke k_06gtv2   (enough, when no other key begins so)",
)
_COLUMNS = (
    Column("id", "id"),
    Column("user", rank=1),
    Column("label", rank=3),
    Column("ends in", "id", rank=2),
    Column("used", rank=4),
    Column("may use", rank=5),
    Column("limits", rank=6),
    Column("state", "state"),
)
_Value = TypeVar("_Value")
_PER = {"day": " a day", "month": " a month", "total": " in all"}
_NOW = {"day": " today", "month": " this month", "total": ""}


def _checked(read: Callable[[str], _Value]) -> Callable[[str | None], str | None]:
    """Return a callback that reports an invalid value as wrong use of the command."""

    def check(text: str | None) -> str | None:
        if text is not None:
            try:
                read(text)
            except BadRequest as error:
                raise typer.BadParameter(str(error)) from None
        return text

    return check


def create(
    *,
    home: Home = None,
    user: Annotated[str, typer.Option(help="The user of the key.", show_default=False)],
    label: Annotated[str, typer.Option(help="What it is for.", show_default=False)] = "",
    budget: Annotated[
        str | None,
        typer.Option(
            help="Dollars: 5 in all, 5/day or 5/month; 0 refuses every call that costs money.",
            callback=_checked(usd_budget),
            show_default=False,
        ),
    ] = None,
    tokens: Annotated[
        str | None,
        typer.Option(
            help="Tokens, counted over the same time as the budget, or N/day, N/month.",
            callback=_checked(token_budget),
            show_default=False,
        ),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            help="Patterns of the models it may use; by default all.",
            callback=_checked(model_patterns),
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        int | None, typer.Option(min=1, help="Requests per minute.", show_default=False)
    ] = None,
    max_output: Annotated[
        int | None, typer.Option(min=1, help="The most tokens of one answer.", show_default=False)
    ] = None,
    store_responses: Annotated[
        bool,
        typer.Option(
            "--store-responses",
            help="Store its responses, so that calls can continue them by their id.",
        ),
    ] = False,
    delegate: Annotated[
        bool,
        typer.Option("--delegate", help="Let its messages be commands that give tasks to agents."),
    ] = False,
    read_history: Annotated[
        bool,
        typer.Option(
            "--read-history",
            help="Let it find over MCP what its user said, on all platforms.",
        ),
    ] = False,
    expires: Annotated[
        str | None,
        typer.Option(
            help="How long it is valid, such as 12h, 30d or 8w.",
            callback=_checked(lifetime),
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key for /v1; the secret is printed once, and only its hash is stored.

    Standard output is the secret alone; everything else goes to standard error.
    """
    new = NewKey(
        user=user,
        label=label,
        models=() if models is None else model_patterns(models),
        budget_usd=None if budget is None else usd_budget(budget)[0],
        budget_period=_period(budget, tokens),
        budget_tokens=None if tokens is None else token_budget(tokens)[0],
        requests_per_minute=rate,
        max_output_tokens=max_output,
        store_responses=store_responses,
        may_delegate=delegate,
        read_history=read_history,
        lifetime_s=None if expires is None else lifetime(expires),
        by=operator_name(),
    )
    made = call(home, KEYS_CREATE, new)
    if as_json:
        print_json(made)
    else:
        print(made.secret, flush=True)
        _explain(made, error_console())


def list_all(home: Home = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """List every key: its user, its limits, and how much of its budget is used."""
    report = call(home, KEYS_LIST, NoFields(), empty=KeysReport)
    print_report(report, _print, as_json=as_json, wide=wide)


def revoke(
    key_id: Annotated[
        str, typer.Argument(metavar="KEY_ID", help="The key's id, its beginning or end.")
    ],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a key at once; its past costs stay in `hermes costs`."""
    end = KeyEnd(id=key_id, by=operator_name())
    ended = call(home, KEYS_REVOKE, end)
    if as_json:
        print_json(ended)
        return
    key = ended.key
    when = clock_time(key.revoked_at or 0.0)
    did = "is revoked now" if ended.changed else f"was revoked already, at {when}"
    print(clean(f"The key {key.id} of {key.user} (ends in {key.hint}) {did}."))


def _period(budget: str | None, tokens: str | None) -> BudgetPeriod:
    try:
        return one_period(budget, tokens)
    except BadRequest as error:
        raise typer.BadParameter(str(error)) from None


def _explain(made: MadeKey, out: Console) -> None:
    key = made.key
    limits = ", ".join(text for text in (_budget(key), _limits(key)) if text)
    model = next((name for name in key.models if "*" not in name), "auto")
    lines = (
        f"Key {key.id} of {key.user}" + (f": {limits}." if limits else ", without limits."),
        "The secret is shown only now: Hermes keeps only its hash. With the secret in $KEY:",
        "",
        f"  curl {made.address}/v1/chat/completions \\",
        '    -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
        f'    -d \'{{"model": "{model}", "messages": [{{"role": "user", "content": "Hello"}}]}}\'',
        "",
        "  from openai import OpenAI",
        f'  client = OpenAI(base_url="{made.address}/v1", api_key=KEY)',
    )
    for line in lines:
        out.print(Text(clean(line)), soft_wrap=True)


def _print(report: KeysReport, out: Console) -> None:
    if not report.keys:
        out.print("There are no keys. `hermes keys create --user NAME` makes one.")
        return
    print_table(out, _COLUMNS, map(_cells, report.keys))


def _cells(key: KeyLine) -> tuple[str, ...]:
    return (
        key.id,
        key.user,
        key.label,
        key.hint,
        _used(key),
        ", ".join(key.models) or "all",
        _limits(key),
        _state(key),
    )


def _used(key: KeyLine) -> str:
    """Return how much of the budget is used; without a budget, the total use."""
    usd, tokens = money(key.used_usd), f"{key.used_tokens:,}"
    if key.budget_usd is not None:
        usd += f" of {money(key.budget_usd)}"
    if key.budget_tokens is not None:
        tokens += f" of {key.budget_tokens:,}"
    return f"{usd}, {tokens} tokens{_NOW[key.budget_period]}"


def _budget(key: KeyLine) -> str:
    room = [] if key.budget_usd is None else [money(key.budget_usd)]
    room += [] if key.budget_tokens is None else [f"{key.budget_tokens:,} tokens"]
    return f"{' and '.join(room)}{_PER[key.budget_period]}" if room else ""


def _limits(key: KeyLine) -> str:
    limits = []
    if key.requests_per_minute is not None:
        limits.append(f"{key.requests_per_minute:,} a minute")
    if key.max_output_tokens is not None:
        limits.append(f"answers of {key.max_output_tokens:,} tokens")
    if key.store_responses:
        limits.append("stores responses")
    if key.may_delegate:
        limits.append("may delegate")
    if key.read_history:
        limits.append("reads history")
    if key.expires_at is not None:
        limits.append(f"until {clock_time(key.expires_at)}")
    return ", ".join(limits)


def _state(key: KeyLine) -> str:
    if key.revoked_at is not None:
        return f"revoked {clock_time(key.revoked_at)}"
    return key.state
