"""`hermes graph export`: training data from the conversations of people who agreed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from hermes.agents.secrets import mask_of
from hermes.cli.failure import FAILED, ending_cleanly
from hermes.cli.graph_source import note_exported, required_graph_reader
from hermes.cli.progress import progress_bar
from hermes.cli.terminal import AsJson, Home, clean, console, examples, make_table, print_json
from hermes.control.graph_export import (
    ExportReport,
    GraphExportPlan,
    WriteRows,
    export_graphs,
    write_rows,
)
from hermes.control.graphs import find_all
from hermes.graph.exports import FormatName, Tokenizer
from hermes.lazy import lazy
from hermes.ports.graph_reader import GraphEntry, GraphReader

if TYPE_CHECKING:
    from hermes.graph.exports.parquet import write_parquet
    from hermes.graph.exports.tokenizer_file import load_tokenizer
else:
    write_parquet = lazy("hermes.graph.exports.parquet:write_parquet")
    load_tokenizer = lazy("hermes.graph.exports.tokenizer_file:load_tokenizer")

EPILOG = examples(
    "hermes graph export bob --format openai --out ./data",
    "hermes graph export --all --format trl-preference --out ./data --parquet",
    "hermes graph export bob ann#2 --format tokens --tokenizer ./model/tokenizer.json --out ./data",
    "hermes graph export --all --format sharegpt --out ./data --json",
)
_FORMATS: tuple[FormatName, ...] = get_args(FormatName)
_REFUSALS_SHOWN = 3


def _check_format(value: str) -> str:
    if value not in _FORMATS:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(_FORMATS)}")
    return value


def command(
    session: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SESSION",
            help="Conversations as `hermes graph list` names them, or parts of their names, "
            "optionally with #EPOCH.",
            show_default=False,
        ),
    ] = None,
    *,
    home: Home = None,
    format_name: Annotated[
        str,
        typer.Option(
            "--format",
            help=f"One of {', '.join(_FORMATS)}.",
            callback=_check_format,
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write into.", show_default=False)],
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Write parquet instead of JSON lines.")
    ] = False,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            help="For the format tokens: a tokenizer.json, its folder, or a GGUF file.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every conversation of this home.")] = False,
    replays: Annotated[
        bool, typer.Option("--replays", help="Also answers that `hermes replay` made.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write training data into one file; report what was left out and why.

    Only people who agreed are exported. Exit code 1 if there was nothing to write.
    """
    wanted = session or []
    _check_use(wanted, every=every, format_name=format_name, tokenizer=tokenizer)
    plan = GraphExportPlan(
        format=next(one for one in _FORMATS if one == format_name),
        file=out.expanduser().absolute() / f"{format_name}.{'parquet' if parquet else 'jsonl'}",
        write=_parquet_writer() if parquet else write_rows,
        tokenizer=None if tokenizer is None else _tokenizer(tokenizer),
        with_replays=replays,
    )
    with required_graph_reader(home) as reader:
        entries = list(reader.graphs()) if every else find_all(reader, wanted)
        note_exported(home, entries, every=every)
        mask = mask_of(reader.secret_values())
        plan = msgspec.structs.replace(plan, has_secret=mask.has_one)
        report = _export(reader, entries, plan)
    if as_json:
        print_json(report)
    else:
        _print(report, plan.file, out=console())
    if report.file is None or report.unopened:
        raise typer.Exit(FAILED)


def _check_use(wanted: list[str], *, every: bool, format_name: str, tokenizer: Path | None) -> None:
    if bool(wanted) == every:
        raise typer.BadParameter("Name the conversations to export, or write --all for every one.")
    if (format_name == "tokens") != (tokenizer is not None):
        raise typer.BadParameter(
            "The format tokens needs --tokenizer FILE, and no other format takes one."
        )


def _export(reader: GraphReader, entries: list[GraphEntry], plan: GraphExportPlan) -> ExportReport:
    with ending_cleanly(), progress_bar("Exporting") as show:
        return export_graphs(
            reader,
            entries,
            plan=plan,
            progress=lambda done, total, made: show(done, total, f"{made:,} rows"),
        )


def _parquet_writer() -> WriteRows:
    return write_parquet


def _tokenizer(path: Path) -> Tokenizer:
    return load_tokenizer(path.expanduser().absolute())


def _print(report: ExportReport, file: Path, *, out: Console) -> None:
    if report.file is None:
        stale = f" The former content of {file} is unchanged." if file.exists() else ""
        _say(f"Nothing was written: there is no row to export.{stale}", out)
    else:
        trained = f"{report.trained:,} trained answer{'' if report.trained == 1 else 's'}"
        rows = f"{report.rows:,} row{'' if report.rows == 1 else 's'}"
        _say(f"{rows} with {trained} of {_count(report.with_rows)} in {report.file}", out)
    if report.without_consent:
        _say(
            f"Left out: {_count(report.without_consent)} of people who have not agreed. `hermes "
            "graph consent USER on` records that a person agrees.",
            out,
        )
    _print_refusals(report, out)
    for one in report.unopened:
        _say(f"{one.graph} cannot be opened: {one.text} `hermes graph verify` shows more.", out)


def _print_refusals(report: ExportReport, out: Console) -> None:
    if not report.refused:
        return
    table = make_table("refused", "reason", "for example")
    for reason, count in sorted(report.refused.items(), key=lambda item: -item[1]):
        calls = [one for one in report.refusals if one.reason == reason][:_REFUSALS_SHOWN]
        such = ", ".join(one.call for one in calls)
        table.add_row(f"{count:,}", reason, Text(clean(f"{such}: {calls[0].text}")))
    out.print(table)


def _count(graphs: int) -> str:
    return f"{graphs:,} conversation{'' if graphs == 1 else 's'}"


def _say(text: str, out: Console) -> None:
    out.print(Text(clean(text)), soft_wrap=True)
