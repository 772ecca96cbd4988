"""`hermes doctor`: every check, in the order of their dependencies.

It reads the files, also while a gateway runs, and asks the gateway what only it knows. It starts
nothing but a trial of the sandbox, and writes nothing except repairs with --fix.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from hermes.app.adapters import make_registry
from hermes.app.channel_test import unusable_platforms
from hermes.app.key_test import KeyTest
from hermes.app.make_search import SEARCH
from hermes.app.make_skills import make_skill_folder
from hermes.app.platform_setup import PlatformProof
from hermes.app.platforms import built_in
from hermes.app.store_files import (
    DATABASE,
    FIRST_KEY_FILE,
    KEY_FILE,
    lost_database,
    restore_advice,
    restore_problem,
)
from hermes.config import LoadedConfig, Settings, StoreSettings
from hermes.config.code_files import code_problem, folder_problem, program_problem
from hermes.config.entries import OWN_EMBEDDER
from hermes.config.hook_files import HookFile, read_hook_files
from hermes.control.doctor import (
    Check,
    DoctorReport,
    broken_configuration,
    channel_checks,
    code_checks,
    configuration_checks,
    mcp_checks,
    model_checks,
    plugin_checks,
    risk_checks,
    terminal_checks,
    trust_checks,
)
from hermes.control.models import ModelLine
from hermes.control.status import ChannelStatus, StoreStatus
from hermes.errors import ConfigurationError, HermesError
from hermes.message.channel_name import platform_of
from hermes.ops.backup_marks import last_backup
from hermes.ops.doctor_home import (
    clock_check,
    disk_check,
    files_check,
    home_checks,
    port_check,
    remains_checks,
)
from hermes.ops.instance import RunningGateway
from hermes.plugins.loader import installed_plugins
from hermes.plugins.manifest import load_manifest
from hermes.ports.clock import SystemClock
from hermes.providers.minilm.settings import is_installed as has_minilm
from hermes.providers.wordllama.model import is_installed as has_wordllama
from hermes.server.listen import bind
from hermes.store.search.file import UnusableIndex, check_header
from hermes.store.sqlite.connection import DAMAGE_ADVICE, lacks_wal
from hermes.store.sqlite.copies import kept_copies
from hermes.store.sqlite.inspection import Inspection, inspect
from hermes.store.sqlite.store import NO_WAL
from hermes.tools.mcp.report import ServerStatus

_DAY_S = 86_400.0


class DoctorContext(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks need from others: the configuration, the gateway, the models, the servers."""

    home: Path
    now: float
    load: Callable[[], LoadedConfig]
    running: RunningGateway | None
    models: Callable[[LoadedConfig], tuple[ModelLine, ...]]
    servers: Callable[[LoadedConfig], tuple[ServerStatus, ...]]
    channels: Callable[[], tuple[ChannelStatus, ...]] = tuple
    store: Callable[[], StoreStatus | None] = lambda: None
    calls: Callable[[LoadedConfig], tuple[KeyTest, ...]] | None = None
    proofs: Callable[[LoadedConfig], tuple[PlatformProof, ...]] | None = None
    sandbox: Callable[[LoadedConfig], str | None] = lambda _: None


Tell = Callable[[int, int, str], None]


def examine(around: DoctorContext, *, fix: bool, tell: Tell) -> DoctorReport:
    """Run every check; call `tell` with the number done, the total and the next check."""
    # Before the settings are read: what is repaired now is not reported again with them.
    home = _guarded("home", lambda: home_checks(around.home, fix=fix))
    loaded: LoadedConfig | None = None
    first: list[Check] = []
    try:
        loaded = around.load()
        first += configuration_checks(loaded)
    except ConfigurationError as error:
        first.append(broken_configuration(str(error)))
    steps = {"home": lambda: iter(home), **_steps(around, loaded, fix=fix, tell=tell)}
    for number, (name, step) in enumerate(steps.items()):
        tell(number, len(steps), name)
        first += _guarded(name, step)
    return DoctorReport(home=str(around.home), checks=tuple(first))


def _guarded(name: str, step: Callable[[], Iterator[Check]]) -> list[Check]:
    try:
        return list(step())
    except (HermesError, OSError) as error:
        return [Check(name=name, status="fail", what=f"it cannot be checked ({error})")]


