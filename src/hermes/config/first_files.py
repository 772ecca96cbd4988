"""The files that `hermes init` writes: a commented `config.yaml`, and `.env` with the secrets.

Part of config. Files are replaced as a whole and only their owner can read them; the previous file
stays beside the new one.
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from hermes.config.dotenv import parse
from hermes.config.entries import PROVIDERS
from hermes.config.files import YAML
from hermes.config.json_schema import EDITOR_LINE, put_schema
from hermes.config.layers import DOTENV
from hermes.config.variables import variable_for, variable_of
from hermes.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class FirstChoices:
    """What the operator chose; a `provider` of local needs no key."""

    provider: str = "local"
    base_url: str | None = None
    model: str | None = None
    agent: str = "Hermes"
    port: int = 8080
    time_zone: str | None = None


@dataclass(frozen=True, slots=True)
class ExistingFiles:
    """The files that exist and would be replaced."""

    config: bool
    key: bool


def secret_variable(provider: str) -> str:
    """Return the name of the variable that holds a provider's key."""
    key = ("providers", provider, "api_key")
    return variable_for(key) or variable_of(key)


def existing(home: Path, *, provider: str, api_key: str | None) -> ExistingFiles:
    """Return which of the files would be replaced, and whether another key would be."""
    old = _values(home).get(secret_variable(provider))
    return ExistingFiles(
        config=(home / YAML).exists(),
        key=api_key is not None and old is not None and old != api_key,
    )


def write_files(home: Path, choices: FirstChoices, *, api_key: str | None) -> list[Path]:
    """Write what was chosen; return the files, those kept from before last."""
    written, kept = [], []
    if api_key is not None:
        path = home / DOTENV
        text = with_variable(file_text(path), secret_variable(choices.provider), api_key)
        kept += replace_file(path, text)
        written.append(path)
    put_schema(home)
    kept += replace_file(home / YAML, config_text(choices))
    return [*written, home / YAML, *kept]


def replace_file(path: Path, text: str) -> list[Path]:
    """Replace a file as a whole; return where the old one is now, if its content differed.

    A link to a file that is kept elsewhere stays a link: that file is replaced.
    """
    path = path.resolve()
    try:
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        kept = []
        if path.exists() and file_text(path) != text:
            kept = [_free_name(path)]
            os.link(path, kept[0])
            kept[0].chmod(0o600)
        draft.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror}); check who owns {path.parent} and "
            "whether its disk has room"
        ) from None
    return kept


def _free_name(path: Path) -> Path:
    number = 1
    while (found := path.with_name(f"{path.name}.old{number}")).exists():
        number += 1
    return found


def file_text(path: Path) -> str:
    """Return the content of a file; empty if it does not exist."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        raise ConfigurationError(
            f"{path} cannot be read, so nothing was written; make it a readable UTF-8 file, or "
            "move it away"
        ) from None


def _values(home: Path) -> dict[str, str]:
    return dict(parse(file_text(home / DOTENV)).values)


def with_variable(text: str, name: str, value: str) -> str:
    """Set one variable and leave every other line unchanged."""
    line = f"{name}={_quoted(value)}"
    own = re.compile(rf"^\s*(?:export\s+)?{name}\s*=.*$", re.MULTILINE)
    if own.search(text):
        return own.sub(lambda _: line, text, count=1)
    head = text or "# Secrets of this gateway: NAME=value lines, for its owner's eyes only.\n"
    return f"{head}{'' if head.endswith(chr(10)) else chr(10)}{line}\n"


def _quoted(value: str) -> str:
    if not re.search(r"[\s'\"#\\$]", value):
        return value
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _word(value: str) -> str:
    """Return a text as YAML parses it back: JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)


def _provider_lines(choices: FirstChoices) -> str:
    name, known = choices.provider, PROVIDERS.get(choices.provider, {})
    lines = [f"  {name}:"]
    if choices.base_url is not None and choices.base_url != known.get("base_url"):
        lines.append(f"    base_url: {_word(choices.base_url)}")
    if choices.model is not None:
        lines.append(f"    model: {_word(choices.model)}")
    if len(lines) == 1:
        lines = [f"  {name}: {{}}"]
    if name != "local":
        lines.append(f"    # Its key is {secret_variable(name)} in .env, or in the environment.")
    return "\n".join(lines)


def config_text(choices: FirstChoices) -> str:
    """Return the content of `config.yaml`; commented lines show the defaults."""
    zone = choices.time_zone
    return f"""\
{EDITOR_LINE}
# The settings of this gateway. docs/settings.md explains every key; lines that begin with # show
# what holds anyway, or examples. `hermes config show --origin` prints what holds and why, and
# `hermes config check` checks it. Secrets are in .env beside this file; the environment wins over both.

server:
  # 0.0.0.0 lets other machines in; put a proxy with TLS in front then.
  # host: 127.0.0.1
  port: {choices.port}
  # Where platforms reach this server for webhooks.
  # public_url: https://hermes.example.com

models:
  # `auto` takes the best that is there; or name one as provider:model.
  default: auto

# Where models run; with several, the next one answers if one cannot.
providers:
{_provider_lines(choices)}

# Who answers. You can add agents beside main; docs/people.md explains how one is chosen.
agents:
  main:
    name: {_word(choices.agent)}
    # chill, friendly, professional or hype
    # tone: friendly
    # role: a helpful assistant
    # system_prompt: You know everything about our shop.

# For schedules and daily times.
{"# time_zone: Europe/Paris" if zone is None else f"time_zone: {_word(zone)}"}

# What model calls may cost a day, in dollars, by everybody together.
# budgets:
#   platform_day_usd: 5

# A chat platform; its token belongs into .env (TELEGRAM_BOT_TOKEN), and switches it on.
# platforms:
#   telegram:
#     home_channel: "123456"

# Who is answered on it; everybody else gets a pairing code (`hermes pair approve`).
# access:
#   platforms:
#     telegram:
#       allow_from: ["123456"]
"""
