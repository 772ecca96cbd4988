"""Which model service a stored secret is the key of, and what its table becomes with it."""

import pytest
from pydantic import SecretStr

from hermes.config import ProviderSettings
from hermes.config.provider_keys import (
    credential_of,
    is_credential,
    is_platform_variable,
    known_providers,
    with_credentials,
)

HOUSE = ProviderSettings(base_url="http://127.0.0.1:9/v1", api_key=SecretStr("own"))
TABLES = known_providers({"my-house": HOUSE, "local": ProviderSettings(kind="local")})


@pytest.mark.req("M9", "M1")
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ANTHROPIC_API_KEY", ("anthropic", "api_key")),
        ("ANTHROPIC_AUTH_TOKEN", ("anthropic", "oauth_token")),
        ("HERMES_API_KEY", ("hermes", "api_key")),
        ("HERMES_PROVIDERS__MY_HOUSE__API_KEY", ("my-house", "api_key")),
        ("HERMES_PROVIDERS__OTHER__API_KEY", None),
        ("HERMES_PROVIDERS__MY_HOUSE__BASE_URL", None),
        ("OPENAI_BASE_URL", None),
        ("GITHUB_TOKEN", None),
    ],
)
def test_a_secret_has_the_name_of_the_variable_that_it_stands_for(
    name: str, meant: tuple[str, str] | None
) -> None:
    assert credential_of(name, TABLES) == meant


@pytest.mark.req("M1")
def test_services_that_only_lack_a_key_are_known_in_the_order_of_preference() -> None:
    names = list(TABLES)

    assert names[:4] == ["hermes", "openrouter", "anthropic", "gemini"]
    assert names[-2:] == ["my-house", "local"]
    assert "ollama" not in names
    assert TABLES["my-house"] is HOUSE


@pytest.mark.req("M9")
def test_a_stored_key_replaces_key_and_token_and_an_empty_one_removes_its_own() -> None:
    both = ProviderSettings(api_key=SecretStr("key"), oauth_token=SecretStr("token"))

    stored = with_credentials(both, {"api_key": "stored"})
    hidden = with_credentials(both, {"api_key": ""})

    assert (stored.api_key, stored.oauth_token) == (SecretStr("stored"), None)
    assert (hidden.api_key, hidden.oauth_token) == (None, SecretStr("token"))
    assert with_credentials(both, {}) == both


def test_a_key_is_one_word_and_a_platforms_token_is_no_secret_of_this_kind() -> None:
    words = {one: is_credential(one) for one in ("sk-1", "two words", "line\n", "umlaut-ä", "")}

    assert words == {
        "sk-1": True,
        "two words": False,
        "line\n": False,
        "umlaut-ä": False,
        "": False,
    }
    assert is_platform_variable("TELEGRAM_BOT_TOKEN")
    assert not is_platform_variable("ANTHROPIC_API_KEY")
