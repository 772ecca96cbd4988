"""Checks between settings: values that are valid alone and wrong together.

Part of config, after validation; pure but for the certificates. Each names the key to change and its new value.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from hermes.config.aliases import provider_meant
from hermes.config.chat_settings import conditions
from hermes.config.entries import PROVIDERS
from hermes.config.findings import Finding, printed
from hermes.config.keys import dotted
from hermes.config.machine import certificate_problem
from hermes.config.model_settings import TASKS, ProviderSettings, ServedModelSettings
from hermes.config.named_variables import unfilled
from hermes.config.routing_checks import Fault, routing_problems
from hermes.config.settings import Key, Settings
from hermes.config.tool_settings import NO_MCP, McpServerSettings
from hermes.config.variables import variable_for
from hermes.message.channel_name import settings_key
from hermes.similar_words import nearest

DEFAULT = "default"
Origin = Callable[[Key], str]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the checks found."""

    problems: list[Finding]
    warnings: list[Finding]


def check(settings: Settings, origin: Origin) -> CheckResult:
    """Run every check."""
    found = CheckResult([], [])
    found.problems.extend(_finding(origin, fault) for fault in _problems(settings))
    found.warnings.extend(_finding(origin, fault) for fault in _warnings(settings, origin))
    return found


def _finding(origin: Origin, fault: Fault) -> Finding:
    key, value, text, fix = fault
    shown = printed(key, value)
    return Finding(dotted(key), shown, f"{origin(key)}: {dotted(key)} is {shown}, {text}", fix)


def _problems(settings: Settings) -> Iterator[Fault]:
    yield from _default_agent(settings)
    yield from _agent_rules(settings)
    yield from _channel_agents(settings)
    for key, model in _models(settings):
        yield from _model(settings, key, model=model)
    yield from routing_problems(settings)
    yield from mcp_problems(settings)
    yield from _addresses(settings)
    yield from _times(settings)
    yield from _certificates(settings)
    yield from _web_search(settings)
    yield from _sign_in(settings)


def _default_agent(settings: Settings) -> Iterator[Fault]:
    name = settings.default_agent
    if name not in settings.agents:
        known = ", ".join(settings.agents)
        meant = nearest(name, list(settings.agents)) or next(iter(settings.agents))
        text = f"expected one of the agents: {known}"
        yield ("default_agent",), name, text, f"set it to {meant}, or add agents.{name}"


def _agent_rules(settings: Settings) -> Iterator[Fault]:
    rules, agents = settings.agent_rules, settings.agents
    seen: dict[tuple[tuple[str, str], ...], str] = {}
    for name, rule in rules.items():
        asked = conditions(rule)
        if rule.agent is None or rule.agent not in agents:
            text = f"expected one of the agents: {', '.join(agents)}"
            fix = f"set it to one of them, or add agents.{rule.agent or 'NAME'}"
            yield ("agent_rules", name, "agent"), rule.agent, text, fix
        if not asked:
            text = "but the rule has no condition"
            fix = "add platform, chat_type, guild, chat, thread or person, or set default_agent"
            yield ("agent_rules", name, "agent"), rule.agent, text, fix
        elif asked in seen:
            text = f"but agent_rules.{seen[asked]} matches the same messages"
            yield ("agent_rules", name, "agent"), rule.agent, text, "remove one of the two"
        seen[asked] = name


def _channel_agents(settings: Settings) -> Iterator[Fault]:
    agents = settings.agents
    for name, chosen in settings.channels.items():
        if chosen.agent is not None and chosen.agent not in agents:
            yield _no_agent((*settings_key(name), "agent"), chosen.agent, agents)
        for chat, one in chosen.chats.items():
            if one.agent is not None and one.agent not in agents:
                key = (*settings_key(name), "chats", chat, "agent")
                yield _no_agent(key, one.agent, agents)


def _no_agent(key: Key, agent: str, agents: Collection[str]) -> Fault:
    text = f"expected one of the agents: {', '.join(agents)}"
    return key, agent, text, f"set it to one of them, or add agents.{agent}"


