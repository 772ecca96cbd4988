"""The settings of models: providers, agents, routing, budgets and credits.

Part of config; docs/settings.md is made of the docstrings below the fields. The policies that read
them are `hermes.routing` and `hermes.calls`.
"""

from string import Formatter
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from hermes.config.entries import ALIASES, CLOUD_PRIORITY, DAY_TOKENS, MODELS, TIERS
from hermes.config.section import (
    Count,
    Days,
    Delay,
    Headers,
    JsonSchema,
    Listed,
    Means,
    ModelName,
    Name,
    Named,
    Price,
    Rounds,
    Seconds,
    Secret,
    Section,
    Share,
    SkillNames,
    Url,
    Whole,
    Word,
    no_entries,
)
from hermes.message.choices import TaskType


class TurnSettings(Section):
    """One turn: its model calls and tools."""

    output_timeout_s: Seconds = 45
    """A model call fails after this long without any output. The built-in model has only
    `call_limit_s`, because Hermes can see that it works."""
    call_limit_s: Seconds = 600
    """The time limit of a model call in total."""
    max_answer_chars: Count = 1_000_000
    """The most characters that one model call may write for a message; the answer is cut there."""
    max_concurrent_calls: Count = 30
    """At most this many model calls run at once."""
    max_calls_each: Count | None = None
    """The most model calls at a time for one person or caller's key; default: a third of
    `max_concurrent_calls`."""
    call_wait_s: Delay = 15
    """How long a call of `/v1` or of a job waits for a free slot; messages wait until they expire
    (`inbox.expire_after_s`)."""
    tell_wait: bool = True
    """Whether people whose message has waited for a free slot for some seconds are told so, once."""
    wait_s: Delay = 20
    """If a model service asks to retry within this time, Hermes waits; otherwise it tries the next
    candidate."""
    limit_s: Delay = 0
    """The time limit of a turn: after it, running model calls and tools that can be stopped are, and
    the person gets what was written so far. Waiting for a person or for a free slot does not count;
    after a restart the time starts again. 0: none, because every call and tool has a limit."""
    tool_rounds: Rounds = 8
    """At most this many rounds of tool calls per message."""
    continuations: Whole = 3
    """An answer that reaches its length limit is continued by itself at most this many times per
    message; 0 leaves it to the person, who can say "continue"."""
    tool_timeout_s: Seconds = 60
    """A tool call fails after this long."""


class ModelSettings(Section):
    """Which model answers."""

    default: ModelName = "auto"
    """The model of every agent that names none; auto uses routing."""
    summaries: ModelName | None = None
    """The model for summaries, learning and dreams, unless memory.extract_model or
    memory.dream_model names another; default: the default model."""


Weight = Annotated[int, Field(ge=0, le=1000)]


class ServedModelSettings(Section):
    """One of several models of a provider; what is not set comes from the provider, the service or
    the price list."""

    context_tokens: Count | None = None
    """The context size of this model in tokens."""
    max_output_tokens: Count | None = None
    """The maximum length of a reply of this model in tokens."""
    price_in_per_million: Price | None = None
    """Dollars per million input tokens; overrides the price list if both prices are set."""
    price_out_per_million: Price | None = None
    """Dollars per million output tokens; overrides the price list if both prices are set."""


class DeploymentSettings(Section):
    """One of several keys or addresses that serve the models of a provider."""

    base_url: Url | None = None
    """Its address; default: that of the provider."""
    api_key: Secret | None = None
    """Its API key; default: that of the provider."""
    weight: Weight = 1
    """Its share of the calls: one with 2 gets twice as many as one with 1. One with 0 is used only
    if no other can be called."""


Heat = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
StopTexts = Annotated[tuple[Word, ...], Field(max_length=8)]


class SamplingSettings(Section):
    """How a model chooses its words. A call's own value takes precedence over the agent's, and the
    agent's over the provider's; what nobody sets is left to the model."""

    temperature: Heat | None = None
    """How freely the words are chosen, from 0 to 2; the call's value, then the agent's, then the
    provider's counts."""
    top_p: Share | None = None
    """The share of the likeliest words that is chosen from; precedence as for temperature."""
    stop: StopTexts = ()
    """Texts at which an answer ends; precedence as for temperature."""
    seed: Seed | None = None
    """The seed of the choice, for services that have one; precedence as for temperature."""
    reasoning: Literal["low", "medium", "high"] | None = None
    """How much the model reasons before it answers; `/reasoning` and a call's own value take
    precedence, then the agent's, then the provider's."""


