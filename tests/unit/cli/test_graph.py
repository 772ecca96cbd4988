import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.graph.exports import verify_row
from hermes.graph.exports.parquet import read_parquet
from tests.stores.opening import tables
from tests.unit.cli.conftest import environment
from tests.unit.cli.terminal import Terminal
from tests.warm.python import run

STAND_IN = "tests.unit.cli.stand_in_graphs"
ROOT = Path(__file__).parents[3]
ANN, BOB = "agent:main:rest:dm:ann", "agent:main:rest:dm:bob"


@pytest.fixture
def graph(home):
    """Runs `hermes graph` over graphs that are made for it."""

    def run_graph(*arguments: str, damaged: bool = False) -> "subprocess.CompletedProcess[str]":
        given = [*["damaged"][: int(damaged)], "graph", *arguments]
        return run("-m", STAND_IN, *given, env=environment(home))

    return run_graph


@pytest.mark.req("G7")
def test_list_shows_every_conversation_and_whether_it_may_be_trained_on(graph):
    done = graph("list")
    told = json.loads(graph("list", "--json").stdout)["graphs"]

    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == [
        "session",
        "epoch",
        "messages",
        "calls",
        "branches",
        "consent",
        "last",
        "used",
    ]
    assert [line[:6] for line in lines[1:]] == [
        [BOB, "0", "2", "1", "main", "no"],
        [ANN, "1", "4", "2", "main,", "tea"],
        [ANN, "0", "2", "1", "main", "yes"],
    ]
    assert [(one["name"], one["may_train"]) for one in told] == [
        (f"{BOB}#0", False),
        (f"{ANN}#1", True),
        (f"{ANN}#0", True),
    ]


@pytest.mark.req("G1", "G7")
def test_show_draws_the_current_conversation_with_its_branches(graph):
    done = graph("show", "ann")

    assert (done.returncode, done.stderr) == (0, "")
    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        f"{ANN}, epoch 1, the current one: 2 calls",
        "",
        "main: 4 messages, version 4",
        "    0  user       Name a colour.",
        "       ├─ branch tea begins here",
        "    1  assistant  Green.",
        "       ┆ was: assistant  Blue.  [m_2.1 openai:small-1 temperature=0.7]  "
        "(set at version 2 by olga: it was wrong)",
        "    2  user       Another.",
        "    3  assistant  Red.  [m_3.1 openai:small-1 temperature=0.2]",
        "",
        "tea: 3 messages, version 1, begins after message 0 of main",
        "    1  assistant  Blue.  [m_2.1 openai:small-1 temperature=0.7]",
        "    2  user       Tea[2J!",
    ]


@pytest.mark.req("G7")
def test_show_draws_an_earlier_epoch_a_chart_or_json(graph):
    old = graph("show", "ann#0")
    chart = graph("show", "ann", "--mermaid").stdout
    told = json.loads(graph("show", "ann", "--json").stdout)
    both = graph("show", "ann", "--mermaid", "--json")

    assert old.stdout.startswith(f"{ANN}, epoch 0: 1 call\n")
    assert chart.startswith("flowchart TD\n")
    assert '"user#58; Tea#91;2J#33;"' in chart
    assert told["graph"]["name"] == f"{ANN}#1"
    assert [one["branch"] for one in told["drawing"]["branches"]] == ["main", "tea"]
    assert (both.returncode, both.stdout) == (2, "")


@pytest.mark.req("G7")
def test_what_is_ambiguous_or_unknown_is_one_clear_line(graph):
    ambiguous, unknown = graph("show", "dm"), graph("show", "carl")
    epoch, call = graph("verify", "ann#9"), graph("diff", "m_1.1", "m_9.9")

    assert ambiguous.stderr.startswith("hermes: 2 conversations match 'dm': ")
    assert unknown.stderr.startswith("hermes: No conversation is known as 'carl'.")
    assert epoch.stderr == f"hermes: The conversation '{ANN}' has no epoch 9. It has: 1, 0.\n"
    assert call.stderr.startswith("hermes: No call is known as 'm_9.9'.")
    assert {one.returncode for one in (ambiguous, unknown, epoch, call)} == {1}
    assert {one.stdout for one in (ambiguous, unknown, epoch, call)} == {""}