def _models(settings: Settings) -> Iterator[tuple[Key, str]]:
    yield ("models", "default"), settings.models.default
    auxiliary = {
        ("models", "summaries"): settings.models.summaries,
        ("memory", "extract_model"): settings.memory.extract_model,
        ("memory", "dream_model"): settings.memory.dream_model,
        ("compaction", "model"): settings.compaction.model,
    }
    yield from ((key, model) for key, model in auxiliary.items() if model is not None)
    if settings.vision.model != "off":
        yield ("vision", "model"), settings.vision.model
    for name, agent in settings.agents.items():
        if agent.model is not None:
            yield ("agents", name, "model"), agent.model
        if agent.compaction.model is not None:
            yield ("agents", name, "compaction", "model"), agent.compaction.model


def _model(settings: Settings, key: Key, *, model: str) -> Iterator[Fault]:
    if model == "auto":
        return
    asked, _, task = model.partition(":")
    if asked == "auto":
        if task not in TASKS:
            text = f"but {task} is not a task type; expected one of {', '.join(TASKS)}"
            yield key, model, text, f"did you mean auto:{nearest(task, list(TASKS)) or TASKS[0]}?"
        return
    name = provider_meant(asked, settings.providers, aliases=settings.routing.aliases)
    provider = settings.providers.get(name)
    if provider is None:
        known = ", ".join(settings.providers)
        meant = nearest(name, list(settings.providers)) or "auto"
        text = f"expected auto or provider:model with one of the providers: {known}"
        yield key, model, text, f"did you mean {meant}? Otherwise add providers.{name}"
    elif not provider.enabled:
        text = f"but providers.{name}.enabled is false"
        yield key, model, text, f"enable providers.{name}, or name another model"


def _addresses(settings: Settings) -> Iterator[Fault]:
    for name, provider in settings.providers.items():
        places = provider.deployments.values()
        has_own = bool(places) and all(one.base_url is not None for one in places)
        is_open = provider.kind == "openai" and provider.base_url is None
        if provider.enabled and is_open and not has_own:
            key = ("providers", name, "base_url")
            text = "expected the address of the model server"
            fix = f"set {dotted(key)}, such as http://127.0.0.1:11434/v1"
            yield key, None, text, fix


def _times(settings: Settings) -> Iterator[Fault]:
    turns, zone = settings.turns, settings.time_zone
    if turns.output_timeout_s > turns.call_limit_s:
        text = f"expected at most turns.call_limit_s, {turns.call_limit_s:g}"
        yield ("turns", "output_timeout_s"), turns.output_timeout_s, text, "lower it"
    cron = settings.cron
    if cron.shown_chars > cron.max_chars:
        text = f"expected at most cron.max_chars, {cron.max_chars}"
        yield ("cron", "shown_chars"), cron.shown_chars, text, "lower it"
    if zone is not None and not _is_time_zone(zone):
        text = "expected a time zone that this system knows"
        yield ("time_zone",), zone, text, "write one such as Europe/Paris, or UTC"


def _certificates(settings: Settings) -> Iterator[Fault]:
    path = settings.net.ca_bundle
    found = None if path is None else certificate_problem(path)
    if found is not None:
        text = f"expected a file of CA certificates in PEM format, {found}"
        fix = "correct the path, or remove it for the system's certificates"
        yield ("net", "ca_bundle"), str(path), text, fix


def _web_search(settings: Settings) -> Iterator[Fault]:
    search = settings.web_search
    needs = {
        "searxng": ("url", search.url, "http://127.0.0.1:8888, the address of your server"),
        "brave": ("brave_api_key", search.brave_api_key, "your key"),
        "tavily": ("tavily_api_key", search.tavily_api_key, "your key"),
    }
    if search.engine in needs:
        name, value, example = needs[search.engine]
        if value is None:
            text = f"which needs web_search.{name}"
            yield (
                ("web_search", "engine"),
                search.engine,
                text,
                f"set web_search.{name} to {example}",
            )


