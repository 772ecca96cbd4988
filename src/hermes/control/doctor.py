"""`hermes doctor`: what a check found, and the checks that need nothing but the settings.

What has to be asked of a disk, a database or a network comes in as a value, so that the same words
are said whoever asked.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from hermes.config import Finding, LoadedConfig, ProviderSettings, Settings
from hermes.config.findings import masked
from hermes.config.variables import WELL_KNOWN, WellKnownVariable, variable_of
from hermes.control.models import ModelLine
from hermes.control.status import ChannelStatus
from hermes.control.why_delivery import breaker_text
from hermes.message.channel_name import account_of, platform_of, settings_place
from hermes.plugins.manifest import Manifest
from hermes.tools.mcp.report import ServerStatus

Status = Literal["ok", "warn", "fail"]
_SCHEMES = ("http://", "https://", "ws://", "wss://")
_LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})
_WITHOUT = "the gateway starts without it: it receives and sends nothing there"
_BUILT_IN_CHANNELS = frozenset({"rest", "web"})


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at: how it is, why that matters, and what to do about it."""

    name: str
    status: Status
    what: str
    why: str = ""
    fix: str = ""
    details: tuple[str, ...] = ()
    fixed: bool = False


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every check, in the order in which they were made."""

    home: str
    checks: tuple[Check, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing failed."""
        return all(check.status != "fail" for check in self.checks)


def configuration_checks(loaded: LoadedConfig) -> Iterator[Check]:
    """Tell what is surprising in a configuration that can be used."""
    for warning in loaded.warnings:
        yield _finding(warning)
    if not loaded.warnings:
        layers = {origin.split(" ")[0] for origin in loaded.origins.values()} - {"default"}
        said = ", ".join(sorted(layers)) or "defaults alone"
        yield Check(name="configuration", status="ok", what=f"it is valid; made of {said}")


def _finding(warning: Finding) -> Check:
    return Check(name="configuration", status="warn", what=warning.problem, fix=warning.fix)


def broken_configuration(text: str) -> Check:
    """Tell why the configuration cannot be used."""
    first, *more = text.split("\n- ")
    return Check(
        name="configuration",
        status="fail",
        what=first.removesuffix(":"),
        why="the gateway does not start, and what depends on settings was not checked",
        fix="correct what is named; docs/settings.md lists every key",
        details=tuple(more),
    )


def trusted_addresses(settings: Settings) -> tuple[str, ...]:
    """Return every address of the configuration that is called without asking the guard."""
    return tuple(sorted({*_called(settings), *_platforms(settings), *_let_through(settings)}))


class _ModelAddress(msgspec.Struct, frozen=True):
    """An address that model calls go to; `place` is the table of the settings that names it."""

    place: str
    url: str
    has_secret: bool


def _model_addresses(settings: Settings) -> Iterator[_ModelAddress]:
    """Yield the addresses of all providers that are used, and of their deployments."""
    for name, provider in settings.providers.items():
        if provider.enabled:
            yield from _addresses_of(f"providers.{name}", provider)


def _addresses_of(place: str, provider: ProviderSettings) -> Iterator[_ModelAddress]:
    shared = provider.api_key is not None or provider.oauth_token is not None
    without = [one for one in provider.deployments.values() if one.base_url is None]
    is_called = bool(without) or not provider.deployments
    if provider.base_url is not None and is_called:
        has_secret = shared or any(one.api_key is not None for one in without)
        yield _ModelAddress(place, str(provider.base_url), has_secret)
    for name, one in provider.deployments.items():
        if one.base_url is not None:
            has_secret = shared or one.api_key is not None
            yield _ModelAddress(f"{place}.deployments.{name}", str(one.base_url), has_secret)


