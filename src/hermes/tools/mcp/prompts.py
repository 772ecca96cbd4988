"""The prompts and resources of a server, and how a person names them; pure, and without the SDK.

A prompt is a command `/SERVER_PROMPT`; a resource is attached by writing `@SERVER:ADDRESS`. Both are
off unless the settings of the server say which. Names and texts of servers are untrusted.
"""

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import NamedTuple

import msgspec

from hermes.config import McpServerSettings
from hermes.errors import BadRequest
from hermes.tools.mcp.catalogue import secrets_of
from hermes.tools.mcp.clean_text import cleaned, one_line

# As long as a command may be, on all platforms.
_WORD_CHARS = 32
_DIGEST_CHARS = 6
_UNFIT = re.compile(r"[^a-z0-9_-]+")
_NAME_CHARS = 256
_ABOUT_CHARS = 100
_ADDRESS_CHARS = 1_000
_MOST_LISTED = 200
_MOST_ARGUMENTS = 20
_MOST_NOTES = 20
_ARGUMENT_CHARS = 10_000
_MOST_ATTACHED = 5
_ATTACHED = re.compile(r"(?<![\w@])@([a-z0-9][a-z0-9_-]*):([^\s<>\"]{1,1000})")
# What a sentence puts behind an address.
_AFTER = ".,;:!?)]}'"


class PromptArgument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument of a prompt; `shown` is its name as people see it."""

    name: str
    required: bool = False
    shown: str = ""


class ListedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as its server lists it."""

    name: str
    about: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class ListedResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource as its server lists it; a template has braces in its address."""

    uri: str
    about: str = ""


class PromptOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as people call it; `original` is the server's name for it."""

    word: str
    original: str
    about: str = ""
    arguments: tuple[PromptArgument, ...] = ()

    @property
    def use(self) -> str:
        """How its arguments are written."""
        return " ".join(one.shown if one.required else f"[{one.shown}]" for one in self.arguments)


class ServerOffers(msgspec.Struct, frozen=True):
    """The prompts and resources of a server that may be used, and what was left out."""

    prompts: tuple[PromptOffer, ...] = ()
    resources: tuple[ListedResource, ...] = ()
    notes: tuple[str, ...] = ()


class AttachedResource(NamedTuple):
    """A resource that a person names in a message."""

    server: str
    uri: str


def make_offered(
    server: str,
    prompts: Iterable[ListedPrompt],
    resources: Iterable[ListedResource],
    *,
    settings: McpServerSettings,
    mask: Callable[[str], str] = str,
) -> ServerOffers:
    """Return what may be used of a server's lists; a secret that the server repeats is masked."""
    notes: list[str] = []
    scrub = secrets_of(settings, mask=mask).scrub
    offers: dict[str, PromptOffer] = {}
    for prompt in prompts:
        if len(offers) >= _MOST_LISTED and len(notes) >= _MOST_NOTES:
            # The rest of a huge list is not worth the time.
            break
        if not _matches(prompt.name, settings.prompts):
            continue
        offer = _offer(server, prompt, scrub)
        if offer is None or offer.word in offers or len(offers) >= _MOST_LISTED:
            shown = scrub(one_line(prompt.name, 80))
            notes.append(f"the prompt {shown!r} is left out: {_why(offer)}")
        else:
            offers[offer.word] = offer
    fit = (one for one in resources if may_read(one.uri, settings))
    listed = tuple(
        ListedResource(
            uri=scrub(one_line(one.uri, _ADDRESS_CHARS)),
            about=scrub(one_line(one.about, _ABOUT_CHARS)),
        )
        for one, _ in zip(fit, range(_MOST_LISTED), strict=False)
    )
    return ServerOffers(tuple(offers.values()), listed, tuple(notes[:_MOST_NOTES]))


def may_read(uri: str, settings: McpServerSettings) -> bool:
    """Return whether a resource may be read, by its address."""
    return 0 < len(uri) <= _ADDRESS_CHARS and _matches(uri, settings.resources)


def server_of_word(word: str, servers: Mapping[str, McpServerSettings]) -> str | None:
    """Return the server whose prompt a command names: the longest name wins, connected or not.

    So a prompt `b_c` of `a` never takes the place of the prompt `c` of `a_b`.
    """
    fitting = [name for name in servers if word.startswith(f"{name}_")]
    longest = max(fitting, key=len, default=None)
    return longest if longest is not None and servers[longest].prompts else None


def read_arguments(text: str, offer: PromptOffer) -> dict[str, str]:
    """Return the arguments that a person wrote behind a command; raises `BadRequest`.

    `name=value` where all are named, otherwise in order; the last one takes the rest.
    """
    known = {one.name: one for one in offer.arguments}
    if len(text) > _ARGUMENT_CHARS:
        raise BadRequest(f"Write at most {_ARGUMENT_CHARS:,} characters behind /{offer.word}.")
    words = _words(text)
    named = [word.partition("=") for word in words]
    if words and all(sign and name in known for name, sign, _ in named):
        given = {name: value for name, _, value in named}
    else:
        given = _in_order(text, words, tuple(known))
    missing = [one.name for one in offer.arguments if one.required and not given.get(one.name)]
    if missing or (text.strip() and not known):
        takes = offer.use or "nothing behind it"
        raise BadRequest(f"/{offer.word} takes: {takes}")
    return given


def attached_in(text: str, servers: Collection[str]) -> tuple[AttachedResource, ...]:
    """Return the resources that a message names, without repeats; a few at most."""
    if "@" not in text:
        return ()
    found = dict.fromkeys(
        AttachedResource(name, uri.rstrip(_AFTER))
        for name, uri in _ATTACHED.findall(text)
        if name in servers
    )
    return tuple(found)[:_MOST_ATTACHED]


def _in_order(text: str, words: list[str], names: Sequence[str]) -> dict[str, str]:
    if len(names) == 1:
        return {names[0]: text.strip()} if text.strip() else {}
    *firsts, rest = [*words[: len(names) - 1], " ".join(words[len(names) - 1 :])]
    return {name: value for name, value in zip(names, [*firsts, rest], strict=False) if value}


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        # An apostrophe that opens no quotation.
        return text.split()


def _offer(server: str, prompt: ListedPrompt, scrub: Callable[[str], str]) -> PromptOffer | None:
    word = _word(server, prompt.name)
    is_fit = 0 < len(prompt.name) <= _NAME_CHARS and len(prompt.arguments) <= _MOST_ARGUMENTS
    if word is None or not is_fit or scrub(prompt.name) != prompt.name:
        return None
    return PromptOffer(
        word=word,
        original=prompt.name,
        about=scrub(one_line(cleaned(prompt.about, 1_000), _ABOUT_CHARS)),
        arguments=tuple(
            msgspec.structs.replace(one, shown=scrub(one_line(one.name, _ABOUT_CHARS)))
            for one in prompt.arguments
        ),
    )


def _word(server: str, name: str) -> str | None:
    """Return the command of a prompt; a digest tells those apart that would be the same."""
    plain = f"{server}_{_UNFIT.sub('_', name.lower())}"
    if len(plain) <= _WORD_CHARS and plain == f"{server}_{name}":
        return plain if plain[0].isalpha() else None
    digest = sha256(f"{server}\0{name}".encode(errors="surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    room = _WORD_CHARS - _DIGEST_CHARS - 1
    if len(server) + 2 > room or not plain[0].isalpha():
        return None
    return f"{plain[:room]}_{digest}"


def _why(offer: PromptOffer | None) -> str:
    if offer is None:
        return "its name or its server's cannot be a command or holds a secret, or it has too many arguments"
    return "there are too many, or it is listed twice"


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