class ProviderSettings(SamplingSettings):
    """One place where models run."""

    enabled: bool = True
    """Whether the provider may be used."""
    kind: Word = "openai"
    """The kind of API, such as openai or local."""
    base_url: Url | None = None
    """The address of the API."""
    api_key: Secret | None = None
    """The API key."""
    oauth_token: Secret | None = None
    """An OAuth token, used if there is no key."""
    model: Word | None = None
    """The model to use if none is named."""
    models: Listed[ServedModelSettings] = Field(default_factory=no_entries)
    """Its models beside `model`: a list of names, or a table with what differs for each. They are
    listed, and can be asked for by name alone."""
    deployments: Named[DeploymentSettings] = Field(default_factory=no_entries)
    """Several keys or addresses that serve the same models, by a name of yours. Calls are shared
    out by weight; one that fails or is rate limited is left alone for a while."""
    headers: Headers = Field(default_factory=no_entries)
    """Headers of every call; their values are secret."""
    price_in_per_million: Price | None = None
    """Dollars per million input tokens of its own model; overrides the price list if both prices
    are set."""
    price_out_per_million: Price | None = None
    """Dollars per million output tokens of its own model; overrides the price list if both prices
    are set."""
    max_output_tokens: Count | None = None
    """The maximum length of a reply in tokens; default: the model's own limit."""
    context_tokens: Count = 128_000
    """The context size of the model in tokens, to which conversations are fitted; default: what is
    known of the model."""
    threads: Whole = 0
    """Threads of the built-in model; 0: all cores but one."""
    idle_unload_s: Seconds = 600
    """The built-in model is unloaded after this long without use."""

    @property
    def has_key(self) -> bool:
        """Whether the provider, or one of its deployments, has an API key."""
        return self.api_key is not None or any(one.api_key for one in self.deployments.values())

    @property
    def has_credential(self) -> bool:
        """Whether the provider has a key or a token."""
        return self.has_key or self.oauth_token is not None


class CompactionSettings(Section):
    """How long conversations are summed up before they fill the context of their model."""

    enabled: bool = True
    """Whether older messages are summed up by a model; otherwise they are left out once the context
    is full."""
    at: Share = 0.7
    """Messages are summed up when a conversation takes this share of what its model's context has
    for a prompt."""
    keep: Share = 0.3
    """This share stays word for word: the newest messages."""
    max_tokens: Count = 200_000
    """They are summed up at this length at the latest, however large the context is."""
    summary_tokens: Count = 1_500
    """The maximum length of a summary in tokens."""
    own_model: bool = True
    """Whether the model of the conversation sums it up if routing allows none for summaries."""
    model: ModelName | None = None
    """The model that sums up; default: models.summaries, or what routing allows for summaries."""


class AgentCompactionSettings(Section):
    """What one agent does differently; unset, it follows `compaction`."""

    enabled: bool | None = None
    """As compaction.enabled."""
    at: Share | None = None
    """As compaction.at."""
    keep: Share | None = None
    """As compaction.keep."""
    own_model: bool | None = None
    """As compaction.own_model."""
    model: ModelName | None = None
    """As compaction.model."""


class AgentApprovalSettings(Section):
    """Which tool calls of one agent a person has to allow, beside those of tools that always ask."""

    tools: tuple[Word, ...] = ()
    """The tools that ask before each call, by name; "*" means all."""
    by: Literal["person", "admins"] = "person"
    """Who decides: the person who asked, or only `approvals.admins`."""


class AgentAdapterSettings(Section):
    """What an agent's adapter must know of it, if its runtime is not hermes."""

    people: tuple[Word, ...] = ()
    """The people whose messages a program on this machine works for: ids such as p_..., or
    platform:user."""
    roles: tuple[Word, ...] = ()
    """Others for whom it works: owner, or the name of a tier."""
    url: Annotated[str, Field(max_length=2000)] = ""
    """Where a remote agent (runtime a2a) is, or its agent card."""
    secret: Annotated[str, Field(max_length=200)] = ""
    """The name of the stored secret that is the key for the remote agent; empty: it needs none."""
    folder: Annotated[str, Field(max_length=32, pattern="^[a-z0-9]*$")] = ""
    """Which of the working folders of a conversation it works in; `hermes agents swap` sets it."""


