"""The part of `hermes channels add` that asks the platform: whose the credential is, what to register.

What the platform says is shown and agreed to by the person; without a terminal it is in the report.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
from rich.text import Text

from hermes.app.platform_setup import (
    PlatformProof,
    Registration,
    prove,
    register,
    scan,
    to_register,
)
from hermes.cli.channels_sheet import ChannelSheet
from hermes.cli.init_questions import confirm
from hermes.cli.terminal import clean, error_console
from hermes.config import Settings
from hermes.errors import HermesError


def proven(name: str, settings: Settings, home: Path, *, asks: bool) -> PlatformProof | None:
    """Show whose credential it is; a `problem` says that it is refused, or that another was meant."""
    out = error_console()
    with out.status(f"Asking {name} whose credential this is ..."):
        proof = asyncio.run(prove(name, settings, home=home))
    if proof is None or proof.problem is not None:
        return proof
    out.print(Text(clean(proof.shows)))
    if asks and not confirm("Is this the right one?", default=True):
        return msgspec.structs.replace(proof, problem="another one was meant")
    if proof.invite:
        # The terminal may wrap it, but no line break is put into an address that is to be copied.
        out.print(
            Text(f"Add the bot to a server or a group: {clean(proof.invite)}"), soft_wrap=True
        )
    return proof


def registered(
    name: str, settings: Settings, home: Path, *, wanted: bool | None, asks: bool
) -> tuple[Registration, ...]:
    """Register what the manifest says, if it is `wanted`; a terminal is asked if it does not say."""
    if wanted is False:
        return ()
    out = error_console()
    try:
        plan = asyncio.run(to_register(name, settings, home=home))
        if not plan or (wanted is None and not _agreed(plan, asks=asks)):
            return ()
        done = asyncio.run(register(name, settings, home=home))
    except (HermesError, TimeoutError) as error:
        done = (Registration(does="", problem=str(error) or "no answer in time"),)
    for one in done:
        told = f"Failed: {one.does} ({one.problem})" if one.problem else f"Done: {one.does}"
        out.print(Text(clean(told)))
    return done


def scanned(sheet: ChannelSheet, settings: Settings) -> None:
    """Fill settings by a code that the person scans, if the platform has one and they want to."""
    row = sheet.manifest.setup.qr
    if row is None or all(sheet.value((name,)) for name in row.sets):
        return
    if not confirm("Scan a code instead of typing credentials?", default=True):
        return
    values = {name: sheet.value((name,)) for name in sheet.manifest.settings}
    _fill(sheet, asyncio.run(scan(sheet.manifest, values, settings, show=_show_code)))


def _fill(sheet: ChannelSheet, found: Mapping[str, str]) -> None:
    for name, text in found.items():
        sheet.check((name,), text)
        sheet.answers[(name,)] = text
    error_console().print(f"Scanned: {', '.join(found)}.")


def _show_code(code: str) -> None:
    out = error_console()
    out.print("Scan the code at this address, or open the address on the phone:")
    out.print(Text(clean(code)), soft_wrap=True)


def _agreed(plan: tuple[str, ...], *, asks: bool) -> bool:
    out = error_console()
    out.print("Still to be done on the platform:")
    for does in plan:
        out.print(Text(clean(f"- {does}")))
    if not asks:
        out.print("Nothing was registered; --register does it.")
        return False
    return confirm("Do it now?", default=True)
