"""The settings of the terminal and of the web search: off, safe, and with the older names."""

from pathlib import Path

import pytest

from hermes.errors import ConfigurationError


@pytest.mark.req("W42")
def test_nothing_runs_unless_the_configuration_says_so(load_home):
    settings = load_home().settings

    assert (settings.terminal.enabled, settings.terminal.files) == (False, False)
    assert (settings.terminal.sandbox, settings.terminal.approval) == ("bubblewrap", "always")
    assert settings.web_search.engine == "none"


@pytest.mark.req("W42", "W1")
def test_the_older_names_are_known(load_home):
    found = load_home(TERMINAL_ENV="local", TERMINAL_CWD="/srv/work", TERMINAL_TIMEOUT="60")
    terminal = found.settings.terminal

    assert terminal.sandbox == "bubblewrap"
    assert (terminal.cwd, terminal.timeout_s) == (Path("/srv/work"), 60)


@pytest.mark.req("W42")
@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"HERMES_TERMINAL__SANDBOX": "docker"}, "terminal.sandbox"),
        ({"HERMES_TERMINAL__ALLOW": '["* x"]'}, "terminal.allow"),
        ({"HERMES_TERMINAL__ALLOW": '["ls \'x"]'}, "terminal.allow"),
        ({"HERMES_WEB_SEARCH__ENGINE": "searxng"}, "needs web_search.url"),
        ({"HERMES_WEB_SEARCH__ENGINE": "brave", "TAVILY_API_KEY": "k"}, "web_search.brave_api_key"),
        ({"HERMES_WEB_SEARCH__ENGINE": "tavily"}, "needs web_search.tavily_api_key"),
    ],
)
def test_what_cannot_work_is_refused_with_its_name(load_home, variables, said):
    with pytest.raises(ConfigurationError, match=said):
        load_home(**variables)


@pytest.mark.req("W42")
def test_a_key_in_the_environment_is_that_of_its_engine(load_home):
    search = load_home(BRAVE_API_KEY="b", TAVILY_API_KEY="t").settings.web_search

    assert search.brave_api_key is not None
    assert search.tavily_api_key is not None
    assert search.brave_api_key.get_secret_value() == "b"
    assert search.tavily_api_key.get_secret_value() == "t"