@pytest.mark.req("G6")
def test_export_writes_those_who_agreed_and_says_what_was_refused(graph, tmp_path):
    done = graph("export", "--all", "--format", "openai", "--out", str(tmp_path / "data"))

    file = tmp_path / "data" / "openai.jsonl"
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"3 rows with 3 trained answers of 2 conversations in {file}"
    assert lines[1].startswith("Left out: 1 conversation of people who have not agreed.")
    refused = " ".join(lines[3].split())
    assert refused == "1 no_consent m_4.1: This graph may not be trained on."
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [verify_row(row) for row in rows] == [None] * 3


@pytest.mark.req("G6")
def test_export_takes_sessions_epochs_formats_and_parquet(graph, tmp_path):
    done = graph(
        *("export", "ann#1", "--format", "trl-preference", "--out", str(tmp_path)),
        *("--parquet", "--json"),
    )

    told, file = json.loads(done.stdout), tmp_path / "trl-preference.parquet"
    assert (told["file"], told["rows"], told["graphs"]) == (str(file), 1, 1)
    (row,) = read_parquet(file)
    assert (row["chosen"][0]["content"], row["rejected"][0]["content"]) == ("Green.", "Blue.")


@pytest.mark.req("G6")
def test_an_export_without_a_row_is_a_failure_that_says_why(graph, tmp_path):
    (tmp_path / "openai.jsonl").write_text("old")

    done = graph("export", "bob", "--format", "openai", "--out", str(tmp_path))
    told = graph("export", "bob", "--format", "openai", "--out", str(tmp_path), "--json")

    assert (done.returncode, told.returncode) == (1, 1)
    assert done.stdout.startswith(
        "Nothing was written: there is no row to export. The former content of "
    )
    assert json.loads(told.stdout)["refused"] == {"no_consent": 1}
    assert {path.name for path in tmp_path.iterdir()} == {"home", "openai.jsonl"}


@pytest.mark.req("G6")
def test_a_wrong_use_of_export_writes_nothing(graph, tmp_path):
    out = ("--out", str(tmp_path / "data"))
    wrong = [
        ("export", "--format", "openai", *out),
        ("export", "ann", "--all", "--format", "openai", *out),
        ("export", "ann", "--format", "csv", *out),
        ("export", "ann", "--format", "openai"),
        ("export", "ann", *out),
        ("export", "ann", "--format", "tokens", *out),
        ("export", "ann", "--format", "openai", "--tokenizer", "x", *out),
    ]

    done = [graph(*one) for one in wrong]
    nowhere = graph("export", "ann", "--format", "tokens", "--tokenizer", "/no/file", *out)

    assert [(one.returncode, one.stdout) for one in done] == [(2, "")] * len(wrong)
    assert nowhere.returncode == 1
    assert nowhere.stderr.startswith("hermes: There is no tokenizer /no/file.")
    assert not (tmp_path / "data").exists()


@pytest.mark.req("G6")
def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(graph, tmp_path):
    (tmp_path / "data").write_text("a file")

    done = graph("export", "ann", "--format", "openai", "--out", str(tmp_path / "data"))

    assert (done.returncode, done.stdout) == (1, "")
    assert "data/openai.jsonl cannot be written: " in done.stderr


@pytest.mark.req("J24", "G7")
def test_verify_tells_erased_from_damaged_and_fails_for_damage_alone(graph):
    well, erased = graph("verify"), graph("verify", "ann", damaged=True)
    damaged = graph("verify", damaged=True)
    told = json.loads(graph("verify", "--json", damaged=True).stdout)

    assert well.returncode == 0
    assert well.stdout == "Checked 3 graphs, 4 branches, 11 versions, 4 calls: no problem found.\n"
    assert (erased.returncode, "no problem found" in erased.stdout) == (0, True)
    assert "erased: " in erased.stdout
    assert damaged.returncode == 1
    assert "erased: " in damaged.stdout
    assert f"missing: {BOB}#0, branch main, version 0: " in damaged.stdout
    assert {one["graph"] for one in told["erased"]} == {f"{ANN}#0"}
    assert {one["graph"] for one in told["damage"]} == {f"{BOB}#0"}


@pytest.mark.req("G4", "G7")
def test_diff_shows_what_the_model_saw_then_and_now(graph):
    done, told = graph("diff", "m_1.1", "m_4.1"), graph("diff", "m_2.1", "m_3.1", "--json")
    same = graph("diff", "m_1.1", "m_1.1")

    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        f"before    m_1.1 in {ANN}#0: 2 messages, 2023-11-14 22:13:20 UTC",
        f"after     m_4.1 in {BOB}#0: 2 messages, 2023-11-14 22:13:20 UTC",
        "model     openai:small-1",
        "tools     the same",
        "sampling  the same",
        "answer    another",
        "",
        "message 1 (user): changed",
        "- Hello.",
        "+ What is 2+2?",
    ]
    found = json.loads(told.stdout)
    assert found["sampling"] == [{"name": "temperature", "before": 0.7, "after": 0.2}]
    assert [one["kind"] for one in found["changes"]] == ["insert"]
    assert same.stdout.endswith("Both saw the same messages.\n")


