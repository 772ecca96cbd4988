"""W25: whatever is in the index is found as a walk through all messages would find it."""

import unicodedata
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hermes.errors import BadRequest
from hermes.ports.clock import SystemClock
from hermes.ports.search import SearchAsk, Searcher, SearchMode
from hermes.store.search.file import open_index
from hermes.store.search.graph_reader import Addition, IndexMessage
from hermes.store.search.index_writer import IndexWriter
from hermes.store.search.lookup import Finder
from hermes.store.search.query import read_question, snippet
from hermes.store.search.text_folds import cut, fold, words_of
from hermes.store.sqlite.connection import Database

pytestmark = pytest.mark.sqlite_only

KEY = bytes(32)
LANE = "agent:main:rest:dm:ann"
ROUNDS = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Small alphabets, so that words and their parts meet; each from a script that is its own trouble.
LETTERS = (
    "abAB éÉßİñ яЖё ωΩά 中文日本語かガ 한국어 हि ไทย 😀👍🏽❤️ ﬁＡ １2_-'\"*()^:,.?!+\t\n\u0301\u200b"
)
TEXTS = st.text(LETTERS, min_size=0, max_size=24)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("index")


numbers = count()


def index_of(folder: Path, texts: list[str], *, name: str = f"{LANE}#0") -> Database:
    """Return a fresh index of these messages, all of one person in one session."""
    db = open_index(folder / f"{next(numbers)}.db", KEY)
    pen = IndexWriter(db)
    with db:
        for number, text in enumerate(texts):
            addition = Addition(
                at=float(number),
                graph=1,
                branch="main",
                number=number,
                root=b"",
                start=number,
                added=1,
                person="p_ann",
                turn=f"m_{number}",
            )
            pen.put(addition, [IndexMessage("p_ann", "user", text)], name=name)
    return db


def finder(db: Database) -> Finder:
    return Finder(db, is_erased=lambda _: False, monotonic=SystemClock().monotonic)


def found(db: Database, text: str, mode: SearchMode = "anywhere") -> list[str]:
    """Return the messages that a search finds."""
    ask = SearchAsk(text=text, mode=mode, limit=200)
    return [one.message_id for one in finder(db).find(ask, seconds=30).found]


def naive_words(text: str) -> list[str]:
    """Return words sign by sign, by what Unicode says of each: no regular expression is involved."""
    words: list[str] = []
    is_open = False
    for char in fold(text):
        is_alone = _stands_alone(char)
        is_letter = char.isalnum() or char == "_" or "\u0900" <= char <= "\u0eff"
        if is_alone:
            words.append(char)
        elif is_letter and is_open:
            words[-1] += char
        elif is_letter:
            words.append(char)
        is_open = is_letter and not is_alone
    return words


def _stands_alone(char: str) -> bool:
    name = unicodedata.name(char, "")
    scripts = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")
    is_picture = unicodedata.category(char) in ("So", "Sk") and ord(char) > 0x2190
    return name.startswith(scripts) or is_picture


def naive(texts: list[str], term: str, mode: SearchMode) -> list[str]:
    """Return what a walk through all messages finds for one term, the newest first."""
    sought, words = fold(term), tuple(naive_words(term))

    def fits(text: str) -> bool:
        if mode == "anywhere" and len(sought) >= 3:
            return sought in fold(text)
        said = naive_words(text)
        stands = any(
            tuple(said[at : at + len(words)]) == words for at in range(len(said) - len(words) + 1)
        )
        is_tight = not all(map(_stands_alone, "".join(words))) or "".join(words) in fold(text)
        return bool(words) and stands and is_tight

    hits = [f"m_{number}" for number, text in enumerate(texts) if fits(cut(text))]
    return hits[::-1]


@st.composite
def searches(draw: st.DrawFn) -> tuple[list[str], str]:
    """Return messages, and a term that is often a part of one of them."""
    texts = draw(st.lists(TEXTS, min_size=1, max_size=8))
    whole = draw(st.sampled_from(texts))
    start = draw(st.integers(0, len(whole)))
    term = whole[start : start + draw(st.integers(1, 8))]
    if draw(st.booleans()) or not term.strip():
        term = draw(TEXTS.filter(lambda text: bool(text.strip())))
    return texts, term.replace('"', " ").strip() or "a"


@pytest.mark.req("W25", "J25")
@ROUNDS
@given(searches(), st.sampled_from(["anywhere", "words"]))
@example((["日本語を話す", "日 本"], "日本"), "anywhere")
@example((["good 👍🏽", "👍"], "👍"), "anywhere")
@example((["Straße", "STRASSE"], "strasse"), "anywhere")
@example((["co_op a-b"], "a"), "words")
def test_a_search_finds_what_a_walk_finds(
    folder: Path, search: tuple[list[str], str], mode: SearchMode
) -> None:
    texts, term = search
    db = index_of(folder, texts)
    try:
        assert found(db, f'"{term}"', mode) == naive(texts, term, mode)
    finally:
        db.close()


@pytest.mark.req("W25")
@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("umbrel", ["m_0"]),
        ("BRELL", ["m_0"]),
        ("angstrom", ["m_1"]),
        ("Ångström", ["m_1"]),
        ("東", ["m_2"]),
        ("東京", ["m_2"]),
        ("京都", []),
        ("ト", ["m_2"]),
        ("국", ["m_3"]),
        ("❤", ["m_3"]),
        ("ai", ["m_4"]),
        ("5", ["m_4"]),
        ("rain ai", ["m_4"]),
        ("cain ai", []),
        ("model ai", ["m_4"]),
        ('"ai model"', ["m_4"]),
        ('"model ai"', []),
        ("ﬁle", ["m_4"]),
    ],
)
def test_words_parts_of_words_and_single_signs_are_found(
    folder: Path, term: str, expected: list[str]
) -> None:
    db = index_of(
        folder,
        [
            "Take an Umbrella",
            "one Ångström",
            "東京タワーとトンネル",
            "한국 ❤️",
            "the AI  model\nhas 5 files; brain",
        ],
    )
    assert found(db, term) == expected
    db.close()