class AgentSettings(SamplingSettings):
    """One agent: who answers, and how."""

    name: Word = "Hermes"
    """The name of the agent."""
    description: str = ""
    """One line about the agent, for people and other agents."""
    tone: Literal["chill", "friendly", "professional", "hype"] = "friendly"
    """The tone in which it answers."""
    role: str = "a helpful assistant"
    """Its role for the people it serves."""
    system_blocks: tuple[str, ...] | None = None
    """System prompt blocks; if set, system_prompt is ignored."""
    system_prompt: str = ""
    """The system prompt if there are no blocks."""
    runtime: Word = "hermes"
    """What answers: hermes (its models and tools), or the name of an adapter."""
    adapter: AgentAdapterSettings = Field(default_factory=AgentAdapterSettings)
    """For whom and where its adapter works."""
    model: ModelName | None = None
    """The model it uses; default: models.default."""
    tier: Name | None = None
    """The tier of routing.tiers whose models it uses."""
    tools: tuple[Word, ...] = ("*",)
    """The tools it may use, by name; "*" means all."""
    delegates: tuple[Word, ...] = ()
    """The agents to which it may give tasks with delegate_task, by name or id; "*" means all."""
    skills: SkillNames = ()
    """The [skills](skills.md) it has, by name; "*" means all of the home."""
    budget_day_usd: Price | None = None
    """What its model calls may cost per day, in dollars."""
    cache: bool = False
    """Whether the same question of the same person may get a cached answer."""
    tool_rounds: Rounds | None = None
    """Its limit of tool rounds; default: turns.tool_rounds."""
    turn_limit_s: Delay | None = None
    """The time limit of its turns; default: turns.limit_s. 0: none."""
    max_output_tokens: Count | None = None
    """The maximum length of one of its answers in tokens; default: that of the provider. A longer
    answer is continued (`turns.continuations`)."""
    response_schema: JsonSchema = Field(default_factory=no_entries)
    """The JSON schema that every answer fits; a model that has no way of its own for that is
    instructed, and its answer is checked. Empty: answers are free text."""
    approvals: AgentApprovalSettings = Field(default_factory=AgentApprovalSettings)
    """Which of its tool calls a person has to allow."""
    compaction: AgentCompactionSettings = Field(default_factory=AgentCompactionSettings)
    """How its long conversations are summed up."""


class WorkspaceSettings(Section):
    """Agents that are made while Hermes runs (workspaces of the HTTP API)."""

    max_count: Count = 10_000
    """The most agents that may exist beside those of `agents`."""
    max_versions: Count = 1_000
    """The most versions that are kept of one agent; the oldest are deleted first."""
    delete_grace_s: Delay = 3_600
    """How long the running and waiting turns of a deleted agent may still end."""


class A2aSettings(Section):
    """Agents of other systems that call the agents of this gateway over A2A."""

    wait_s: Seconds = 600
    """How long a call waits for its reply before it gets the task instead."""
    public_cards: bool = False
    """Whether agent cards, with the names and descriptions of agents, are shown without a key."""


TASKS: tuple[str, ...] = get_args(TaskType)
"""The task types, the more specific first; `large_reasoning` is asked for by name only."""
Credential = Literal["any", "oauth_token", "api_key"]
Chain = Annotated[tuple[Word, ...], Field(min_length=1)]


class AliasSettings(Section):
    """Another name for a provider."""

    provider: Name | None = None
    """The provider, or another alias, that this name refers to."""
    credential: Credential = "any"
    """Of several providers of one kind, the one with this credential is used."""


class TaskRouteSettings(Section):
    """Where prompts of one task type go."""

    primary: Word | None = None
    """Tried first: a provider, an alias, a name of routing.models, provider:model, or local for any
    model on this machine."""
    fallback: Word | None = None
    """Tried after it."""


class TaskKeywordSettings(Section):
    """The words that indicate a prompt's task type; each also matches the beginning of a word."""

    batch_processing: tuple[Word, ...] = (
        "batch processing",
        "batch job",
        "batch run",
        "bulk run",
        "bulk job",
    )
    """Many items at once."""
    code_generation: tuple[Word, ...] = (
        "implement",
        "refactor",
        "fix bug",
        "fix the bug",
        "fix this bug",
        "write a function",
        "write a script",
        "write a test",
        "add endpoint",
        "add an endpoint",
    )
    """Writing and changing code."""
    automation_pipeline: tuple[Word, ...] = (
        "automat",
        "pipeline",
        "schedule",
        "workflow",
        "cron",
        "bulk",
        "batch process",
    )
    """Work that runs by itself."""
    deep_reasoning: tuple[Word, ...] = (
        "explain",
        "analyze",
        "analyse",
        "architect",
        "design a system",
        "compare",
        "evaluate",
    )
    """Thinking something through."""


