"""The questions of `hermes init`; Enter accepts the default."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from getpass import getpass
from zoneinfo import ZoneInfo

import typer

from hermes.cli.picker import pick
from hermes.cli.terminal import error_console
from hermes.config import system_zone
from hermes.config.entries import PROVIDERS
from hermes.config.first_files import FirstChoices, secret_variable
from hermes.config.section import NAME_MEANING, NAME_PATTERN
from hermes.similar_words import nearest

_OWN_SERVERS = frozenset({"vllm", "llamacpp", "lmstudio", "ollama"})
_URL = re.compile(r"https?://[^\s/@]+(/\S*)?")
_DEFAULT_PORT = 8080
_LAST_PORT = 65_535
_WHICH_MODEL = "Which of its models?"
# Asks a service for the names of its models, with the key that was given; empty if it has no list.
ListModels = Callable[[FirstChoices, str | None], Sequence[str]]


@dataclass(frozen=True, slots=True)
class InitAnswers:
    """The command-line options; None is asked for, or takes the default."""

    provider: str | None = None
    api_key: str | None = None
    base_url: str | None = None
    model: str | None = None
    agent: str | None = None
    port: int | None = None
    time_zone: str | None = None


def ask_all(
    given: InitAnswers,
    environ: Mapping[str, str],
    *,
    yes: bool,
    known: Sequence[str],
    list_models: ListModels,
) -> tuple[FirstChoices, str | None]:
    """Return the choices and the key; with `yes` nothing is asked."""
    ask = _Asking(yes=yes)
    _check_named(given, known)
    provider = given.provider or _provider(ask, environ, known)
    _check(re.fullmatch(NAME_PATTERN, provider), f"{provider!r}: expected {NAME_MEANING}")
    base_url = given.base_url or _base_url(ask, provider)
    _check(base_url is None or _URL.fullmatch(base_url), f"{base_url!r} is not an http(s) address")
    own_key = _key(ask, given, environ, provider=provider)
    model = given.model
    if model is None and provider != "local":
        asked = FirstChoices(provider=provider, base_url=base_url, model="any")
        model = _model(ask, asked, lambda: list_models(asked, own_key))
    port = given.port
    if port is None:
        port = int(
            ask.text("Which port should it listen on?", default=str(_DEFAULT_PORT), wrong=_bad_port)
        )
    zone = given.time_zone or ask.text("Which time zone?", default=system_zone(), wrong=_bad_zone)
    _check(_bad_zone(zone) is None, _bad_zone(zone) or "")
    agent = given.agent or ask.text("What is the agent's name?", default="Hermes")
    choices = FirstChoices(
        provider=provider,
        base_url=base_url,
        model=model,
        agent=agent,
        port=port,
        time_zone=zone,
    )
    return choices, own_key


def _provider(ask: "_Asking", environ: Mapping[str, str], known: Sequence[str]) -> str:
    """Return the service that answers: a known one, or the name of a server of the person's own."""
    default = _found(environ, known)
    if ask.yes:
        return default
    keys = [name for name in known if environ.get(secret_variable(name))]
    notes = {
        "hermes": "(Nous Research)",
        "local": "(demonstration, no key)",
        **dict.fromkeys(keys, "(key found)"),
    }
    return pick(
        "Which model service answers? Its number or name, a part of it, or a name of your own",
        known,
        default=default,
        notes=notes,
        unlisted=lambda name: _own_service(name, known),
    )


def _own_service(name: str, known: Sequence[str]) -> str | None:
    """Return what an unknown name of a service is, or None if it was a mistake."""
    meant = nearest(name, list(known))
    if meant is not None and confirm(f"Did you mean {meant}?", default=True):
        return meant
    if re.fullmatch(NAME_PATTERN, name) is None:
        error_console().print(f"{name!r}: expected {NAME_MEANING}", markup=False)
        return None
    question = f"Hermes does not know {name}. Is it a server of your own, with OpenAI's API?"
    return name if confirm(question, default=False) else None


