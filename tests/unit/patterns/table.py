"""What the judge of regular expressions must know about some of them; every other one gets no mercy.

An expression that is in no table here is judged as one that sees text from outside, on `LARGEST`
characters.
"""

from typing import Final

from hermes.channels.email.client import MAX_LINE
from hermes.channels.matrix.client import SYNC_BYTES
from hermes.channels.webhook.inbound import MAX_BODY
from hermes.config.model_settings import CallSettings
from hermes.config.server_settings import ServerSettings
from hermes.graph import MAX_MESSAGE_BYTES
from hermes.message.markup.html_reader import MAX_MAIL_CHARS
from hermes.net.page_fetch import PageLimits
from hermes.net.untrusted_url import MAX_URL_CHARS
from hermes.tools.arguments import MAX_ARGUMENT_CHARS

LARGEST: Final = 262_144
_REQUEST: Final = ServerSettings().max_body_bytes
_CALL: Final = CallSettings().max_body_bytes
_PAGE: Final = PageLimits().body_bytes
# The `max_bytes` of the channel's manifest.
_MAIL: Final = 25_000_000
# `MAX_STYLED` of the page's markdown.js.
_STYLED: Final = 1 << 20

# Where the caller lets more through: by module, or by module and name of the expression.
LARGER: Final[dict[str, int]] = {
    # A line of the mail server's.
    "channels/email/imap_wire.py": MAX_LINE,
    # An answer of the homeserver.
    "channels/matrix/wire.py _TOKENS": SYNC_BYTES,
    # A request's body, or a message in one; the gate reads messages, too.
    "channels/rest/inbound.py": _REQUEST,
    "channels/web/inbound.py": _REQUEST,
    "pipeline/commands/rewind.py": _REQUEST,
    "sessions/commands.py": _REQUEST,
    "tools/gate.py": _REQUEST,
    "channel_kit/bodies.py _BRACKETS": MAX_BODY,
    # A part of the body of a call under /v1.
    "server/v1/file_parts.py _INLINE": _CALL,
    "server/v1/messages_shape.py": _CALL,
    "server/v1/responses_in.py": _CALL,
    "providers/openai/wire.py": _CALL,
    # A whole mail; a page for the page reader.
    "channels/email/mime.py _FIELD": _MAIL,
    "channels/email/quotes.py": MAX_MAIL_CHARS,
    "message/markup/references.py": max(_PAGE, MAX_MAIL_CHARS),
    # A page for a tool, or in a mail; read beside the loop.
    "message/markup/html_tokens.py": max(_PAGE, MAX_MAIL_CHARS),
    "message/markup/html_reader.py _SPACE": MAX_MAIL_CHARS,
    # The arguments of a tool call.
    "tools/arguments.py": MAX_ARGUMENT_CHARS,
    # A model's answer: a longer one cannot be kept.
    "message/reply_tags.py": MAX_MESSAGE_BYTES,
    "outbox/chunk_sends.py": MAX_MESSAGE_BYTES,
    # A longer reply is shown without styles.
    "channels/web/static/inline.js": _STYLED,
    "channels/web/static/markdown.js": _STYLED,
}

# Where the caller lets less through: by module, or by module and name, or text, of the expression.
SMALLER: Final = {
    # Its only caller refuses a longer schedule.
    "schedule/cron_words.py": 300,
    # It looks at the first 1,024 bytes of a page.
    "tools/builtin/web_fetch.py _DECLARED": 1024,
    # Longer addresses are not looked at.
    "server/v1/file_parts.py _ENDING": MAX_URL_CHARS,
    # Both ends of a prompt are read, not what is between them.
    "routing/keywords.py": 1300,
    # A line of a server.
    "contrib/irc/outbound.py _WAIT": 16_384,
    # A line that is eight times as long as what may be kept of it.
    "memory/encodings.py": 8192,
    # A longer message is no small talk.
    "message/trivial.py": 160,
    # The beginning of a longer text is enough.
    "message/markup/parse.py _NOT_LANGUAGE": 96,
    "net/retry_after.py _DURATION": 100,
    "pipeline/message_notes.py": 20_000,
    "provider_kit/service_failure.py _OWN_MATTER": 20_000,
    "provider_kit/echo.py _MASKS": 8192,
    "tools/gate_rules.py": 200_000,
    "tools/image_intents.toml": 200_000,
    "tools/mcp/interview.py": 100_000,
    # The digits of a price.
    "channels/web/static/view.js 0+$": 32,
}

