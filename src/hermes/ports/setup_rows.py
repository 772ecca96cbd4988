"""What a channel's manifest says of its set-up, as rows: steps, a proof, what to register, a code to scan.

`channel_kit.setup_calls` makes the calls. In every text of a row, a name in braces stands for a
value: a setting of the platform, `webhook_url`, `proven.FIELD` (a field of the answer to the proof)
or, in a poll, `scan.FIELD` (a field of the answer that began the scan).
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

ANYTHING: Final = "*"


def meets(values: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    """Return whether the values are those that are wanted; "" is unset, "*" is anything set."""
    return all(_fits(values.get(name), want) for name, want in wanted.items())


def _fits(value: Any, want: str) -> bool:
    reveal = getattr(value, "get_secret_value", None)
    plain = reveal() if callable(reveal) else value
    text = str(plain).lower() if isinstance(plain, bool) else str(plain or "")
    return bool(text) if want == ANYTHING else text == want


class SetupCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call: its method and path (exactly one of them), what it sends, and when it is made at all.

    `when` lists settings and their values, as `needed_if` does. `hint` says what to do if the platform
    refuses the call.
    """

    get: str = ""
    post: str = ""
    put: str = ""
    patch: str = ""
    # Any: bodies differ from platform to platform.
    json: Any = None
    form: Mapping[str, str] | None = None
    headers: Mapping[str, str] = {}
    when: Mapping[str, str] = {}
    hint: str = ""

    def __post_init__(self) -> None:
        if len(self._named) != 1:
            raise ValueError("expected one of get, post, put and patch")

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self._named[0].upper()

    @property
    def path(self) -> str:
        """The path behind the base address, or a whole address on one of the platform's hosts."""
        return str(getattr(self, self._named[0]))

    @property
    def _named(self) -> tuple[str, ...]:
        return tuple(one for one in ("get", "post", "put", "patch") if getattr(self, one))


class ProveRow(SetupCall, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The call that proves the credential; `shows` says whose it is, by fields of the answer.

    `has` is a field that only a success has, where a refusal has the status of one.
    """

    shows: str
    has: str = ""


class CommandsRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one chat command is written in `{commands}`: `each`, with {name}, {about} and {use} in it.

    Commands whose name does not fit `names` are left out; `about_chars` is how long {about} may be.
    """

    each: Any  # Any: it differs from platform to platform.
    names: str = ".+"
    about_chars: int = 100
    most: int = 100


class RegisterRow(SetupCall, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that changes something on the platform; `does` says what, before anybody agrees to it."""

    does: str
    commands: CommandsRow | None = None


class ScanRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A code that a person scans instead of typing credentials: start, poll, states.

    `code` is the field of the first answer that the code holds, `state` the field of later answers that
    is among `waiting`, or is `done`; any other state ends the scan. `sets` names the settings that the
    last answer fills, each with its field.
    """

    start: SetupCall
    code: str
    poll: SetupCall
    state: str
    done: str
    waiting: tuple[str, ...]
    sets: Mapping[str, str]
    every_s: float = 2.0
    within_s: float = 180.0


class SetupRows(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The set-up of a platform.

    `base` is the address that the calls begin with, `headers` go with each of them, and `hosts` are
    the platform's own hosts besides that of `base`. `invite` is an address at which an administrator
    adds the bot to a server or a group.
    """

    steps: tuple[str, ...] = ()
    base: str = ""
    headers: Mapping[str, str] = {}
    hosts: tuple[str, ...] = ()
    prove: ProveRow | None = None
    register: tuple[RegisterRow, ...] = ()
    qr: ScanRow | None = None
    invite: str = ""