def _sign_in(settings: Settings) -> Iterator[Fault]:
    """Yield what keeps people from signing in with an identity provider, or lets anybody in."""
    oidc, key = settings.access.oidc, ("access", "oidc")
    if oidc.issuer is None:
        if oidc != type(oidc)():
            text = "expected the identity provider"
            yield (*key, "issuer"), None, text, "set access.oidc.issuer, or remove access.oidc"
        return
    if not oidc.issuer.startswith("https:") and not _LOCAL_URL.match(oidc.issuer):
        text = "expected https: anybody on the way could sign in"
        yield (*key, "issuer"), oidc.issuer, text, "write its https address"
    if oidc.client_id is None:
        text = "expected the id of Hermes at the identity provider"
        yield (
            (*key, "client_id"),
            None,
            text,
            "register Hermes there, and set access.oidc.client_id",
        )
    if not (oidc.emails or oidc.domains or oidc.groups or oidc.everyone):
        text = "but nobody may sign in"
        fix = "name emails, domains or groups in access.oidc, or set access.oidc.everyone"
        yield (*key, "issuer"), oidc.issuer, text, fix


def _is_time_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # not found is a KeyError, a folder an OSError
        return False
    return True


def _warnings(settings: Settings, origin: Origin) -> Iterator[Fault]:
    yield from _durability(settings)
    yield from _retries(settings)
    yield from _pruning(settings, origin)
    for key, model in _models(settings):
        yield from _key_for(settings, key, model=model)
    yield from _compaction(settings)
    yield from _unused_prompts(settings)
    yield from _half_prices(settings)
    yield from _silent_platforms(settings, origin)
    yield from _unfilled(settings)


def _durability(settings: Settings) -> Iterator[Fault]:
    if settings.store.synchronous == "NORMAL":
        text = "so promise 1 does not hold: a power cut can lose messages that were accepted"
        yield ("store", "synchronous"), "NORMAL", text, "set it to FULL"


def _retries(settings: Settings) -> Iterator[Fault]:
    outbox = settings.outbox
    needed = sum(outbox.quick_delays_s) + sum(outbox.later_delays_s)
    if outbox.max_age_s < needed:
        text = f"so replies become dead letters before their last retry, {needed:g} s on"
        fix = f"set it to at least {needed:g}, or shorten outbox.later_delays_s"
        yield ("outbox", "max_age_s"), outbox.max_age_s, text, fix


def _pruning(settings: Settings, origin: Origin) -> Iterator[Fault]:
    key = ("sessions", "prune_days")
    if not settings.sessions.prune and origin(key) != DEFAULT:
        text = "but sessions.prune is false, so nothing is deleted"
        yield key, settings.sessions.prune_days, text, "set sessions.prune to true, or remove it"


def _key_for(settings: Settings, key: Key, *, model: str) -> Iterator[Fault]:
    name = model.partition(":")[0]
    provider, known = settings.providers.get(name), PROVIDERS.get(name)
    variable = variable_for(("providers", name, "api_key"))
    # What no well-known variable gives a key to is a server of one's own, which needs none.
    if provider is None or known is None or variable is None or provider.has_key:
        return
    if provider.base_url == known["base_url"]:
        text = f"but providers.{name}.api_key is not set"
        yield key, model, text, f"set {variable}, or name another model"


def _compaction(settings: Settings) -> Iterator[Fault]:
    common, key = settings.compaction, ("compaction",)
    keep, at = ((*key, "keep"), common.keep), ((*key, "at"), common.at)
    if common.enabled:
        yield from _shares(keep, at)
    for name, agent in settings.agents.items():
        own, place = agent.compaction, ("agents", name, *key)
        is_on = common.enabled if own.enabled is None else own.enabled
        if is_on and (own.keep is not None or own.at is not None):
            yield from _shares(
                keep if own.keep is None else ((*place, "keep"), own.keep),
                at if own.at is None else ((*place, "at"), own.at),
            )


def _shares(keep: tuple[Key, float], at: tuple[Key, float]) -> Iterator[Fault]:
    (key, kept), (limit_key, limit) = keep, at
    if kept >= limit:
        text = f"so nothing is left to sum up at {dotted(limit_key)}, {limit:g}"
        yield key, kept, text, f"set it below {limit:g}, or raise {dotted(limit_key)}"