def _model(ask: "_Asking", asked: FirstChoices, offered: Callable[[], Sequence[str]]) -> str:
    """Return one of the service's models; those that it lists are offered."""
    usual = str(PROVIDERS.get(asked.provider, {}).get("model") or "")
    names = () if ask.yes else offered()
    if not names:
        return ask.text(_WHICH_MODEL, default=usual, wrong=_if_empty)
    return pick(
        f"{_WHICH_MODEL} Its number or name, or a part of it",
        names,
        default=usual if usual in names else names[0],
        unlisted=lambda name: _unlisted_model(name, asked.provider),
    )


def _unlisted_model(name: str, provider: str) -> str | None:
    question = f"{provider} does not list {name}. Use it anyway?"
    return name if confirm(question, default=False) else None


def confirm(question: str, *, default: bool) -> bool:
    """Ask a yes/no question."""
    return typer.confirm(question, default=default, err=True)


class _Asking:
    """Asks, or takes the default if nothing may be asked."""

    def __init__(self, *, yes: bool) -> None:
        self.yes = yes

    def text(
        self, question: str, *, default: str, wrong: Callable[[str], str | None] = lambda _: None
    ) -> str:
        """Return an answer; ask again as long as `wrong` says what is wrong with it."""
        while True:
            answer = default if self.yes else typer.prompt(question, default=default, err=True)
            answer = str(answer).strip()
            problem = wrong(answer)
            if problem is None:
                return answer
            _check(not self.yes, f"{question} With --yes, give the answer as an option.")
            error_console().print(problem, markup=False)


def _found(environ: Mapping[str, str], known: Sequence[str]) -> str:
    """Return the first service whose key is in the environment."""
    return next((name for name in known if environ.get(secret_variable(name))), "local")


def _check_named(given: InitAnswers, known: Sequence[str]) -> None:
    """Refuse an unknown service if the options do not give its address."""
    name = given.provider
    if name is None or name in known or given.base_url is not None:
        return
    meant = nearest(name, list(known))
    hint = "" if meant is None else f" Did you mean {meant}?"
    raise typer.BadParameter(
        f"--provider {name[:40]!r} is not a model service that Hermes knows.{hint} It knows "
        f"{', '.join(known)}. For a server of your own, add --base-url and --model."
    )


def _base_url(ask: _Asking, provider: str) -> str | None:
    if provider in PROVIDERS and provider not in _OWN_SERVERS:
        return None
    usual = str(PROVIDERS.get(provider, {}).get("base_url", "http://127.0.0.1:8000/v1"))
    return ask.text("What is its address?", default=usual)


def _key(
    ask: _Asking, given: InitAnswers, environ: Mapping[str, str], *, provider: str
) -> str | None:
    """Return the key to write; None if there is none, or if it should not be written."""
    if given.api_key is not None or provider == "local":
        return given.api_key
    variable = secret_variable(provider)
    present = environ.get(variable)
    if present:
        question = f"{variable} is in the environment. Keep it in .env, too?"
        return present if ask.yes or confirm(question, default=True) else None
    if ask.yes:
        return None
    note = " (Enter for none)" if provider in _OWN_SERVERS or provider not in PROVIDERS else ""
    return ask_key(note) or None


def ask_key(note: str = "") -> str:
    """Ask for a key without showing what is typed."""
    # typer would write the question before it hides what is typed.
    return getpass(f"Its key{note}: ").strip()


def _check(is_right: object, text: str) -> None:
    if not is_right:
        raise typer.BadParameter(text)


def _if_empty(answer: str) -> str | None:
    return None if answer else "Please enter a value."


def _bad_port(answer: str) -> str | None:
    """Return what is wrong with a port."""
    is_port = answer.isascii() and answer.isdecimal() and len(answer) < 9
    if is_port and int(answer) <= _LAST_PORT:
        return None
    return f"Please enter a number from 0 to {_LAST_PORT}."


def _bad_zone(name: str) -> str | None:
    """Return what is wrong with a time zone."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return f"{name[:80]!r} is not a time zone that this system knows; one is Europe/Paris"
    return None
