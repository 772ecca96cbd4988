"""Reads a channel's `manifest.toml`: what a platform can do and which settings it needs."""

import math
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from hermes.errors import ConfigurationError
from hermes.message.markup.dialect import MarkupRow
from hermes.plugins.requirements import Requirements
from hermes.plugins.setting_rules import (
    SettingRules,
    check_rules,
    reason_of,
    unknown_names,
)
from hermes.ports.channel import Capabilities
from hermes.ports.channel_rows import (
    AnswerRow,
    ChannelRows,
    MediaRow,
    ProofRow,
    RateRow,
    RefusalRow,
    SocketRow,
    WebhookRow,
)
from hermes.ports.setup_rows import SetupRows

_ONLY: Final = "manifest.toml"
_FLAGS = {"true": True, "yes": True, "on": True, "1": True}
_NAMED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_FLAGS |= {"false": False, "no": False, "off": False, "0": False, "": False}


class ManifestSetting(SettingRules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of a manifest's [settings] table, and the rules for its value.

    `env` is the environment variable usually used for it; with `enables`, setting that variable
    switches the platform on. `choices` are all values that a text may have; `risky` are values that
    work but are dangerous, each with its risk, and `hermes doctor` warns of them.

    The others are for `hermes channels add`. `ask` says whether it asks for the setting; by default
    it asks for required settings, secrets and choices, and for one with `needed_if` only if it is needed.
    `usual` is proposed if there is no default. `generate` says how to generate a secret that is not given.
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
    usual: str = ""
    generate: Literal["", "token", "whsec"] = ""
    suggested: bool = False
    entries: Mapping[str, "ManifestSetting"] = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_names(self.entries)


class Auth(msgspec.Struct, frozen=True, kw_only=True):
    """How both sides authenticate; `lock` names the setting that one process may use at a time.

    Settings that it is one credential only together with, such as a server, come before it. `ids_of`
    names the setting, such as a server, within which the ids of people mean the same people: accounts
    of one gateway must have the same value.
    """

    scheme: str
    webhook: str = ""
    also: str = ""
    lock: str = ""
    ids_of: str = ""


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """What was verified about the channel, in the words that `tools/quality_gate.py` knows."""

    verified: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The whole manifest of a channel.

    `home_channel_env` is the variable for the platform's home channel, besides NAME_HOME_CHANNEL.
    """

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
    requires: Requirements = Requirements()
    home_channel_env: str = ""
    setup: SetupRows = SetupRows()
    webhook: WebhookRow | None = None
    proofs: Mapping[str, ProofRow] = {}
    answer: AnswerRow = AnswerRow()
    refusal: tuple[RefusalRow, ...] = ()
    rate: tuple[RateRow, ...] = ()
    media: Mapping[str, MediaRow] = {}
    socket: SocketRow | None = None
    markup: MarkupRow = MarkupRow()
    reactions: Mapping[Literal["seen", "working", "done"], str] = {}

    def __post_init__(self) -> None:
        _check_names(self.settings)

    @property
    def rows(self) -> ChannelRows:
        """The rows that the parts of `channel_kit` read."""
        return ChannelRows(
            webhook=self.webhook,
            proofs=self.proofs,
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


def load_capabilities_at(file: Path) -> Capabilities | None:
    """Return the capabilities of a manifest that may be wrong, such as a plugin's; None if it is."""
    try:
        tables = _completed(tomllib.loads(file.read_text(encoding="utf-8")))
        return msgspec.convert(tables["capabilities"], Capabilities)
    except (OSError, ValueError, KeyError, msgspec.ValidationError):
        return None


def _tables(package: str, manifest: str) -> dict[str, Any]:
    file = resources.files(package) / manifest
    try:
        tables = _completed(tomllib.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ConfigurationError(f"{package} has no {manifest}: every channel ships one.") from None
    except tomllib.TOMLDecodeError as problem:
        raise ConfigurationError(f"{package}/{manifest} does not fit: {problem}.") from None
    return tables


def _completed(tables: dict[str, Any]) -> dict[str, Any]:
    """Let `setup` be nothing but its steps, and `setup.register` a single row; share the rates."""
    able = tables.get("capabilities")
    if isinstance(able, dict):
        # The outbox knows capabilities alone, and keeps to the rates.
        able["rates"] = tables.get("rate", [])
    setup = tables.get("setup", {})
    if isinstance(setup, list):
        tables["setup"] = {"steps": setup}
    elif isinstance(setup, dict) and isinstance(setup.get("register"), dict):
        setup["register"] = [setup["register"]]
    return tables


def read_settings(
    manifest: Manifest, table: Mapping[str, object], *, whole: bool = True, at: str = ""
) -> dict[str, Any]:
    """Return a value for every setting of the manifest; raises with the name of a wrong one.

    A setting that the manifest does not know is refused as a typing error. Without `whole`, one that
    `needed_if` makes necessary may still be missing. `at` is where the settings are, if not directly
    below the platform.
    """
    at = at or f"platforms.{manifest.name}"
    known = manifest.settings
    for name in table:
        if name not in known:
            raise ConfigurationError(
                f"{at}.{name}: there is no such setting; known: {', '.join(sorted(known))}"
            )
    values = {
        name: read_value(f"{at}.{name}", table.get(name), setting=setting)
        for name, setting in known.items()
    }
    if whole:
        _check_needed(at, values, known)
    return values


def read_value(key: str, given: object, *, setting: ManifestSetting) -> Any:
    """Return the value of one setting; raises with its name if it is wrong or missing."""
    reveal = getattr(given, "get_secret_value", None)
    value = reveal() if callable(reveal) else given
    if isinstance(value, str):
        value = value.strip()
    if value is None or value == "":
        if setting.required:
            raise _missing(key, setting)
        return () if setting.type == "list" and setting.default is None else setting.default
    read = _READERS[setting.type](key, value, setting)
    check_rules(key, read, setting, is_hidden=setting.type == "secret")
    return read


def _check_names(settings: Mapping[str, ManifestSetting]) -> None:
    unknown = unknown_names(settings)
    if unknown:
        raise ValueError(f"needed_if names {', '.join(unknown)}, which is no setting")


def _check_needed(
    above: str, values: Mapping[str, Any], settings: Mapping[str, ManifestSetting]
) -> None:
    """Refuse settings of which one is missing that the others make necessary."""
    for name, setting in settings.items():
        because = None if values[name] not in (None, "", ()) else setting.condition_in(values)
        if because is not None:
            raise _missing(f"{above}.{name}", setting, reason=f", and {reason_of(because)}")


def _missing(key: str, setting: ManifestSetting, *, reason: str = "") -> ConfigurationError:
    where = f" (or {setting.env} in the environment)" if setting.env else ""
    hint = f" {setting.hint[0].upper()}{setting.hint[1:]}." if setting.hint else ""
    return ConfigurationError(
        f"{key}: expected a value, found none{reason}: {setting.help}{hint} Set it{where}, or disable "
        "the platform: without it the channel does not start"
    )


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
        number = math.nan
    if not math.isfinite(number):
        raise ConfigurationError(f"{key}: expected a number, found {str(value)[:40]!r}")
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


def _table(key: str, value: object, setting: ManifestSetting) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{key}: expected a table, found {type(value).__name__}")
    if setting.entries:
        for name, row in value.items():
            _check_row(f"{key}.{name}", row, setting.entries)
    return {str(name): _revealed(f"{key}.{name}", item) for name, item in value.items()}


def _check_row(key: str, row: object, entries: Mapping[str, ManifestSetting]) -> None:
    """Refuse a row that breaks the rules of its entries."""
    if not isinstance(row, Mapping):
        raise ConfigurationError(f"{key}: expected a table, found {type(row).__name__}")
    for name in row:
        if name not in entries:
            raise ConfigurationError(
                f"{key}.{name}: there is no such setting; known: {', '.join(sorted(entries))}"
            )
    values = {
        name: read_value(f"{key}.{name}", row.get(name), setting=setting)
        for name, setting in entries.items()
    }
    _check_needed(key, values, entries)


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