# Those that are applied step by step beside the event loop: others run between two steps.
IN_STEPS: Final = frozenset({"channels/matrix/wire.py _TOKENS"})

# Modules or folders whose expressions never see text from outside, and why.
TRUSTED: Final = {
    "testing/": "stand-ins for the tests: they read what Hermes sends",
    "config/first_files.py": "the operator's own `.env` file",
    "tools/docstrings.py": "the docstrings of tools, which are code",
}

# Expressions that are built while the program runs, with an example of what they are built from.
BUILT: Final[dict[str, dict[str, object]]] = {
    "channel_kit/events.py begins": {"one_of": "hermes|bot", "mark": "@"},
    "channel_kit/events.py inside": {"one_of": "hermes|bot", "mark": "@"},
    "channels/matrix/inbound.py start": {"name": "hermes"},
    "channels/matrix/inbound.py re.compile(f'(?<!\\\\w){re.escape(name)}(?!\\\\w)', re.IGNORECASE)": {
        "name": "hermes"
    },
    "contrib/irc/inbound.py start": {"names": "hermes|bot", "edge": r"A-Za-z0-9\[\]\\`_^{|}\-"},
    "contrib/irc/inbound.py inner": {"names": "hermes|bot", "edge": r"A-Za-z0-9\[\]\\`_^{|}\-"},
    "routing/keywords.py re.compile(b' ' + tree)": {"tree": b"(?:co(?:de|py it)|fix)"},
    "routing/keywords.py re.compile(b'(?=( ' + tree + b'))')": {"tree": b"(?:co(?:de|py it)|fix)"},
    "schedule/cron_words.py f'\\\\b{name} time\\\\b'": {"name": "new york"},
    "message/markup/mark_line.py re.compile('|'.join(map(re.escape, longest)))": {
        "longest": ("@everyone", "<@", "*")
    },
    "message/markup/html_tokens.py re.compile(f'</{name}(?=[\\\\s/>])', re.IGNORECASE)": {
        "name": "script"
    },
    "tools/gate.py re.compile(f'\\\\b{re.escape(name)}\\\\b', flags=re.IGNORECASE)": {
        "name": "hermes"
    },
}

# Those of which no example says enough, and where they are judged instead.
ELSEWHERE: Final = {
    "channel_kit/setup_calls.py re.compile(row.names)": "those of the shipped manifests, below",
    "plugins/setting_rules.py re.compile(self.pattern)": "compiled only to see whether it is valid",
    "plugins/setting_rules.py re.compile(rules.pattern)": "those of the shipped manifests, below",
    "config/tool_settings.py re.compile(pattern)": "compiled only to see whether the operator's is valid",
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
    "channels/discord/manifest.toml": frozenset({"pattern", "names"}),
    "channels/email/manifest.toml": frozenset({"pattern"}),
    "channels/qq/manifest.toml": frozenset({"pattern"}),
    "channels/slack/manifest.toml": frozenset({"pattern"}),
    "channels/telegram/manifest.toml": frozenset({"pattern"}),
    "memory/injections.toml": frozenset({"marks", "lines", "texts"}),
    "tools/image_intents.toml": frozenset({"patterns"}),
}


def largest(place: str) -> int:
    """Return how many characters the caller of an expression lets through."""
    sizes = SMALLER | LARGER
    return sizes.get(place, sizes.get(place.partition(" ")[0], LARGEST))
