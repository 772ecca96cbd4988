"""How hard a prompt looks, as a number from 0 to 1; a heuristic that asks no model.

Four signs, each from 0 to 1: the estimated tokens, a fenced block of code, different words that
ask for several steps, and where the length lies within a band. Each sign takes its weight's share
of what is still missing to 1, so more signs never make a prompt look easier.
"""

from hermes.config.routing import ComplexitySettings

_TICK = "`"
_FENCE = "```"
_CHARS_PER_TOKEN = 4


def complexity_of(prompt: str, words: frozenset[str], *, settings: ComplexitySettings) -> float:
    """Return the complexity of a prompt in which `words` were found."""
    length = len(prompt)
    tokens = min(1.0, length / _CHARS_PER_TOKEN / settings.tokens_full)
    # Most prompts have not even one tick, which is found out faster.
    code = settings.code_weight if _TICK in prompt and _FENCE in prompt else 0.0
    asked = len(words.intersection(settings.step_words)) if words else 0
    steps = min(1.0, asked / settings.steps_full)
    within = (length - settings.short_chars) / (settings.long_chars - settings.short_chars)
    rest = (
        (1 - settings.tokens_weight * tokens)
        * (1 - code)
        * (1 - settings.steps_weight * steps)
        * (1 - settings.length_weight * min(1.0, max(0.0, within)))
    )
    return 1 - rest
