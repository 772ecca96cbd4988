import io
import re

import msgspec
import pytest

from hermes.cli.up import banner, show_banner
from hermes.ops.welcome import Welcome

WELCOME = Welcome(
    version="0.1.0",
    address="http://127.0.0.1:8080",
    home="/h",
    model="openai:gpt-4o-mini",
    sign_in_link="http://127.0.0.1:8080/?code=abc",
)


@pytest.mark.req("W7")
def test_the_banner_says_where_how_and_who():
    text = banner(WELCOME, bold=False)

    assert "Hermes 0.1.0 is running." in text
    assert "http://127.0.0.1:8080/?code=abc" in text
    assert "openai:gpt-4o-mini" in text
    assert "Ctrl-C stops it." in text
    assert "token" not in text
    assert "demonstration" not in text


def test_the_banner_names_the_docs_and_the_way_from_another_machine():
    text = banner(WELCOME, bold=False)
    wide = banner(msgspec.structs.replace(WELCOME, is_listening_widely=True), bold=False)

    assert "docs/index.md" in text
    assert re.search(r"ssh -L 8080:127\.0\.0\.1:8080 \S+@\S+", text)
    assert "ssh -L" not in wide
    assert "other machines can reach this address" in wide


@pytest.mark.req("W35")
def test_the_token_is_shown_on_the_first_start_with_the_word_that_it_is_shown_once():
    text = banner(msgspec.structs.replace(WELCOME, api_token="hermes_abc"), bold=False)

    assert "hermes_abc" in text
    assert "only this once" in text


@pytest.mark.req("M2")
def test_a_demonstration_model_is_called_one_with_the_way_to_a_better_one():
    text = banner(
        msgspec.structs.replace(WELCOME, model="local:smollm2", is_demonstration=True), bold=False
    )

    assert "local:smollm2, a small demonstration model" in text
    assert "export OPENAI_API_KEY=" in text


@pytest.mark.req("M2")
def test_without_any_model_the_banner_says_how_to_add_one():
    text = banner(msgspec.structs.replace(WELCOME, model="none"), bold=False)

    assert "none can answer yet" in text
    assert "export OPENAI_API_KEY=" in text


@pytest.mark.req("W7")
def test_a_pipe_gets_no_control_codes():
    out = io.StringIO()

    show_banner(WELCOME, out)

    assert "\x1b" not in out.getvalue()
    assert "\x1b[1m" in banner(WELCOME, bold=True)
