"""What the judge of regular expressions must know about some of them; every other one gets no mercy.

An expression that is in no table here is judged as one that sees text from outside, on `LARGEST`
characters. Callers that let more through are judged on that many, too: what is not linear shows itself
long before.
"""

from typing import Final

LARGEST: Final = 262_144

# Where the caller lets less through: by module, or by module and name, or text, of the expression.
SMALLER: Final = {
    # Its only caller refuses a longer schedule.
    "schedule/cron_words.py": 300,
    # It looks at the first 1,024 bytes of a page.
    "tools/builtin/charset.py _DECLARED": 1024,
    # The digits of a price.
    "channels/web/static/view.js 0+$": 32,
}

# Modules or folders whose expressions never see text from outside, and why.
TRUSTED: Final = {
    "testing/": "stand-ins for the tests: they read what Hermes sends",
    "config/first_files.py": "the operator's own `.env` file",
    "tools/docstrings.py": "the docstrings of tools, which are code",
}

# Expressions that are built while the program runs, with an example of what they are built from.
BUILT: Final[dict[str, dict[str, object]]] = {
    "channels/email/html_text.py re.compile(f'</{tag}', re.I)": {"tag": "style"},
    "channels/matrix/inbound.py start": {"name": "hermes"},
    "channels/matrix/inbound.py re.compile(f'(?<!\\\\w){re.escape(name)}(?!\\\\w)', re.IGNORECASE)": {
        "name": "hermes"
    },
    "channels/slack/mrkdwn.py found": {"user_id": "U123"},
    "contrib/irc/inbound.py start": {"names": "hermes|bot", "edge": r"A-Za-z0-9\[\]\\`_^{|}\-"},
    "contrib/irc/inbound.py inner": {"names": "hermes|bot", "edge": r"A-Za-z0-9\[\]\\`_^{|}\-"},
    "routing/words.py re.compile(b' ' + tree)": {"tree": b"(?:co(?:de|py it)|fix)"},
    "routing/words.py re.compile(b'(?=( ' + tree + b'))')": {"tree": b"(?:co(?:de|py it)|fix)"},
    "schedule/cron_words.py f'\\\\b{name} time\\\\b'": {"name": "new york"},
    "tools/builtin/html_tokens.py re.compile(f'</{name}(?=[\\\\s/>])', re.IGNORECASE)": {
        "name": "script"
    },
    "tools/gate.py re.compile(f'\\\\b{re.escape(name)}\\\\b', flags=re.IGNORECASE)": {
        "name": "hermes"
    },
}

# Those of which no example says enough, and where they are judged instead.
ELSEWHERE: Final = {
    "config/tools.py re.compile(pattern)": "compiled only to see whether the operator's is valid",
    "tools/image_intents.py re.compile(pattern)": "the shipped data, below; or the operator's",
    "schedule/cron_words.py found": "each argument of `take` is judged by itself",
    "memory/injections.py re.compile(f'{begun}(?!{inside})|{begun}|{core}')": (
        "made of the shipped words: tests/unit/memory/test_sanitiser.py times the whole"
    ),
    "memory/injections.py re.compile('|'.join((f'(?:{one})' for one in patterns)))": (
        "the shipped data, below"
    ),
}

# Shipped data that holds expressions, and the keys that they are under.
DATA: Final = {
    "memory/injections.toml": frozenset({"marks", "lines", "texts"}),
    "tools/image_intents.toml": frozenset({"patterns"}),
}


def largest(place: str) -> int:
    """Return how many characters the caller of an expression lets through, at most `LARGEST`."""
    return SMALLER.get(place, SMALLER.get(place.partition(" ")[0], LARGEST))