class ComplexitySettings(Section):
    """How hard a prompt looks, from 0 to 1: each sign adds its weight to what is left up to 1."""

    tokens_weight: Share = 0.5
    """The weight of the prompt's tokens."""
    tokens_full: Count = 2000
    """The number of tokens (a quarter of the characters) for the full weight."""
    code_weight: Share = 0.35
    """The weight of a fenced block of code."""
    steps_weight: Share = 0.6
    """The weight of words that ask for several steps."""
    steps_full: Count = 2
    """The number of different such words for the full weight."""
    step_words: tuple[Word, ...] = ("explain", "architect", "design", "compare", "evaluate")
    """The words that ask for several steps."""
    length_weight: Share = 0.35
    """The weight of the length between the two limits below."""
    short_chars: Whole = 400
    """Up to this length the weight is zero."""
    long_chars: Count = 4000
    """From this length on the weight is full."""


class BreakerSettings(Section):
    """When a model service that fails is left alone, and for how long. Every model of every
    deployment has a breaker of its own."""

    failures: Count = 5
    """After this many failed calls in a row, a service is not called for a while. 429 does not wait
    for that: it counts at once, for as long as the service says."""
    open_s: Seconds = 15
    """How long it is not called. Then one call tries it; while that fails too, the time doubles."""
    most_open_s: Seconds = 300
    """The longest time between two such tries, also if a service asks for more."""
    rate_limit_s: Delay = 2
    """How long a service is left alone after a 429 that does not say how long."""


class RoutingSettings(Section):
    """Which model a call goes to if nobody names one; [routing](routing.md) describes the order."""

    local_first: bool = True
    """Whether a model on this machine is preferred for easy prompts."""
    local_threshold: Share = 1.0
    """Prompts up to this complexity are easy: 1 is every prompt, 0 turns local_first off."""
    cloud_priority: tuple[Name, ...] = CLOUD_PRIORITY
    """The order of remote providers."""
    cloud_summaries: bool = False
    """Whether summaries and embeddings may go to a remote provider."""
    task_routes: Named[TaskRouteSettings] = Field(default_factory=no_entries)
    """Where prompts of a task type go, by its name."""
    task_keywords: TaskKeywordSettings = Field(default_factory=TaskKeywordSettings)
    complexity: ComplexitySettings = Field(default_factory=ComplexitySettings)
    by_tier: bool = False
    """Whether the sender's tier chooses the models; an agent's own tier always does."""
    tiers: Named[Chain] = Field(default_factory=lambda: TIERS)
    """The models of a tier, in order; built in are free, starter and pro."""
    models: Named[Word] = Field(default_factory=lambda: MODELS)
    """What a short name means: a model id or provider:model; built in are claude-haiku and
    claude-sonnet."""
    output_caps: Named[Count] = Field(default_factory=no_entries)
    """How many tokens a model may write in one call, by its name in routing.models; overrides
    max_output_tokens of the provider. Without any, the model's own limit applies."""
    continue_on_failure: bool = False
    """Whether the next candidate continues an interrupted answer; otherwise the shown part is
    marked as incomplete."""
    retry_s: Delay = 0.5
    """A call that fails before anything was shown, and has no other candidate, is made once more
    after about this long (half to one and a half of it, by chance); 0 turns that off."""
    hedge_after_s: Delay = 0
    """If a call of `/v1` or of a job has no output after this long, the next candidate is asked, too;
    the first output wins, and the other call is cancelled, which may cost what it has used. 0 turns
    that off."""
    breaker: BreakerSettings = Field(default_factory=BreakerSettings)
    aliases: Named[AliasSettings] = Field(default_factory=lambda: ALIASES, validate_default=True)
    """Other names of providers; built in are claude, claude_pro and claude_api."""


