"""Which kind of task a prompt is, by its words; more specific kinds are tried first."""

from hermes.config.model_settings import TASKS, TaskKeywordSettings

Keywords = tuple[tuple[str, frozenset[str]], ...]
"""Task types with the words that tell them, in the order in which they are looked for."""


def keywords_of(settings: TaskKeywordSettings) -> Keywords:
    """Return the words of every task type that has any."""
    listed = ((task, frozenset(getattr(settings, task, ()))) for task in TASKS)
    return tuple((task, words) for task, words in listed if words)


def task_of(words: frozenset[str], keywords: Keywords) -> str | None:
    """Return the task type of a prompt in which `words` were found, or None if unclear."""
    if not words:
        return None
    return next((task for task, told in keywords if not told.isdisjoint(words)), None)