def _steps(
    around: DoctorContext, loaded: LoadedConfig | None, *, fix: bool, tell: Tell
) -> dict[str, Callable[[], Iterator[Check]]]:
    home, running = around.home, around.running
    steps: dict[str, Callable[[], Iterator[Check]]] = {
        "gateway": lambda: remains_checks(home, running, fix=fix),
        "database": lambda: _database_checks(around, lambda: tell(2, 14, "database")),
    }
    if loaded is None:
        return steps
    settings = loaded.settings
    steps |= {
        "backup": lambda: _backup_checks(home, settings.store, now=around.now),
        "search index": lambda: _search_checks(home, settings),
        "disk": lambda: iter([disk_check(home, settings.store)]),
        "open files": lambda: iter([files_check(running)]),
        "port": lambda: iter([port_check(settings.server, running, listen=_listen)]),
        "clock": lambda: iter([clock_check(home, around.now, zone=settings.time_zone)]),
        "recall": lambda: _recall_checks(settings),
        "code": lambda: code_checks(_unsafe_code(loaded)),
        "channels": lambda: _channel_checks(loaded, around.channels()),
        "trusted addresses": lambda: trust_checks(settings),
        "models": lambda: model_checks(settings, around.models(loaded)),
        "MCP": lambda: mcp_checks(around.servers(loaded)),
        "terminal": lambda: terminal_checks(settings, problem=around.sandbox(loaded)),
    }
    if around.calls is not None:
        calls = around.calls
        steps["model calls"] = lambda: _call_checks(calls(loaded))
    if around.proofs is not None:
        proofs = around.proofs
        steps["platform calls"] = lambda: _proof_checks(proofs(loaded))
    return steps


def _listen(host: str, port: int) -> None:
    bind(host, port).close()


def _database_checks(around: DoctorContext, alive: Callable[[], None]) -> Iterator[Check]:
    home = around.home
    path, key_path = home / DATABASE, home / KEY_FILE
    lost, held = lost_database(home), around.store()
    unusable = restore_problem(home)
    if unusable is not None:
        yield Check(name="database", status="fail", what=unusable)
        return
    if held is not None and held.problem is not None:
        yield Check(
            name="database",
            status="fail",
            what=f"the running gateway accepts no messages: {held.problem}",
        )
        if lost is not None:
            # The gateway still has the database open, and has said what to do.
            return
    if lost is not None:
        yield _lost_check(home, lost)
        return
    if not path.exists():
        yield Check(
            name="database", status="ok", what="there is none yet; the first start creates it"
        )
        return
    if not key_path.exists() and (home / FIRST_KEY_FILE).exists():
        said = "the first start was cut off; the next one finishes it"
        yield Check(name="database", status="ok", what=said)
        return
    if around.running is None and lacks_wal(path):
        yield _no_wal_check(path)
        return
    key_file = key_path.read_bytes() if key_path.exists() else None
    found = inspect(path, key_file, alive=alive)
    if key_file is not None and not found.version:
        yield _lost_check(home, f"{path} has no schema, but its key file {key_path} exists")
        return
    yield _schema_check(found)
    yield _whole_check(path, found)
    yield _key_check(found, key_path)


def _lost_check(home: Path, what: str) -> Check:
    why = "the gateway does not start: all stored data would seem to be lost"
    return Check(name="database", status="fail", what=what, why=why, fix=restore_advice(home))


def _no_wal_check(path: Path) -> Check:
    why = "the gateway does not start: the newest messages would seem to be lost"
    return Check(name="database", status="fail", what=f"{path} {NO_WAL}", why=why)


def _schema_check(found: Inspection) -> Check:
    common = f"schema version {found.version}"
    if found.version > found.newest:
        return Check(
            name="database",
            status="fail",
            what=f"{common}, but this Hermes only knows {found.newest}",
            why="a newer Hermes has written it; this one does not start with it",
            fix="run the newer Hermes, or restore a backup of that time into an empty home "
            "(`hermes restore FILE`)",
        )
    if found.version < found.newest:
        said = f"{common}; the next start upgrades it to {found.newest}"
        fix = "it keeps a copy in copies/ first; `hermes backup FILE` makes a whole backup"
        return Check(name="database", status="warn", what=said, fix=fix)
    return Check(name="database", status="ok", what=f"{common}, {found.bytes / 1e6:,.1f} MB")


def _whole_check(path: Path, found: Inspection) -> Check:
    if not found.faults:
        return Check(name="database", status="ok", what="it is intact (quick check)")
    return Check(
        name="database",
        status="fail",
        what=f"{path.name} is damaged",
        why="the damaged data cannot be read, and writing may spread the damage",
        fix=DAMAGE_ADVICE,
        details=found.faults,
    )


def _key_check(found: Inspection, path: Path) -> Check:
    if found.key_problem is None:
        return Check(name="key file", status="ok", what=f"{path.name} opens {found.keys} keys")
    return Check(
        name="key file",
        status="fail",
        what=found.key_problem,
        why="without it nobody can read the stored messages",
        fix=f"put your copy of {path} there that belongs to this database; no backup has it inside",
    )


def _backup_checks(home: Path, settings: StoreSettings, *, now: float) -> Iterator[Check]:
    if not (home / DATABASE).exists():
        return
    last, days = last_backup(home), settings.backup_warn_days
    age = None if last is None else max(0.0, now - last.at) / _DAY_S
    if last is None or age is None:
        what = "no backup of this home was made yet (`hermes backup`)"
    else:
        what = f"the last backup is {age:.1f} days old ({last.file})"
    is_old = bool(days) and (age is None or age > days)
    copies = [str(one) for one in kept_copies(home / DATABASE)]
    yield Check(
        name="backup",
        status="warn" if is_old else "ok",
        what=what,
        why=f"the setting store.backup_warn_days is {days}" if is_old else "",
        fix="`hermes backup FILE`, on another disk; keep the key file elsewhere" if is_old else "",
        details=tuple(f"copy of the database before an upgrade: {one}" for one in copies),
    )