class BudgetSettings(Section):
    """How much model calls may cost; an unset limit does not apply. Days follow time_zone."""

    platform_day_usd: Price | None = None
    """What all model calls of one day together may cost, in dollars."""
    by_tier: bool = False
    """Whether each person is limited to the daily tokens of their tier (person_day_tokens)."""
    person_day_tokens: Named[Whole] = Field(default_factory=lambda: DAY_TOKENS)
    """The tokens that a person of a tier may use per day; a tier that is not listed has no limit.
    Built in are free, starter and pro."""
    person_month_usd: Price | None = None
    """What the calls of one person may cost per month, in dollars."""
    assumed_price_in_per_million: Price = 3.0
    """Dollars per million input tokens that budgets count for a model whose price is unknown."""
    assumed_price_out_per_million: Price = 15.0
    """Dollars per million output tokens that budgets count for a model whose price is unknown."""
    expected_output_tokens: Count = 1024
    """How many tokens a call without a limit is expected to write at most; held before the call,
    settled after it."""


class CacheSettings(Section):
    """Reusing an answer for the same question of the same person."""

    v1: bool = False
    """Whether calls of /v1 may get cached answers unless they say otherwise."""
    max_age_s: Seconds = 3600
    """How long an answer stays cached."""
    max_answers: Count = 10_000
    """How many answers are cached."""
    max_answers_each: Count = 1_000
    """When the cache is full, the oldest answers of people with more than this many are deleted
    first."""


class CallSettings(Section):
    """The endpoints under /v1."""

    max_body_bytes: Count = 33_554_432
    """A request body larger than this is refused."""
    max_embedding_tokens: Count = 300_000
    """A request for embeddings of more tokens than this, counted as four characters each, is
    refused."""
    response_days: Count = 30
    """Stored responses are deleted this many days after they were made or last continued."""
    max_stored_responses: Count = 10_000
    """How many responses are stored for a key; the least recently continued are deleted first."""
    max_stored_bytes: Count = 268_435_456
    """How many bytes of responses are stored for a key; the least recently continued are deleted
    first."""
    fetch_pictures: bool = True
    """Whether Hermes fetches pictures that callers send by address, for services that take only
    bytes. Every fetch goes through the guard against private addresses, with limits on size and
    type. If off, such a call goes to a service that fetches by itself, or is refused."""
    wait_s: Delay = 5
    """If a model service asks to retry within this time, Hermes waits; otherwise it tries the next
    candidate."""
    ledger_lag_s: Delay = 0.1
    """The usage of calls is written to the ledger within this time."""


CreditPolicy = Literal["unlimited", "wallet"]
# The names allowed in braces in the message.
FIELDS = ("referral_code", "balance", "price")


def _has_known_fields(text: str) -> str:
    """Refuse unknown fields; attributes and formats of a field are not allowed."""
    for _, name, form, conversion in Formatter().parse(text):
        if name is not None and (name not in FIELDS or form or conversion):
            raise ValueError
    return text


Message = Annotated[
    str,
    Field(min_length=1, max_length=2_000),
    AfterValidator(_has_known_fields),
    Means(
        "a text in which {referral_code}, {balance} and {price} may stand, and no other "
        "braces unless doubled"
    ),
]


class CreditTier(Section):
    """What differs for the people of one tier."""

    policy: CreditPolicy | None = None
    """The policy of the tier."""
    price_per_message: Whole | None = None
    """The credits one answered message costs people of the tier."""
    start_grant: Whole | None = None
    """The credits that people of the tier start with."""


class CreditSettings(Section):
    """What a message costs a person, and the credits they have."""

    policy: CreditPolicy = "unlimited"
    """unlimited counts credits but refuses nobody. With wallet, a message that the person's credits
    do not cover gets the upgrade message instead of an answer."""
    price_per_message: Whole = 1
    """The credits one answered message costs."""
    start_grant: Whole = 20
    """The credits that everyone gets once, when a limit first applies."""
    upgrade_message: Message = (
        "You have no credits left for this: it costs {price}, and you have {balance}. "
        "Your referral code is {referral_code}."
    )
    """The text for a person whose credits do not cover the message."""
    referral_bonus: Whole = 0
    """The credits that a newcomer and the owner of their referral code each get, once."""
    referral_days: Days = 7
    """How long after the first message a person counts as a newcomer."""
    referral_most: Count = 50
    """A person gets a bonus for at most this many newcomers."""
    tiers: Named[CreditTier] = Field(default_factory=no_entries)
    """What differs for people of a tier, by its name."""