def _called(settings: Settings) -> Iterator[str]:
    for address in _model_addresses(settings):
        yield f"{_shown(address.url)} ({address.place}.base_url)"
    for name, server in settings.mcp.servers.items():
        if server.enabled and server.url is not None:
            yield f"{_shown(str(server.url))} (mcp.servers.{name}.url)"
    search = settings.web_search
    if search.engine != "none" and search.url is not None:
        yield f"{_shown(str(search.url))} (web_search.url)"
    if settings.otel.endpoint is not None:
        yield f"{_shown(str(settings.otel.endpoint))} (otel.endpoint)"
    if settings.proxy is not None:
        yield f"{_shown(str(settings.proxy))} (proxy)"
    for webhook in settings.alerts.webhooks:
        # The path of a webhook is its secret.
        where = urlsplit(webhook.get_secret_value())
        yield f"{where.scheme}://{where.netloc}/... (alerts.webhooks)"


def _platforms(settings: Settings) -> Iterator[str]:
    for name, chosen in settings.channels.items():
        for key, value in chosen.extra.items():
            if chosen.enabled and isinstance(value, str) and value.startswith(_SCHEMES):
                yield f"{_shown(value)} ({settings_place(name)}.extra.{key})"


def _let_through(settings: Settings) -> Iterator[str]:
    for network in settings.net.exempt:
        yield f"{network} (net.exempt: strangers' addresses in it are fetched, too)"
    for port in settings.net.ports:
        yield f"port {port} (net.ports: strangers' addresses with it are fetched, too)"


def _shown(url: str) -> str:
    return str(masked((), url)).rstrip("/")


def trust_checks(settings: Settings) -> Iterator[Check]:
    """List the trusted addresses, and warn of keys that travel unencrypted."""
    trusted = trusted_addresses(settings)
    yield Check(
        name="trusted addresses",
        status="ok",
        what=f"{len(trusted)} from the configuration; the guard against strangers' addresses "
        "does not stop calls to them",
        details=trusted,
    )
    for one in _model_addresses(settings):
        if one.has_secret and one.url.startswith("http://") and not _is_here(one.url):
            yield Check(
                name="trusted addresses",
                status="warn",
                what=f"{one.place} is called with a key over http, which is not encrypted",
                why="anyone between here and the service can read the key and every conversation",
                fix=f"set {one.place}.base_url to an https address",
            )


def terminal_checks(settings: Settings, *, problem: str | None) -> Iterator[Check]:
    """Tell whether commands of models can run, and how far they reach; `problem` says why not."""
    terminal = settings.terminal
    if not terminal.enabled:
        yield Check(name="terminal", status="ok", what="the terminal is off (terminal.enabled)")
    elif terminal.sandbox == "unsafe":
        yield Check(
            name="terminal",
            status="warn",
            what="commands of models run without a sandbox",
            why="they can read the keys of this gateway and everything that its user can",
            fix="set terminal.sandbox to bubblewrap",
        )
    elif problem is None:
        said = "a command ran in the sandbox of bubblewrap"
        yield Check(name="terminal", status="ok", what=said)
    else:
        yield Check(
            name="terminal",
            status="fail",
            what=problem,
            why="every command of a model is refused",
            fix="docs/terminal.md says what the sandbox needs",
        )


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in _LOOPBACK_NAMES or host.endswith(".localhost")


