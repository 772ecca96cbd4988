"""The settings of one channel while `hermes channels add` collects them.

A place is a setting, or a setting in a row of a table. This module neither asks nor writes.
"""

import base64
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from hermes.config.files import YAML
from hermes.config.keys import dotted
from hermes.config.layers import ENVIRONMENT
from hermes.config.load import LoadedConfig
from hermes.config.platform_files import Place, own_key, platform_variable
from hermes.config.section import NAME_MEANING, NAME_PATTERN
from hermes.message.channel_name import settings_place
from hermes.plugins.manifest import Manifest, ManifestSetting, read_settings, read_value
from hermes.plugins.setting_rules import reason_of

_SECRET_BYTES = 32
_ROW_SIZE = 3


class ChannelSheet:
    """The settings known so far: `answers` are new; those in `made` were generated here.

    `channel` is the platform, or `platform/account` for one of its further accounts.
    """

    def __init__(
        self,
        manifest: Manifest,
        loaded: LoadedConfig,
        *,
        given: Mapping[str, str],
        channel: str = "",
    ) -> None:
        self.manifest = manifest
        self.channel = channel or manifest.name
        known = loaded.settings.channels.get(self.channel)
        self.present = dict(_places(manifest, {} if known is None else known.extra))
        self.found = {
            place: value
            for place, value in self.present.items()
            if _origin(loaded.origins, self.channel, place).startswith(f"{ENVIRONMENT} ")
        }
        self._origins = loaded.origins
        self.answers: dict[Place, str] = {place_of(manifest, n): v for n, v in given.items()}
        self.made: dict[Place, str] = {}
        # What was typed and is asked once more, without the secrets.
        self.typed: dict[Place, str] = {}
        self._given = frozenset(self.answers)
        self._check_rows()

    def setting(self, place: Place) -> ManifestSetting:
        """Return the manifest's entry for a place."""
        top = self.manifest.settings[place[0]]
        if len(place) == 1:
            return top
        return top.entries[place[2]] if top.entries else ManifestSetting(help=top.help)

    def variable(self, place: Place) -> str:
        """Return the variable that holds a setting."""
        return platform_variable(self.channel, *place, env=self.setting(place).env)

    # Any: what a setting holds is its manifest's business.
    def value(self, place: Place) -> Any:
        """Return the value or the default of a place; None if it has neither."""
        known = {**self.present, **self.answers}
        return known.get(place) or self.setting(place).default

    def rows(self, table: str) -> list[str]:
        """Return the names of a table's rows."""
        known = (*self.present, *self.answers)
        return list(dict.fromkeys(place[1] for place in known if place[0] == table and place[1:]))

    def places(self) -> Iterator[Place]:
        """Return every place known so far, in the manifest's order."""
        for name, setting in self.manifest.settings.items():
            if setting.entries:
                yield from ((name, row, one) for row in self.rows(name) for one in setting.entries)
            elif setting.type != "table":
                yield (name,)

    def is_needed(self, place: Place) -> bool:
        """Return whether a place needs a value, given the other values."""
        setting = self.setting(place)
        return setting.required or self._condition(place) is not None

    def is_asked(self, place: Place) -> bool:
        """Return whether the person is asked for a place."""
        setting = self.setting(place)
        if place in self.answers:
            return False
        if setting.ask is not None:
            return setting.ask or self.is_needed(place)
        if setting.needed_if:
            return self.is_needed(place)
        return setting.required or setting.type == "secret" or bool(setting.choices)

    def check(self, place: Place, text: str) -> None:
        """Raise `ConfigurationError` if a text is not valid at a place."""
        self._read(place, text)

    def check_row(self, row: str) -> None:
        """Raise `BadParameter` if a row may not have this name: its secrets are named after it."""
        if re.fullmatch(NAME_PATTERN, row) is None or "__" in row:
            raise typer.BadParameter(f"{row[:64]!r}: expected {NAME_MEANING}, no two '_' in a row")

    def make_up(self, place: Place) -> None:
        """Fill a place with a generated secret."""
        kind = self.setting(place).generate
        made = secrets.token_bytes(_SECRET_BYTES)
        text = (
            f"whsec_{base64.b64encode(made).decode()}"
            if kind == "whsec"
            else base64.urlsafe_b64encode(made).decode().rstrip("=")
        )
        self.answers[place] = self.made[place] = text

    def can_ask_again(self) -> bool:
        """Return whether anything was typed that can be corrected."""
        return any(place not in self._given and place not in self.made for place in self.answers)

    def ask_again(self) -> None:
        """Forget what was typed, so that it is asked once more; all but secrets is proposed then."""
        for place in [*self.answers]:
            if place not in self._given and place not in self.made:
                text = self.answers.pop(place)
                if not self._is_secret(place):
                    self.typed[place] = text

    def complete(self) -> None:
        """Generate the secrets that may be generated; raises `BadParameter` if one is missing."""
        for name, setting in self.manifest.settings.items():
            if setting.entries and setting.required and not self.rows(name):
                fields = ", ".join(setting.entries)
                raise typer.BadParameter(
                    f"{name} is missing: {setting.help} Add --set {name}.NAME.FIELD=VALUE; the fields "
                    f"are {fields}"
                )
        for place in self.places():
            if place in self.answers and self._is_secret(place):
                self._check_file(place)
            if self.value(place) or not self.is_needed(place):
                continue
            if not self.setting(place).generate:
                raise self._missing(place)
            self.make_up(place)

    def table(self, *, whole: bool = True) -> dict[str, Any]:
        """Return all settings, validated, as the channel receives them; raises for a wrong one.

        Without `whole`, the questions are not over: what other settings make necessary may be missing.
        """
        nested: dict[str, Any] = {}
        for place, value in {**self.present, **self.answers}.items():
            at = nested
            for name in place[:-1]:
                at = at.setdefault(name, {})
            at[place[-1]] = self._read(place, value) if place[1:] else value
        return read_settings(self.manifest, nested, whole=whole, at=settings_place(self.channel))

    def secrets(self) -> dict[Place, str]:
        """Return the secrets to write; a later gateway may not have today's environment."""
        return {place: str(value) for place, value in self._chosen() if self._is_secret(place)}

    def plain(self) -> dict[Place, Any]:
        """Return all other settings to write, as YAML values."""
        chosen = {place: value for place, value in self._chosen() if not self._is_secret(place)}
        written = {**self.present, **chosen}
        for place, _ in self._chosen():
            named = any(one[:2] == place[:2] and not self._is_secret(one) for one in written)
            if len(place) == _ROW_SIZE and not named:
                # A variable cannot spell every name: the file has to name the row.
                chosen |= self._first_default(place)
        return {place: _for_yaml(value) for place, value in chosen.items()}

    def _first_default(self, place: Place) -> dict[Place, Any]:
        entries = self.manifest.settings[place[0]].entries
        named = ((one, entry.default) for one, entry in entries.items() if entry.default)
        return {(*place[:2], one): default for one, default in [*named][:1]}

    def _chosen(self) -> list[tuple[Place, Any]]:
        return [
            (one, self._read(one, text)) for one, text in {**self.found, **self.answers}.items()
        ]

    def _read(self, place: Place, value: object) -> Any:
        setting = self.setting(place)
        key = f"{settings_place(self.channel)}.{dotted(place)}"
        return read_value(key, value, setting=setting)

    def _is_secret(self, place: Place) -> bool:
        return self.setting(place).type == "secret"

    def _condition(self, place: Place) -> Mapping[str, str] | None:
        """Return the other values that make a place necessary; None if they do not."""
        setting = self.setting(place)
        others = {name for one in setting.conditions for name in one}
        return setting.condition_in({one: self.value((*place[:-1], one)) for one in others})

    def _missing(self, place: Place) -> typer.BadParameter:
        setting, name, because = self.setting(place), dotted(place), self._condition(place)
        reason = f" (as {reason_of(because)})" if because else ""
        return typer.BadParameter(
            f"{name} is missing{reason}: {setting.help} Add --set {name}=VALUE, or set {self.variable(place)} in "
            "the environment"
        )

    def _check_file(self, place: Place) -> None:
        """Refuse a secret for `.env` if config.yaml would override it."""
        if _origin(self._origins, self.channel, place) == YAML:
            raise typer.BadParameter(
                f"{dotted(place)} is set in config.yaml, which overrides .env; change it there, or "
                "remove it there first"
            )

    def _check_rows(self) -> None:
        for place in self.answers:
            if len(place) == _ROW_SIZE:
                self.check_row(place[1])


