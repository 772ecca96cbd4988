"""Reads a channel's `manifest.toml`: what a platform can do and which settings it needs."""

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final, Literal

import msgspec

from hermes.errors import ConfigurationError
from hermes.message.markup.dialect import MarkupRow
from hermes.ports.channel import Capabilities
from hermes.ports.channel_rows import (
    AnswerRow,
    ChannelRows,
    MediaRow,
    RateRow,
    RefusalRow,
    SocketRow,
    WebhookRow,
)

_ONLY: Final = "manifest.toml"
_FLAGS = {"true": True, "yes": True, "on": True, "1": True}
_NAMED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_FLAGS |= {"false": False, "no": False, "off": False, "0": False, "": False}


class ManifestSetting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of a manifest's [settings] table.

    `env` is the environment variable usually used for it; with `enables`, setting that variable
    switches the platform on. `choices` are all values that a text may have; `risky` are values that
    work but are dangerous, each with its risk, and `hermes doctor` warns of them.

    The others are for `hermes channels add`. `ask` says whether it asks for the setting; by default
    it asks for required settings, secrets and choices. `needed_if` lists settings and values with
    which this one is needed ("" is unset, "*" is anything set); only then is it asked for. `usual`
    is proposed if there is no default. `generate` says how to generate a secret that is not given.
    `suggested` says that the package's `suggestions.py` can find a value. `entries` are the
    settings of each row of a table.
    """

    help: str
    type: Literal["text", "secret", "flag", "number", "list", "table"] = "text"
    required: bool = False
    default: Any = None
    env: str = ""
    enables: bool = False
    example: str = ""
    choices: tuple[str, ...] = ()
    risky: Mapping[str, str] = {}
    ask: bool | None = None
    needed_if: Mapping[str, str] = {}
    usual: str = ""
    generate: Literal["", "token", "whsec"] = ""
    suggested: bool = False
    entries: Mapping[str, "ManifestSetting"] = {}


class Auth(msgspec.Struct, frozen=True, kw_only=True):
    """How both sides authenticate; `lock` names the setting that one process may use at a time."""

    scheme: str
    webhook: str = ""
    also: str = ""
    lock: str = ""


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """What was verified about the channel, in the words that `tools/quality_gate.py` knows."""

    verified: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The whole manifest of a channel."""

    name: str
    label: str
    capabilities: Capabilities
    settings: Mapping[str, ManifestSetting] = {}
    limits: Mapping[str, float] = {}
    auth: Auth
    quality: Quality
    emoji: str = ""
    hint: str = ""
    needs: str = ""
    setup: tuple[str, ...] = ()
    webhook: WebhookRow | None = None
    answer: AnswerRow = AnswerRow()
    refusal: tuple[RefusalRow, ...] = ()
    rate: tuple[RateRow, ...] = ()
    media: Mapping[str, MediaRow] = {}
    socket: SocketRow | None = None
    markup: MarkupRow = MarkupRow()
    reactions: Mapping[Literal["seen", "working", "done"], str] = {}

    @property
    def rows(self) -> ChannelRows:
        """The rows that the parts of `channel_kit` read."""
        return ChannelRows(
            webhook=self.webhook,
            answer=self.answer,
            refusal=self.refusal,
            rate=self.rate,
            media=self.media,
            socket=self.socket,
            markup=self.markup,
            reactions=self.reactions,
        )


class ManifestFile(msgspec.Struct, frozen=True):
    """Where a manifest is: a package, and the file in it."""

    package: str
    file: str = _ONLY

    @property
    def make(self) -> str:
        """The name of the function in `channel.py` that makes the channel."""
        return "make" if self.file == _ONLY else f"make_{self.file.removesuffix('.toml')}"


def manifests_in(parent: str) -> Mapping[str, ManifestFile]:
    """Return the manifests in the packages of `parent` by platform; import nothing of them.

    A package has one `manifest.toml` and is named like its platform, or it offers several platforms,
    each with a manifest of its name, such as `instagram.toml`.
    """
    found: dict[str, ManifestFile] = {}
    for folder in resources.files(parent).iterdir():
        package = f"{parent}.{folder.name}"
        if (folder / _ONLY).is_file():
            found[folder.name] = ManifestFile(package)
        elif (folder / "channel.py").is_file():
            files = (one.name for one in folder.iterdir() if one.name.endswith(".toml"))
            found |= {file.removesuffix(".toml"): ManifestFile(package, file) for file in files}
    return dict(sorted(found.items()))


def load_capabilities(package: str, manifest: str = _ONLY) -> Capabilities:
    """Return the capabilities that a manifest of a channel's package declares."""
    try:
        return msgspec.convert(_tables(package, manifest)["capabilities"], Capabilities)
    except KeyError:
        raise ConfigurationError(f"{package}/{manifest} has no [capabilities] table.") from None
    except msgspec.ValidationError as problem:
        raise ConfigurationError(f"{package}/{manifest} does not fit: {problem}.") from None