def channel_checks(
    settings: Settings,
    installed: Iterable[str],
    states: Iterable[ChannelStatus] = (),
    *,
    problems: Mapping[str, str],
) -> Iterator[Check]:
    """Report platforms that are switched on and cannot be, or are not, connected.

    `states` are how they stand in the gateway that runs, `problems` why a channel cannot be made.
    """
    by_name = {one.name: one for one in states}
    known = _BUILT_IN_CHANNELS | set(installed)
    on = {name: one for name, one in settings.channels.items() if one.enabled}
    for name, chosen in on.items():
        place = settings_place(name)
        lacks = _missing_credential(name, chosen.extra) if name in problems else ()
        if platform_of(name) not in known:
            yield Check(
                name="channels",
                status="fail",
                what=f"{place} is enabled, but no channel of that name is installed",
                why=_WITHOUT,
                fix=f"add its plugin to `plugins`, or set {place}.enabled to false",
            )
        for row in lacks:
            yield Check(
                name="channels",
                status="fail",
                what=f"{place} is enabled, but has no {row.key[-1]}",
                why="the platform refuses connections without a credential",
                fix=f"set {_variable(name, row)} in .env, or platforms.{name}.enabled to false",
            )
        if name in by_name:
            yield _channel_check(by_name[name])
        elif name in problems:
            if platform_of(name) in known and not lacks:
                fix = f"set what is missing, or set {place}.enabled to false"
                what = f"{name} cannot be used: {problems[name]}"
                yield Check(name="channels", status="fail", what=what, why=_WITHOUT, fix=fix)
        elif platform_of(name) in known and not lacks:
            yield Check(name="channels", status="ok", what=f"{name} can be connected")
    if not on:
        yield Check(name="channels", status="ok", what="the REST API and the web chat")


# Any: the settings of a platform.
def _missing_credential(channel: str, extra: Mapping[str, Any]) -> tuple[WellKnownVariable, ...]:
    """Return the credential that a platform cannot do without; one with a choice says itself what it needs."""
    rows = tuple(row for row in WELL_KNOWN.values() if row.enables == platform_of(channel))
    return rows if len(rows) == 1 and not extra.get(rows[0].key[-1]) else ()


def _variable(channel: str, row: WellKnownVariable) -> str:
    """Return the variable that sets the credential of a channel: the well-known one is the platform's."""
    account = account_of(channel)
    own = (*row.key[:2], "accounts", account, *row.key[2:])
    return variable_of(own) if account else row.name


def _channel_check(one: ChannelStatus) -> Check:
    """Report the state of a platform in the gateway that runs."""
    if one.state == "fatal":
        return Check(
            name="channels",
            status="fail",
            what=f"{one.name} is stopped: {one.note or 'it failed for good'}",
            why="it receives and sends nothing there; replies wait, and become dead letters when "
            "they are too old",
            fix="correct what is named, then `hermes reload`, or "
            f"`hermes channels resume {one.name}` where the configuration was right",
        )
    if one.state != "connected" or one.deaf:
        return Check(
            name="channels",
            status="warn",
            what=f"{one.name} is {'deaf' if one.deaf else one.state}: {one.note or 'no reason given'}",
            why="nothing is received there meanwhile; Hermes keeps trying",
            fix=f"if this persists, read docs/channels/{platform_of(one.name)}.md",
        )
    if one.rests_until is not None:
        return Check(
            name="channels",
            status="warn",
            what=f"{one.name} is {breaker_text(one.rests_until, one.failures)}",
            why="the platform kept failing; replies wait",
            fix="wait, or read `hermes deadletters list` and the logs about it",
        )
    told = f"; {one.note}" if one.note else ""
    return Check(name="channels", status="ok", what=f"{one.name} is connected{told}")


def risk_checks(settings: Settings, manifests: Mapping[str, Manifest]) -> Iterator[Check]:
    """Warn of settings that work and are dangerous, as the channels' manifests say.

    What a platform does not send again is no fault, and said: it explains a message that never came.
    """
    for name, manifest in manifests.items():
        if not manifest.capabilities.redelivers:
            what = f"{name} does not send a message again that got lost on the way to Hermes"
            yield Check(name="channels", status="ok", what=what)
        extra = settings.channels[name].extra
        for key, setting in manifest.settings.items():
            risk = setting.risky.get(str(extra.get(key) or setting.default))
            if risk is not None:
                yield Check(
                    name="channels",
                    status="warn",
                    what=f"{settings_place(name)}.{key} is {extra.get(key) or setting.default}",
                    why=risk,
                    fix=f"read docs/channels/{platform_of(name)}.md, and change it if you can",
                )


