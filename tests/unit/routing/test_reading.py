"""What routing reads in a prompt: words, complexity, task types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.config.model_settings import ComplexitySettings, TaskKeywordSettings
from hermes.routing.decide import complexity_of
from hermes.routing.keywords import WordFinder
from hermes.routing.tasks import keywords_of, task_of

DEFAULT = ComplexitySettings()
KEYWORDS = keywords_of(TaskKeywordSettings())
FINDER = WordFinder({word for _, words in KEYWORDS for word in words} | set(DEFAULT.step_words))


def complexity(prompt: str, settings: ComplexitySettings = DEFAULT) -> float:
    return complexity_of(prompt, FINDER.find(prompt), settings=settings)


@pytest.mark.req("P3")
@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("EXPLAIN it", {"explain"}),
        ("an acronym", set()),
        ("cronjobs (cron)", {"cron"}),
        ("Batch-Processing!", {"batch process", "batch processing"}),
        ("fix\n\n bugs", {"fix bug"}),
        ("a system; C++ and 報告書", {"system", "c++", "報告"}),
        ("design a system", {"design a system", "system"}),
        ("", set()),
        ("\ud800 explain", {"explain"}),
    ],
)
def test_words_are_found_where_a_word_begins(prompt, found):
    words = ["explain", "cron", "batch process", "batch processing", "fix bug", "c++", "報告"]
    finder = WordFinder([*words, "system", "design a system"])

    assert finder.find(prompt) == found


@pytest.mark.req("P3")
def test_of_a_long_prompt_the_beginning_and_the_end_are_read():
    finder = WordFinder(["start", "middle", "finish"])

    assert finder.find("start " + "x " * 5_000 + "middle " + "x " * 5_000 + "finish") == {
        "start",
        "finish",
    }


@pytest.mark.req("P3")
@pytest.mark.parametrize(
    ("task", "prompts"),
    [
        (
            "code_generation",
            ["implement", "refactor", "fix bug", "write a function", "add endpoint"],
        ),
        (
            "deep_reasoning",
            ["explain", "analyze", "architect", "design a system", "compare", "evaluate"],
        ),
        (
            "automation_pipeline",
            ["automate", "pipeline", "schedule", "workflow", "cron", "bulk", "batch process"],
        ),
        ("batch_processing", ["batch processing", "batch job", "bulk run"]),
    ],
)
def test_the_sampled_keywords_tell_their_task_type(task, prompts):
    assert [task_of(FINDER.find(f"Please {one} it"), KEYWORDS) for one in prompts] == [task] * len(
        prompts
    )


@pytest.mark.req("P3")
def test_the_more_specific_task_type_is_told_first():
    both = FINDER.find("Schedule a bulk run in the nightly workflow and explain it")

    assert task_of(both, KEYWORDS) == "batch_processing"
    assert task_of(FINDER.find("Hello there"), KEYWORDS) is None


@pytest.mark.req("P3")
def test_no_word_tells_large_reasoning():
    assert "large_reasoning" not in dict(KEYWORDS)


@pytest.mark.req("P2")
def test_each_sign_alone_is_as_much_as_its_weight():
    steps = "compare and evaluate"
    alone = ComplexitySettings(tokens_weight=0.0, length_weight=0.0)

    assert complexity("") == 0.0
    assert complexity("```\nx\n```", alone) == pytest.approx(0.35)
    assert complexity("explain", alone) == pytest.approx(0.3)
    assert complexity(steps, alone) == pytest.approx(0.6)
    assert complexity("x" * 8_000, ComplexitySettings(length_weight=0.0)) == pytest.approx(0.5)
    assert complexity("x" * 4_000, ComplexitySettings(tokens_weight=0.0)) == pytest.approx(0.35)
    assert complexity("x" * 400, ComplexitySettings(tokens_weight=0.0)) == 0.0


@pytest.mark.req("P2")
def test_weights_and_words_are_configuration():
    settings = ComplexitySettings(step_words=("ponder",), steps_full=1, steps_weight=1.0)
    finder = WordFinder(settings.step_words)

    assert complexity_of("Ponder it", finder.find("Ponder it"), settings=settings) == 1.0


@pytest.mark.req("P2")
@given(st.text(max_size=300), st.text(max_size=300))
def test_complexity_is_within_0_and_1_and_more_text_never_looks_easier(first, second):
    whole = complexity(f"{first} {second}")

    assert 0.0 <= complexity(first) <= whole + 1e-9 <= 1.0 + 1e-9
