"""The calls of a platform's set-up by the rows of its manifest: the proof, the registering, the scan.

`hermes channels add` and `hermes doctor` make them. Nothing that is returned or raised holds a secret.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from hermes.channel_kit.api import Api
from hermes.channel_kit.refusals import ApiAnswer, field_of
from hermes.errors import ConfigurationError
from hermes.message.ids import MakeId
from hermes.net.client import HttpClient
from hermes.ports.channel_rows import ChannelRows
from hermes.ports.setup_rows import CommandsRow, RegisterRow, SetupCall, SetupRows, meets

_PLACE: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
# What a part of a path may hold besides letters and digits: a slash would lead elsewhere.
_IN_PATH: Final = ":@!$'()*,;=~"
_MOST_SHOWN: Final = 200
_LONGEST_CODE: Final = 2_000
# How deep the fields of an answer are looked for: it comes from outside.
_DEEPEST: Final = 4
_NO_VALUES: Final[Mapping[str, Any]] = {}

Sleep = Callable[[float], Awaitable[None]]
ShowCode = Callable[[str], None]


class SetupCommand(msgspec.Struct, frozen=True):
    """A chat command as a platform lists it."""

    name: str
    about: str
    use: str = ""


class CredentialProof(msgspec.Struct, frozen=True, kw_only=True):
    """What the platform says of a credential: whose it is, and where the bot is invited."""

    shows: str
    invite: str = ""


class SetupCalls:
    """The set-up calls of one platform with one table of settings.

    `secrets` are the names of the settings that are never shown.
    """

    def __init__(
        self,
        client: HttpClient,
        rows: SetupRows,
        *,
        platform: str,
        settings: Mapping[str, Any],
        secrets: Sequence[str],
        make_id: MakeId,
        webhook_url: str | None = None,
        wire: ChannelRows | None = None,
        commands: Sequence[SetupCommand] = (),
    ) -> None:
        self._rows = rows
        self._platform = platform
        self._settings = settings
        self._values: dict[str, Any] = {
            **{name: value for name, value in settings.items() if value not in (None, "")},
            **({"webhook_url": webhook_url} if webhook_url else {}),
        }
        self._commands = commands
        hidden = [str(settings[name]) for name in secrets if settings.get(name)]
        self._api = Api(
            client,
            platform=platform,
            base_url=self._filled(rows.base, at=_address) if self._is_filled(rows.base) else "",
            make_id=make_id,
            rows=wire or ChannelRows(),
            headers=self._headers(rows.headers),
            masked=hidden,
            hosts=rows.hosts,
        )

    def __repr__(self) -> str:
        return f"SetupCalls(platform={self._platform!r})"

    async def prove(self) -> CredentialProof | None:
        """Ask the platform whose the credential is; None if the manifest has no such call for it."""
        row = self._rows.prove
        if row is None or not meets(self._settings, row.when):
            return None
        found = await self._called(row, has=row.has)
        self._values |= _fields("proven", found)
        shown = self._filled(row.shows, values=_fields("", found))
        return CredentialProof(shows=self._shown(shown), invite=self._invite())

    def registers(self) -> tuple[RegisterRow, ...]:
        """Return the rows of what can be registered with these settings."""
        return tuple(one for one in self._rows.register if meets(self._settings, one.when))

    def does(self, row: RegisterRow) -> str:
        """Return what registering a row does, in words."""
        return self._shown(self._filled(row.does))

    async def register(self, row: RegisterRow) -> None:
        """Make the call of a row; raise a `HermesError` if it did not succeed."""
        await self._called(row, values={"commands": self._listed(row.commands)})

    async def scan(self, show: ShowCode, *, sleep: Sleep = asyncio.sleep) -> Mapping[str, str]:
        """Show a code and wait until somebody has scanned it; return the settings that it gave."""
        row = self._rows.qr
        if row is None:
            raise ConfigurationError(f"{self._platform}: there is no code to scan")
        begun = await self._called(row.start)
        show(self._text_at(begun, row.code)[:_LONGEST_CODE])
        values = _fields("scan", begun)
        for _ in range(max(1, round(row.within_s / row.every_s))):
            found = await self._called(row.poll, values=values)
            state = str(field_of(found, row.state))
            if state == row.done:
                return {name: self._text_at(found, path) for name, path in row.sets.items()}
            if state not in row.waiting:
                raise ConfigurationError(
                    f"{self._platform}: the scan ended ({self._shown(state)}); start it once more"
                )
            await sleep(row.every_s)
        raise ConfigurationError(
            f"{self._platform}: nobody scanned the code within {row.within_s:g} s; start once more"
        )

    def _invite(self) -> str:
        row = self._rows.invite
        return self._api.mask(self._filled(row, at=_part)) if row and self._is_filled(row) else ""

    # Any: each call of each platform has its own answer.
    async def _called(
        self, row: SetupCall, *, values: Mapping[str, Any] = _NO_VALUES, has: str = ""
    ) -> Any:
        self._filled(self._rows.base)
        path = self._filled(row.path, values=values, at=_part)
        said = await self._api.ask(
            row.method,
            path,
            json=None if row.json is None else self._body(row.json, values),
            form=None if row.form is None else self._body(row.form, values),
            headers=self._headers(row.headers, values),
        )
        if has and not field_of(said.found, has):
            said = msgspec.structs.replace(said, ok=False)
        if not said.ok or said.found is None:
            raise self._refusal(row, said)
        return said.found

    def _refusal(self, row: SetupCall, said: ApiAnswer) -> ConfigurationError:
        told = dict.fromkeys((str(said.status), said.code, said.sentence))
        words = " ".join(one for one in told if one)
        how = f"was refused ({words})" if not said.ok else f"has an unreadable answer ({words})"
        hint = row.hint or "correct the settings that it uses"
        name = row.path.partition("?")[0].strip("/")
        return ConfigurationError(f"{self._platform}: {name} {how}; {hint}")

    def _headers(
        self, rows: Mapping[str, str], values: Mapping[str, Any] = _NO_VALUES
    ) -> dict[str, str]:
        """Return headers; one whose value is not set yet is left out."""
        return {
            name: self._filled(text, values=values)
            for name, text in rows.items()
            if self._is_filled(text, values)
        }

    def _body(self, row: Any, values: Mapping[str, Any]) -> Any:
        """Return a body; a text that is nothing but a name becomes the value as it is."""
        if isinstance(row, Mapping):
            return {name: self._body(one, values) for name, one in row.items()}
        if isinstance(row, list | tuple):
            return [self._body(one, values) for one in row]
        if not isinstance(row, str):
            return row
        alone = _PLACE.fullmatch(row)
        return self._value(alone[1], values) if alone else self._filled(row, values=values)

    def _listed(self, row: CommandsRow | None) -> list[Any]:
        if row is None:
            return []
        fitting = [one for one in self._commands if re.fullmatch(row.names, one.name)]
        return [
            self._body(row.each, {"name": one.name, "about": one.about[: row.about_chars], "use": one.use})
            for one in fitting[: row.most]
        ]  # fmt: skip

    def _text_at(self, found: Any, path: str) -> str:
        value = field_of(found, path)
        if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
            raise ConfigurationError(
                f"{self._platform}: its answer has no {path}; the platform may have changed, or the "
                "address is that of another service"
            )
        return str(value)

    def _shown(self, text: str) -> str:
        return " ".join(self._api.mask(text).split())[:_MOST_SHOWN]

    def _is_filled(self, text: str, values: Mapping[str, Any] = _NO_VALUES) -> bool:
        return all(one[1] in values or one[1] in self._values for one in _PLACE.finditer(text))

    def _filled(
        self,
        text: str,
        *,
        values: Mapping[str, Any] = _NO_VALUES,
        at: Callable[[str, int], str] | None = None,
    ) -> str:
        """Return a text with the values in it; `at` says how one is written at its position."""

        def put(match: re.Match[str]) -> str:
            value = str(self._value(match[1], values))
            return value if at is None else at(value, match.start())

        return _PLACE.sub(put, text)

    def _value(self, name: str, values: Mapping[str, Any]) -> Any:
        for known in (values, self._values):
            if name in known:
                return known[name]
        raise ConfigurationError(
            f"{self._platform}: {name} is not known: set platforms.{self._platform}.{name}, or the "
            "platform has answered without it"
        )


def _address(value: str, position: int) -> str:
    """Return a value of the base address: whole at its beginning, where it is an address itself."""
    return value.rstrip("/") if position == 0 else _part(value, position)


def _part(value: str, _position: int) -> str:
    return quote(value, safe=_IN_PATH)


def _fields(before: str, found: Any, *, depth: int = _DEEPEST) -> dict[str, Any]:
    """Return the values of an answer by name, those of objects inside it with dots."""
    fields: dict[str, Any] = {}
    if isinstance(found, Mapping):
        for name, value in found.items():
            path = f"{before}.{name}" if before else str(name)
            if isinstance(value, Mapping) and depth > 0:
                fields |= _fields(path, value, depth=depth - 1)
            elif isinstance(value, str | int | float) and value != "":
                fields[path] = value
    return fields