HOSTILE = [
    '"', '""', "'", "*", "a*", "^a", "NEAR(a b)", "a NOT b", "AND", "OR NOT", "(", ")", "((((", "{x}:",
    "text:foo", "person : x", "-foo", "foo -bar", '"unclosed', 'un"closed', "a+b", "\\", "%", "_", "; DROP TABLE",
    "\x00", "a\x00b", "\ud800", "\U000f0000\U000f0000\U000f0001", "\uffff", "'; --", "?1", ":x", "a" * 500, "é" * 500,
    " ".join(f"w{n}" for n in range(160))[:500], "abc " * 125,
]  # fmt: skip


@pytest.mark.req("W25")
@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("mode", ["anywhere", "words"])
def test_no_text_is_an_error_or_means_anything_to_the_index(
    folder: Path, text: str, mode: SearchMode
) -> None:
    db = index_of(folder, [text, "quux baz"])
    hits = finder(db).find(SearchAsk(text=text, mode=mode), seconds=30)
    assert hits.is_complete
    assert "m_1" not in [one.message_id for one in hits.found]
    db.close()


@pytest.mark.req("W25")
@ROUNDS
@given(st.text(min_size=1, max_size=200), st.sampled_from(["anywhere", "words"]))
def test_any_text_can_be_looked_for(folder: Path, text: str, mode: SearchMode) -> None:
    db = index_of(folder, ["foo bar"])
    try:
        if not text.strip():
            with pytest.raises(BadRequest):
                found(db, text, mode)
        else:
            assert found(db, text, mode) in ([], ["m_0"])
    finally:
        db.close()


@pytest.mark.req("W25")
def test_a_text_that_is_empty_or_too_long_is_refused_with_what_to_do() -> None:
    with pytest.raises(BadRequest, match="nothing to look for"):
        read_question(" \t", "anywhere")
    with pytest.raises(BadRequest, match="few words"):
        read_question("x" * 501, "anywhere")


@pytest.mark.req("J25")
def test_only_the_first_two_kilobytes_of_a_message_are_searched(folder: Path) -> None:
    long = "中" * 682 + "ab"
    db = index_of(folder, ["x" * 2_040 + " needle", "x" * 2_050 + " needle", long + "needle"])
    assert found(db, "needle") == ["m_0"]
    assert found(db, "中") == ["m_2"]
    assert len(cut(long).encode()) <= 2_048
    db.close()


@pytest.mark.req("W25")
def test_a_search_ends_when_its_time_is_up(folder: Path) -> None:
    db = index_of(folder, ["rain"] * 50)
    ticks: Iterator[int] = count()
    slow = Finder(db, is_erased=lambda _: False, monotonic=lambda: float(next(ticks)))
    hits = slow.find(SearchAsk(text="rain", limit=50), seconds=5)
    assert 0 < len(hits.found) < 50
    assert not hits.is_complete
    db.close()


@pytest.mark.req("W25")
def test_since_finds_nothing_older_and_marks_narrow_it_down(folder: Path) -> None:
    db = index_of(folder, ["rain"] * 10)
    asked = {
        "since": SearchAsk(text="rain", since=7.0),
        "agent": SearchAsk(text="rain", agent="main"),
        "other agent": SearchAsk(text="rain", agent="other"),
        "platform": SearchAsk(text="rain", platform="rest"),
        "other platform": SearchAsk(text="rain", platform="telegram"),
        "person": SearchAsk(text="rain", person_id="p_ann"),
        "nobody": SearchAsk(text="rain", person_id="p_bob"),
        "limit": SearchAsk(text="rain", limit=2),
        "a stranger": SearchAsk(text="rain", asker=Searcher("p_bob", LANE, True)),
    }
    counted = {name: len(finder(db).find(ask, seconds=30).found) for name, ask in asked.items()}
    assert counted == {
        "since": 3,
        "agent": 10,
        "other agent": 0,
        "platform": 10,
        "other platform": 0,
        "person": 10,
        "nobody": 0,
        "limit": 2,
        "a stranger": 0,
    }
    db.close()


@pytest.mark.req("W25", "J24")
def test_nothing_is_shown_of_somebody_erased_whose_rows_are_still_there(folder: Path) -> None:
    db = index_of(folder, ["rain"])
    erased = Finder(db, is_erased=lambda one: one == "p_ann", monotonic=SystemClock().monotonic)
    assert erased.find(SearchAsk(text="rain"), seconds=30).found == ()
    assert found(db, "rain") == ["m_0"]
    db.close()


@pytest.mark.req("W25")
def test_a_snippet_is_one_line_around_what_was_found() -> None:
    question = read_question("needle", "anywhere")
    text = "é" * 300 + "\nthe NEEDLE\n" + "x" * 300
    shown = snippet(text, question)
    assert "the NEEDLE x" in shown
    assert len(shown) <= 202
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert snippet("a NEEDLE", question) == "a NEEDLE"


@pytest.mark.req("W25")
def test_folding_takes_case_accents_and_widths_away() -> None:
    assert fold("ÀÉÎ ＡＢＣ ﬁ Straße İ") == "aei abc fi strasse i"
    assert fold("が") != fold("か")
    assert words_of(fold("日本 go हिन्दी 👍🏽")) == ["日", "本", "go", "हिन्दी", "👍", "🏽"]