def load_manifest(package: str, manifest: str = _ONLY) -> Manifest:
    """Return a whole manifest of a channel's package."""
    try:
        return msgspec.convert(_tables(package, manifest), Manifest)
    except msgspec.ValidationError as problem:
        raise ConfigurationError(f"{package}/{manifest} does not fit: {problem}.") from None


def _tables(package: str, manifest: str) -> dict[str, Any]:
    file = resources.files(package) / manifest
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"{package} has no {manifest}: every channel ships one.") from None
    except tomllib.TOMLDecodeError as problem:
        raise ConfigurationError(f"{package}/{manifest} does not fit: {problem}.") from None
    able = tables.get("capabilities")
    if isinstance(able, dict):
        # The outbox knows capabilities alone, and keeps to the rates.
        able["rates"] = tables.get("rate", [])
    return tables


def read_settings(manifest: Manifest, table: Mapping[str, object]) -> dict[str, Any]:
    """Return a value for every setting of the manifest; raises with the name of a wrong one.

    A setting that the manifest does not know is refused as a typing error.
    """
    known = manifest.settings
    for name in table:
        if name not in known:
            raise ConfigurationError(
                f"platforms.{manifest.name}.{name}: there is no such setting; known: "
                f"{', '.join(sorted(known))}"
            )
    return {
        name: read_value(f"platforms.{manifest.name}.{name}", table.get(name), setting=setting)
        for name, setting in known.items()
    }


def read_value(key: str, given: object, *, setting: ManifestSetting) -> Any:
    """Return the value of one setting; raises with its name if it is wrong or missing."""
    reveal = getattr(given, "get_secret_value", None)
    value = reveal() if callable(reveal) else given
    if isinstance(value, str):
        value = value.strip()
    if value is None or value == "":
        if setting.required:
            where = f" (or {setting.env} in the environment)" if setting.env else ""
            raise ConfigurationError(
                f"{key}: expected a value, found none: {setting.help} Set it{where}, or disable "
                "the platform: without it the channel does not start"
            )
        return () if setting.type == "list" and setting.default is None else setting.default
    return _READERS[setting.type](key, value, setting)


def _text(key: str, value: object, setting: ManifestSetting) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ConfigurationError(f"{key}: expected a text, found {type(value).__name__}; quote it")
    text = str(value)
    if setting.choices and text not in setting.choices:
        raise ConfigurationError(
            f"{key}: expected {' or '.join(setting.choices)}, found {text[:40]!r}"
        )
    return text


def _flag(key: str, value: object, _setting: ManifestSetting) -> bool:
    word = str(value).strip().lower()
    if word not in _FLAGS:
        raise ConfigurationError(f"{key}: expected true or false, found {word[:40]!r}")
    return _FLAGS[word]


def _number(key: str, value: object, setting: ManifestSetting) -> float | int:
    try:
        number = float(str(value))
    except ValueError:
        raise ConfigurationError(f"{key}: expected a number, found {str(value)[:40]!r}") from None
    return int(number) if isinstance(setting.default, int) and number.is_integer() else number


def _list(key: str, value: object, _setting: ManifestSetting) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    if isinstance(value, list | tuple):
        return tuple(str(item) for item in value)
    raise ConfigurationError(f"{key}: expected a list, found {type(value).__name__}")


def _secret(key: str, value: object, setting: ManifestSetting) -> str:
    """Return a secret; its value never appears in an error."""
    if not isinstance(value, str):
        raise ConfigurationError(f"{key}: expected a text, found {type(value).__name__}; quote it")
    return _text(key, _filled(key, value), msgspec.structs.replace(setting, choices=()))


def _filled(key: str, secret: str) -> str:
    """Refuse a secret that still contains a placeholder: everyone could read it in the docs."""
    left = _NAMED.search(secret)
    if left is not None:
        raise ConfigurationError(
            f"{key}: the variable {left[1]} is set neither in the environment nor in .env; set it, or "
            "disable the platform: without it the channel does not start"
        )
    return secret


def _table(key: str, value: object, _setting: ManifestSetting) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{key}: expected a table, found {type(value).__name__}")
    return {str(name): _revealed(f"{key}.{name}", item) for name, item in value.items()}


def _revealed(key: str, value: object) -> Any:
    """Return a value with every secret in it as plain text."""
    if isinstance(value, Mapping):
        return {str(name): _revealed(f"{key}.{name}", item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_revealed(key, item) for item in value]
    reveal = getattr(value, "get_secret_value", None)
    return _filled(key, str(reveal())) if callable(reveal) else value


_READERS = {
    "text": _text,
    "secret": _secret,
    "flag": _flag,
    "number": _number,
    "list": _list,
    "table": _table,
}
