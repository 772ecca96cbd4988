"""Environment variables as data: which name sets which key, for the environment and for `.env`.

Part of config; pure. A new well-known name needs only a new row in the table. Names that every
platform has, such as `TELEGRAM_HOME_CHANNEL`, are built from the name of the platform.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from hermes.config.chat_settings import ChannelSettings
from hermes.config.keys import ANY_NAME
from hermes.config.settings import Key
from hermes.home_path import HOME_VARIABLE

PREFIX = "HERMES_"
LEVELS = "__"
ACCOUNTS = "accounts"
HOME = HOME_VARIABLE


@dataclass(frozen=True, slots=True)
class WellKnownVariable:
    """A variable name that people already use, and the key it sets."""

    name: str
    key: Key
    enables: str | None = None
    """The platform that this credential enables."""


WELL_KNOWN: Mapping[str, WellKnownVariable] = {
    row.name: row
    for row in (
        WellKnownVariable("HERMES_API_KEY", ("providers", "hermes", "api_key")),
        WellKnownVariable("OPENROUTER_API_KEY", ("providers", "openrouter", "api_key")),
        WellKnownVariable("ANTHROPIC_API_KEY", ("providers", "anthropic", "api_key")),
        WellKnownVariable("ANTHROPIC_AUTH_TOKEN", ("providers", "anthropic", "oauth_token")),
        WellKnownVariable("GEMINI_API_KEY", ("providers", "gemini", "api_key")),
        WellKnownVariable("OPENAI_API_KEY", ("providers", "openai", "api_key")),
        WellKnownVariable("OPENAI_BASE_URL", ("providers", "openai", "base_url")),
        WellKnownVariable("GROQ_API_KEY", ("providers", "groq", "api_key")),
        WellKnownVariable("MISTRAL_API_KEY", ("providers", "mistral", "api_key")),
        WellKnownVariable("DEEPSEEK_API_KEY", ("providers", "deepseek", "api_key")),
        WellKnownVariable("TOGETHER_API_KEY", ("providers", "together", "api_key")),
        WellKnownVariable("FIREWORKS_API_KEY", ("providers", "fireworks", "api_key")),
        WellKnownVariable("XAI_API_KEY", ("providers", "xai", "api_key")),
        WellKnownVariable("PERPLEXITY_API_KEY", ("providers", "perplexity", "api_key")),
        WellKnownVariable("CEREBRAS_API_KEY", ("providers", "cerebras", "api_key")),
        WellKnownVariable("NVIDIA_API_KEY", ("providers", "nvidia", "api_key")),
        WellKnownVariable("MOONSHOT_API_KEY", ("providers", "moonshot", "api_key")),
        WellKnownVariable("DASHSCOPE_API_KEY", ("providers", "qwen", "api_key")),
        WellKnownVariable("MINIMAX_API_KEY", ("providers", "minimax", "api_key")),
        WellKnownVariable("COPILOT_GITHUB_TOKEN", ("providers", "copilot", "api_key")),
        WellKnownVariable(
            "TELEGRAM_BOT_TOKEN", ("platforms", "telegram", "extra", "bot_token"), "telegram"
        ),
        WellKnownVariable(
            "TELEGRAM_ALLOWED_USERS", ("platforms", "telegram", "extra", "allowed_users")
        ),
        WellKnownVariable(
            "TELEGRAM_WEBHOOK_SECRET", ("platforms", "telegram", "extra", "webhook_secret")
        ),
        WellKnownVariable(
            "DISCORD_BOT_TOKEN", ("platforms", "discord", "extra", "bot_token"), "discord"
        ),
        WellKnownVariable("DISCORD_PUBLIC_KEY", ("platforms", "discord", "extra", "public_key")),
        WellKnownVariable(
            "MATRIX_ACCESS_TOKEN", ("platforms", "matrix", "extra", "access_token"), "matrix"
        ),
        WellKnownVariable("MATRIX_HOMESERVER", ("platforms", "matrix", "extra", "homeserver")),
        WellKnownVariable("MATRIX_USER_ID", ("platforms", "matrix", "extra", "user_id")),
        WellKnownVariable("MATRIX_PASSWORD", ("platforms", "matrix", "extra", "password")),
        WellKnownVariable(
            "MATRIX_ALLOWED_USERS", ("platforms", "matrix", "extra", "allowed_users")
        ),
        WellKnownVariable("SLACK_BOT_TOKEN", ("platforms", "slack", "extra", "bot_token"), "slack"),
        WellKnownVariable("SLACK_APP_TOKEN", ("platforms", "slack", "extra", "app_token")),
        WellKnownVariable(
            "SLACK_SIGNING_SECRET", ("platforms", "slack", "extra", "signing_secret")
        ),
        *(
            WellKnownVariable(
                f"WHATSAPP_{name.upper()}", ("platforms", "whatsapp", "extra", key), on
            )
            for name, key, on in (
                ("access_token", "access_token", "whatsapp"),
                ("phone_number_id", "phone_number_id", None),
                ("app_secret", "app_secret", None),
                ("verify_token", "verify_token", None),
                ("360dialog_api_key", "api_key", "whatsapp"),
                ("360dialog_webhook_secret", "webhook_secret", None),
            )
        ),
        *(
            WellKnownVariable(
                f"{platform.upper()}_{name.upper()}",
                ("platforms", platform, "extra", name),
                platform if name == "access_token" else None,
            )
            for platform in ("instagram", "messenger")
            for name in ("access_token", "app_secret", "verify_token")
        ),
        *(
            WellKnownVariable(
                f"TWILIO_{name.upper()}",
                ("platforms", "sms", "extra", name),
                "sms" if name == "auth_token" else None,
            )
            for name in ("auth_token", "account_sid", "sender")
        ),
        WellKnownVariable("QQ_APP_SECRET", ("platforms", "qq", "extra", "app_secret"), "qq"),
        WellKnownVariable("QQ_APP_ID", ("platforms", "qq", "extra", "app_id")),
        WellKnownVariable("EMAIL_PASSWORD", ("platforms", "email", "extra", "password"), "email"),
        WellKnownVariable("EMAIL_ADDRESS", ("platforms", "email", "extra", "address")),
        WellKnownVariable("EMAIL_IMAP_HOST", ("platforms", "email", "extra", "imap_host")),
        WellKnownVariable("EMAIL_SMTP_HOST", ("platforms", "email", "extra", "smtp_host")),
        WellKnownVariable("EMAIL_AUTHSERV_ID", ("platforms", "email", "extra", "authserv_id")),
        WellKnownVariable("EMAIL_ALLOWED_USERS", ("platforms", "email", "extra", "allowed_users")),
        WellKnownVariable("TERMINAL_ENV", ("terminal", "sandbox")),
        WellKnownVariable("TERMINAL_CWD", ("terminal", "cwd")),
        WellKnownVariable("TERMINAL_TIMEOUT", ("terminal", "timeout_s")),
        WellKnownVariable("BRAVE_API_KEY", ("web_search", "brave_api_key")),
        WellKnownVariable("TAVILY_API_KEY", ("web_search", "tavily_api_key")),
        WellKnownVariable("SSL_CERT_FILE", ("net", "ca_bundle")),
        WellKnownVariable("REQUESTS_CA_BUNDLE", ("net", "ca_bundle")),
        WellKnownVariable("HERMES_FAILPOINTS", ("debug", "failpoints")),
    )
}

_NAMES: Mapping[Key, str] = {row.key: row.name for row in reversed(tuple(WELL_KNOWN.values()))}

OF_PLATFORMS: Mapping[str, tuple[Key, Key]] = {
    "ALLOW_ALL_USERS": (("access", "platforms"), ("allow_all",)),
    "ALLOWED_USERS": (("access", "platforms"), ("allow_from",)),
    "ALLOWED_CHATS": (("access", "platforms"), ("allowed_chats",)),
    "REQUIRE_MENTION": (("access", "platforms"), ("require_mention",)),
    "HOME_CHANNEL": (("platforms",), ("home_channel",)),
}
"""The ends of the variables that every platform has, each with the key around its name."""


def variable_for(key: Key) -> str | None:
    """The well-known variable that sets a key, if there is one."""
    return _NAMES.get(key)


ENVIRONMENT_ONLY: frozenset[Key] = frozenset({("debug", "failpoints")})

# These are allowed at the top of a file without `platforms.`; any other needs it.
PLATFORM_NAMES = frozenset(
    [
        "telegram",
        "discord",
        "slack",
        "whatsapp",
        "instagram",
        "messenger",
        "signal",
        "matrix",
        "mattermost",
        "homeassistant",
        "email",
        "sms",
        "dingtalk",
        "feishu",
        "wecom",
        "weixin",
        "bluebubbles",
        "qq",
        "qqbot",
        "yuanbao",
        "teams",
        "webhook",
        "rest",
        "web",
        "irc",
    ]
)


def platforms_named(keys: Iterable[Key], variables: Iterable[str]) -> frozenset[str]:
    """Return the platforms whose variables count: the known ones, and those that are configured."""
    paths = (key_of(name) for name in variables if name.startswith(PREFIX))
    tables = (key[1] for key in (*keys, *paths) if key[0] == "platforms" and len(key) > 1)
    return PLATFORM_NAMES | frozenset(tables)


def key_of_platform(variable: str, platforms: Collection[str]) -> Key | None:
    """Return the key that a variable such as `TELEGRAM_HOME_CHANNEL` sets; None for others."""
    for end, (before, after) in OF_PLATFORMS.items():
        name = variable.removesuffix(f"_{end}")
        if name != variable:
            meant = (one for one in platforms if one.upper().replace("-", "_") == name)
            found = next(meant, None)
            return None if found is None else (*before, found, *after)
    return None


def platform_key(name: str, rest: Key) -> Key:
    """The full key of `telegram.x`, which means `platforms.telegram.extra.x`.

    Below an account, `telegram.accounts.sales.x`, what every platform has is meant by its own name.
    """
    if rest[:1] == (ACCOUNTS,):
        is_own = len(rest) > 2 and rest[2] not in ChannelSettings.model_fields
        extra = ("extra",) if is_own else ()
        return ("platforms", name, *rest[:2], *extra, *rest[2:])
    if rest and rest[0] in ("enabled", "extra"):
        return ("platforms", name, *rest)
    return ("platforms", name, "extra", *rest)


def key_of(name: str) -> Key:
    """The key that a `HERMES_A__B` variable sets."""
    parts = tuple(name.removeprefix(PREFIX).lower().split(LEVELS))
    if len(parts) > 1 and parts[0] in PLATFORM_NAMES:
        return platform_key(parts[0], parts[1:])
    return parts


def variable_of(key: Key) -> str:
    """The `HERMES_A__B` variable that sets a key."""
    parts = ("<NAME>" if part == ANY_NAME else part.upper().replace("-", "_") for part in key)
    return PREFIX + LEVELS.join(parts)