def code_checks(problems: Iterable[str]) -> Iterator[Check]:
    """Report hooks, plugins, tool files and programs that other users can change."""
    for problem in problems:
        what, _, fix = problem.partition(". ")
        why = "the gateway does not run code that others can change"
        yield Check(name="code", status="fail", what=what, why=why, fix=fix)


def plugin_checks(listed: Iterable[str], installed: Mapping[str, str]) -> Iterator[Check]:
    """Report plugins that are installed and not used: being there alone switches nothing on."""
    for name in sorted(set(installed) - set(listed)):
        yield Check(
            name="plugins",
            status="ok",
            what=f"the plugin {name} of {installed[name]} is installed, and not used",
            fix=f"add {name} to `plugins` to use it",
        )


def model_checks(settings: Settings, lines: Sequence[ModelLine]) -> Iterator[Check]:
    """Check that a model can answer."""
    talking = [line for line in lines if line.chat]
    able = [line for line in talking if line.available]
    details = tuple(
        f"{line.provider}:{line.model}: "
        + ("available" if line.available else line.problem or "not available")
        for line in talking
    )
    common = {"name": "models", "details": details}
    if not able:
        yield Check(
            **common,  # type: ignore[arg-type]
            status="fail",
            what="no model can be called",
            why="nobody gets an answer",
            fix="`hermes init` asks for a key and tests it; docs/providers.md explains the rest",
        )
    elif all(line.demonstration for line in able):
        yield Check(
            **common,  # type: ignore[arg-type]
            status="warn",
            what="only the demonstration model can be called",
            why="it shows that everything works, and knows next to nothing",
            fix="`hermes init` asks for the key of a model service and tests it",
        )
    else:
        said = f"{len(able)} of {len(talking)} can be called"
        yield Check(**common, status="ok", what=said)  # type: ignore[arg-type]
    yield from _named_models(settings, {line.provider: line for line in talking})
    yield from _summaries(settings, able)


def _named_models(settings: Settings, lines: dict[str, ModelLine]) -> Iterator[Check]:
    named = {"models.default": settings.models.default}
    named |= {f"agents.{key}.model": one.model or "auto" for key, one in settings.agents.items()}
    for key, model in named.items():
        line = lines.get(model.partition(":")[0])
        if line is not None and not line.available:
            yield Check(
                name="models",
                status="warn",
                what=f"{key} names {model}, which cannot be called: "
                f"{line.problem or 'it does not answer'}",
                why="another model answers instead, or none",
                fix=f"give providers.{line.provider} what it lacks, or name another model",
            )


def _summaries(settings: Settings, able: Sequence[ModelLine]) -> Iterator[Check]:
    """Check that what memory is set to learn can be learnt: by a model that may sum up."""
    memory = settings.memory
    wanted = {"memory.extract": memory.extract, "memory.dream": memory.dream}
    named = {
        "memory.extract": memory.extract_model or settings.models.summaries,
        "memory.dream": memory.dream_model or settings.models.summaries,
    }
    waiting = [key for key, is_on in wanted.items() if is_on and named[key] is None]
    real = [line for line in able if not line.demonstration]
    if not waiting or settings.routing.cloud_summaries or not real:
        return
    if not any(line.local for line in real):
        yield Check(
            name="models",
            status="warn",
            what=f"{' and '.join(waiting)} wait: no model on this machine can sum up",
            why="summaries go to no remote model unless the settings allow it, so nothing is learnt",
            fix="set routing.cloud_summaries: true, or name a model in models.summaries",
        )


def mcp_checks(servers: Sequence[ServerStatus]) -> Iterator[Check]:
    """Report the state of the MCP servers."""
    for server in servers:
        if server.state == "connected":
            said = f"{server.name} is connected and brings {len(server.tools)} tools"
            yield Check(name="MCP", status="ok", what=said)
        else:
            yield Check(
                name="MCP",
                status="warn",
                what=f"{server.name} is not connected: {server.problem or server.state}",
                why="agents go without its tools",
                fix=f"`hermes mcp test {server.name}` tries it again and shows more",
            )