def _unused_prompts(settings: Settings) -> Iterator[Fault]:
    for name, agent in settings.agents.items():
        if agent.system_blocks is not None and agent.system_prompt:
            key = ("agents", name, "system_prompt")
            text = f"but agents.{name}.system_blocks is given, so it is not used"
            yield key, agent.system_prompt, text, "remove one of the two"


def _half_prices(settings: Settings) -> Iterator[Fault]:
    for name, provider in settings.providers.items():
        yield from _half_price(("providers", name), provider)
        for model, served in provider.models.items():
            yield from _half_price(("providers", name, "models", model), served)


def _half_price(key: Key, priced: ProviderSettings | ServedModelSettings) -> Iterator[Fault]:
    fields = ("price_in_per_million", "price_out_per_million")
    for field, other in (fields, fields[::-1]):
        price = getattr(priced, field)
        if price is not None and getattr(priced, other) is None:
            text = f"but {dotted((*key, other))} is not set, so it is not used"
            yield (*key, field), price, text, "set both, or remove it"


def _silent_platforms(settings: Settings, origin: Origin) -> Iterator[Fault]:
    for name, platform in settings.platforms.items():
        key = ("platforms", name, "enabled")
        if platform.extra and not platform.enabled and origin(key) == DEFAULT:
            text = "but the platform has settings"
            yield key, False, text, f"set {dotted(key)} to true to connect it, or remove them"


def mcp_problems(settings: Settings) -> Iterator[Fault]:
    """Yield what is wrong with the servers and the lists of the platforms."""
    for name, server in settings.mcp.servers.items():
        yield from _one_way(("mcp", "servers", name), server)
        yield from _oauth_problems(("mcp", "servers", name, "oauth"), server)
    yield from _unknown_servers(settings)


def _unfilled(settings: Settings) -> Iterator[Fault]:
    """Yield the names in settings of MCP servers that no variable has; a stored secret may have them."""
    for key, name in unfilled(settings):
        text = f"but the variable {name} is set neither in the environment nor in .env"
        fix = f"set it, or store it as a secret: hermes secrets set {name}"
        yield key, settings.mcp.servers[key[2]].env.get(key[-1], ""), text, fix


def _one_way(key: Key, server: McpServerSettings) -> Iterator[Fault]:
    """Yield the problem of a server that is not either started or called."""
    if server.command is None and server.url is None:
        text = "expected a program to start or an address to call"
        yield (*key, "command"), None, text, f"set {dotted(key)}.command or {dotted(key)}.url"
    if server.command is not None and server.url is not None:
        text = "but url is set, too"
        yield (*key, "command"), server.command, text, "remove one of the two"


_LOCAL_URL = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|$)")


def _oauth_problems(key: Key, server: McpServerSettings) -> Iterator[Fault]:
    """Yield what keeps a server from getting tokens, or would send them where others can read."""
    oauth = server.oauth
    if oauth.issuer is None:
        if oauth != type(oauth)():
            text = "expected the authorization server that gives the tokens"
            yield (*key, "issuer"), None, text, f"set {dotted(key)}.issuer"
        return
    if server.url is None:
        text = "but the server is a program, and OAuth is for those that are called"
        yield (*key, "issuer"), oauth.issuer, text, "remove oauth, or set url"
    for url in (oauth.issuer, *oauth.endpoints):
        if not url.startswith("https:") and not _LOCAL_URL.match(url):
            text = "expected https: tokens would be readable on the way"
            yield (*key, "issuer"), url, text, "write its https address"
    if oauth.grant == "client_credentials" and not (oauth.client_id and oauth.client_secret):
        text = "expected an id and a secret for client_credentials"
        yield (*key, "client_id"), oauth.client_id, text, "set client_id and client_secret"


def _unknown_servers(settings: Settings) -> Iterator[Fault]:
    known = [*settings.mcp.servers, NO_MCP]
    for platform, names in settings.mcp.platforms.items():
        for name in names:
            if name not in known:
                text = f"expected names of mcp.servers or {NO_MCP}: {', '.join(known)}"
                meant = nearest(name, known) or NO_MCP
                yield ("mcp", "platforms", platform), names, text, f"did you mean {meant}?"