@pytest.mark.req("G6")
@pytest.mark.parametrize("kind", [(), ("--parquet",)])
def test_verify_export_needs_nothing_but_the_file(graph, hermes, home, tmp_path, kind):
    made = graph("export", "ann", "--format", "sharegpt", "--out", str(tmp_path), *kind, "--json")
    file = json.loads(made.stdout)["file"]
    home.rmdir()

    done = hermes("graph", "verify-export", file)
    told = json.loads(hermes("graph", "verify-export", file, "--json").stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{file}: 3 rows (sharegpt), every certificate is valid.\n"
    assert (told["rows"], told["broken"], told["formats"]) == (3, 0, {"sharegpt": 3})
    assert not home.exists()


@pytest.mark.req("G6")
def test_verify_export_fails_for_a_changed_row_an_empty_file_and_none(graph, hermes, tmp_path):
    graph("export", "ann", "--format", "openai", "--out", str(tmp_path))
    file = tmp_path / "openai.jsonl"
    file.write_text(file.read_text().replace("Hello.", "Hello!") + "x\x1b[2J\n")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")

    changed, nothing = (hermes("graph", "verify-export", str(one)) for one in (file, empty))
    missing = hermes("graph", "verify-export", str(tmp_path / "none.jsonl"))

    assert changed.stdout.splitlines()[0].endswith("4 rows (openai), 2 of them invalid.")
    assert "line 4: damaged, line: it is no JSON: " in changed.stdout
    assert nothing.stdout == f"{empty} has no rows.\n"
    assert missing.stderr.startswith("hermes: There is no file ")
    assert [one.returncode for one in (changed, nothing, missing)] == [1, 1, 1]


@pytest.mark.req("G6")
def test_progress_is_shown_on_a_terminal_and_goes_away(home, tmp_path):
    arguments = ["graph", "export", "ann", "--format", "openai", "--out", str(tmp_path)]
    terminal = Terminal(
        [sys.executable, "-m", STAND_IN, *arguments], environment(home, PYTHONPATH=str(ROOT))
    )
    try:
        code = terminal.end()
    finally:
        terminal.close()

    assert code == 0
    assert "Exporting" in terminal.plain()
    assert "3 rows with 3 trained answers" in terminal.plain()


@pytest.mark.req("G6")
def test_an_export_that_is_ended_leaves_nothing_behind(home, tmp_path):
    arguments = ["graph", "export", "--all", "--format", "openai", "--out", str(tmp_path / "data")]

    done = run("-m", STAND_IN, "ended", *arguments, env=environment(home))

    assert (done.returncode, done.stdout) == (143, "")
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.req("G7")
def test_show_may_draw_the_end_alone(graph):
    done, wrong = graph("show", "ann", "--last", "1"), graph("show", "ann", "--last", "0")

    assert "       … 3 earlier, not shown\n" in done.stdout
    assert "Name a colour." not in done.stdout
    assert "    3  assistant  Red." in done.stdout
    assert wrong.returncode == 2


@pytest.mark.req("G6")
def test_consent_goes_through_the_gateway(hermes, gateway):
    hermes("keys", "create", "--user", "ann")

    before = hermes("graph", "consent", "v1:ann", "show")
    on = hermes("graph", "consent", "v1:ann", "on")
    again = json.loads(hermes("graph", "consent", "v1:ann", "on", "--json").stdout)
    off = hermes("graph", "consent", again["person_id"], "off")
    unknown = hermes("graph", "consent", "v1:bob", "on")

    who = f"v1:ann ({again['person_id']})"
    assert before.stdout == f"The conversations of {who} may not be trained on.\n"
    assert on.stdout == f"The conversations of {who} may be trained on.\n"
    assert (again["may_train"], again["changed"]) == (True, False)
    assert off.stdout == f"The conversations of {again['person_id']} may not be trained on.\n"
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert unknown.stderr.startswith("hermes: Nobody is known as 'v1:bob'.")


@pytest.mark.req("G6", "J20")
def test_without_a_gateway_consent_is_kept_in_the_files_and_on_record(hermes, home):
    hermes("keys", "create", "--user", "ann")

    on = hermes("graph", "consent", "v1:ann", "on", "--json")
    shown = json.loads(hermes("graph", "consent", "v1:ann", "show", "--json").stdout)

    assert json.loads(on.stdout)["changed"] is True
    assert shown["may_train"] is True
    record = [
        json.loads(line) for line in (home / "logs" / "commands.log").read_text().splitlines()
    ]
    assert [(one["event"], one.get("may_train")) for one in record] == [
        ("key_created", None),
        ("consent", True),
    ]
    assert "v1:ann" not in (home / "logs" / "commands.log").read_text()


@pytest.mark.req("G7")
def test_a_home_that_does_not_exist_has_no_conversations_and_is_not_made(hermes, home):
    home.rmdir()

    listed = hermes("graph", "list")
    told = json.loads(hermes("graph", "list", "--json").stdout)
    failed = [
        hermes("graph", "show", "x"),
        hermes("graph", "export", "x", "--format", "openai", "--out", str(home / "data")),
        hermes("graph", "diff", "a", "b"),
        hermes("graph", "consent", "v1:ann", "on"),
        hermes("graph", "verify", "x"),
        hermes("graph", "verify"),
        hermes("graph", "verify", "--json", "--home", str(home)),
    ]

    assert (listed.returncode, told) == (0, {"graphs": []})
    assert "There is no conversation yet" in listed.stdout
    assert [(one.returncode, one.stdout) for one in failed] == [(1, "")] * 7
    assert all("Nothing is stored in " in one.stderr for one in failed[:3])
    assert all(f"There is no home {home}, so nothing" in one.stderr for one in failed[4:])
    assert not home.exists()


@pytest.mark.req("G6", "G7")
def test_what_was_said_in_a_chat_is_drawn_exported_and_checked(hermes, model, tmp_path):
    hermes("chat", "--message", "Hello there", **model)
    (entry,) = json.loads(hermes("graph", "list", "--json").stdout)["graphs"]
    refused = hermes("graph", "export", "--all", "--format", "openai", "--out", str(tmp_path))
    hermes("graph", "consent", entry["people"][0], "on")
    made = hermes("graph", "export", "--all", "--format", "openai", "--out", str(tmp_path))
    shown = hermes("graph", "show", entry["session"])

    assert (refused.returncode, made.returncode) == (1, 0)
    assert "    0  user       Hello there\n" in shown.stdout
    assert "[m_" in shown.stdout
    assert hermes("graph", "verify").returncode == 0
    assert hermes("graph", "verify-export", str(tmp_path / "openai.jsonl")).returncode == 0
    assert "Hello there" in (tmp_path / "openai.jsonl").read_text()


@pytest.mark.sqlite_only
@pytest.mark.req("G7")
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE calls SET data = x'00'",
        "UPDATE calls SET id = CAST(x'ff41' AS TEXT)",
        "UPDATE moves SET data = x'ff'",
        "UPDATE graphs SET name = CAST(x'fe41' AS TEXT)",
        "DELETE FROM refs",
    ],
)
def test_a_damaged_database_is_said_to_be_damaged(hermes, model, home, tmp_path, damage):
    hermes("chat", "--message", "Hello there", **model)
    (entry,) = json.loads(hermes("graph", "list", "--json").stdout)["graphs"]
    assert hermes("graph", "show", entry["session"]).returncode == 0
    with tables(home) as db:
        db.execute(damage)

    done = [
        hermes("graph", "verify"),
        hermes("graph", "list"),
        hermes("graph", "show", entry["session"]),
        hermes("graph", "export", "--all", "--format", "openai", "--out", str(tmp_path)),
    ]

    assert [one.stderr for one in done if "Traceback" in one.stderr] == []
    assert [one.returncode for one in done] == [1, 0, 1, 1]
    assert "found." in done[0].stdout


@pytest.mark.req("G7")
def test_a_key_file_of_something_else_is_one_clear_line(hermes, model, home):
    hermes("chat", "--message", "Hello there", **model)
    (home / "keys" / "store.keys").write_bytes(b"garbage")

    done = [hermes("graph", *words) for words in (("verify",), ("list",), ("show", "local"))]

    assert [(one.returncode, one.stdout) for one in done] == [(1, "")] * 3
    assert all("hermes: the store's key file contains something" in one.stderr for one in done)