def place_of(manifest: Manifest, name: str) -> Place:
    """Return the place that `--set NAME=...` names; raises `BadParameter` if there is none."""
    first, _, rest = name.partition(".")
    setting = manifest.settings.get(first)
    if setting is None or (rest and setting.type != "table"):
        known = ", ".join(sorted(manifest.settings))
        raise typer.BadParameter(
            f"--set {name[:64]}: {manifest.label} has no such setting; known: {known}"
        )
    if setting.type != "table":
        return (first,)
    if not setting.entries and rest:
        return (first, rest)
    row, _, field = rest.rpartition(".")
    if not row or field not in setting.entries:
        fields = f".FIELD=VALUE; the fields are {', '.join(setting.entries)}"
        raise typer.BadParameter(
            f"--set {name[:64]}: expected --set {first}.NAME"
            + (fields if setting.entries else "=VALUE")
        )
    return (first, row, field)


def _places(manifest: Manifest, extra: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    """Return the settings that have a value, place by place."""
    for name, value in extra.items():
        setting = manifest.settings.get(name)
        if setting is None or value in (None, ""):
            continue
        if setting.type != "table" or not isinstance(value, Mapping):
            yield (name,), value
            continue
        for row, held in value.items():
            if setting.entries and isinstance(held, Mapping):
                yield from (((name, row, one), it) for one, it in held.items())
            else:
                yield (name, row), held


def _origin(origins: Mapping[str, str], channel: str, place: Place) -> str:
    return origins.get(dotted(own_key(channel, *place)), "")


# Any: what a setting holds is its manifest's business.
def _for_yaml(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return list(value) if isinstance(value, tuple) else value