def _search_checks(home: Path, settings: Settings) -> Iterator[Check]:
    path = home / SEARCH
    if not settings.search.enabled:
        yield Check(name="search index", status="ok", what="search is off")
    elif not path.exists():
        yield Check(name="search index", status="ok", what="there is none yet")
    else:
        try:
            check_header(path)
            yield Check(name="search index", status="ok", what="it is encrypted")
        except UnusableIndex as problem:
            yield Check(
                name="search index",
                status="fail",
                what=f"{path.name} cannot be used: {problem}",
                why="anyone who gets the file could read the messages",
                fix="`hermes search --rebuild` deletes and rebuilds it",
            )


def _has_embedder(named: str | None) -> bool:
    if named == OWN_EMBEDDER:
        return has_wordllama()
    return named is not None or has_minilm()


def _recall_checks(settings: Settings) -> Iterator[Check]:
    if not settings.memory.recall:
        yield Check(name="recall", status="ok", what="recall by meaning is off (memory.recall)")
    elif _has_embedder(settings.memory.embedder):
        yield Check(name="recall", status="ok", what="a model for recall by meaning is installed")
    else:
        yield Check(
            name="recall",
            status="warn",
            what="the model for recall by meaning is not installed",
            why="Hermes does not recall facts about people for their messages",
            fix="`make setup` installs it; or set memory.embedder, or memory.recall to false",
        )


def _unsafe_code(loaded: LoadedConfig) -> Iterator[str]:
    """Return what is wrong with each file of the operator's whose code a start would run."""
    settings, home = loaded.settings, loaded.home
    found = [code_problem(file.handler, home=home) for file in _hook_files(loaded)]
    found += [
        folder_problem(home / Path(name).expanduser(), home=home)
        for name in settings.plugins
        if "/" in name
    ]
    found += [
        code_problem(home / Path(name).expanduser(), home=home)
        for name in settings.tools.modules
        if name.endswith(".py")
    ]
    found += [
        program_problem(one.command, one.args, cwd=one.folder_in(home), home=home)
        for one in settings.mcp.servers.values()
        if one.enabled and one.command is not None
    ]
    skills = make_skill_folder(home, clock=SystemClock()).skills().values()
    found += [
        folder_problem(one.folder, home=home) for one in skills if not one.folder.is_symlink()
    ]
    return (problem for problem in found if problem is not None)


def _hook_files(loaded: LoadedConfig) -> tuple[HookFile, ...]:
    return read_hook_files(loaded.home)[0] if loaded.settings.hooks.enabled else ()


def _channel_checks(loaded: LoadedConfig, states: tuple[ChannelStatus, ...]) -> Iterator[Check]:
    registry = make_registry(loaded.settings, home=loaded.home, on_status=lambda _: None)
    known = (*built_in(), *registry.platforms)
    problems = unusable_platforms(loaded.settings, registry, clock=SystemClock())
    yield from channel_checks(loaded.settings, known, states, problems=problems)
    on = [name for name, one in loaded.settings.channels.items() if one.enabled]
    own = {
        name: load_manifest(one.package, one.file)
        for name, one in built_in().items()
        if name in map(platform_of, on)
    }
    manifests = {**own, **{name: one.manifest for name, one in registry.platforms.items()}}
    used = {name: manifests[platform_of(name)] for name in on if platform_of(name) in manifests}
    yield from risk_checks(loaded.settings, used)
    yield from plugin_checks(loaded.settings.plugins, installed_plugins())


def _call_checks(tried: tuple[KeyTest, ...]) -> Iterator[Check]:
    for one in tried:
        if one.problem is None:
            said = f"{one.provider}:{one.model} answered after {one.seconds:.1f} s"
            yield Check(name="model calls", status="ok", what=said)
        else:
            yield Check(
                name="model calls",
                status="fail",
                what=f"{one.provider}:{one.model} did not answer: {one.problem}",
                why="messages for it are answered by another model, or not at all",
                fix="`hermes init` asks for its key again and tests it",
            )


def _proof_checks(proofs: tuple[PlatformProof, ...]) -> Iterator[Check]:
    for one in proofs:
        if one.problem is None:
            invite = f"; add the bot to a server or a group at {one.invite}" if one.invite else ""
            said = f"{one.platform}: {one.shows.rstrip('.')}{invite}"
            yield Check(name="platform calls", status="ok", what=said)
        else:
            yield Check(
                name="platform calls",
                status="fail",
                what=one.problem,
                why="Hermes receives and sends nothing there",
                fix=f"`hermes channels add {one.platform}` asks for the credential again and tests it",
            )
