"""One value is set in a YAML text; comments and every other line stay as they were written."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.config.yaml_edit import add_item, set_value
from hermes.errors import ConfigurationError

PATH = ("platforms", "slack", "extra", "mode")


@pytest.mark.req("W1")
@pytest.mark.parametrize("name", ["#private", "on", "123", "a: b", "-x", "null", "a.b", "my-ci"])
@pytest.mark.parametrize("before", ["", "keys:\n  a: 1\n", "keys: {a: 1}\n"])
def test_a_name_that_yaml_would_misread_is_quoted(before: str, name: str) -> None:
    after = yaml.safe_load(set_value(before, ("keys", name), "x"))
    assert after["keys"][name] == "x"


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'platforms:\n  slack:\n    extra:\n      mode: "http"\n'),
        (
            "# ours\nserver:\n  port: 1 # here",
            "# ours\nserver:\n  port: 1 # here\n"
            'platforms:\n  slack:\n    extra:\n      mode: "http"\n',
        ),
        (
            "platforms:\n    telegram: {enabled: true}\n    # a note behind\nserver: {}\n",
            "platforms:\n    telegram: {enabled: true}\n"
            '    slack:\n      extra:\n        mode: "http"\n    # a note behind\nserver: {}\n',
        ),
        (
            "platforms:\n  slack:\n    extra:\n      mode: socket # was it\n      ping_s: 3\n",
            'platforms:\n  slack:\n    extra:\n      mode: "http" # was it\n      ping_s: 3\n',
        ),
        ("platforms: {slack: {}}\n", 'platforms: {slack: {extra: {mode: "http"}}}\n'),
        (
            "platforms:   # none yet\nserver: {}\n",
            'platforms:   # none yet\n  slack:\n    extra:\n      mode: "http"\nserver: {}\n',
        ),
        (
            "platforms:\n  slack:\n    about: |\n      long\n      words\nx: 1\n",
            "platforms:\n  slack:\n    about: |\n      long\n      words\n"
            '    extra:\n      mode: "http"\nx: 1\n',
        ),
    ],
)
def test_only_what_is_set_changes(before: str, after: str) -> None:
    assert set_value(before, PATH, "http") == after


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    "text",
    ["- a list\n", "platforms: text\n", "a: &x {b: 1}\nplatforms: *x\n", "{unclosed\n"],
)
def test_what_cannot_be_edited_safely_is_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r'set platforms\.slack\.extra\.mode to "http"'):
        set_value(text, PATH, "http")


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'plugins: ["b"]\n'),
        ("plugins:\nx: 1\n", 'plugins: ["b"]\nx: 1\n'),
        ("plugins: [] # none\n", 'plugins: ["b"] # none\n'),
        ("plugins: [a]\nx: 1\n", 'plugins: [a, "b"]\nx: 1\n'),
        (
            "plugins:\n- a # first\n# behind\nx: 1\n",
            'plugins:\n- a # first\n- "b"\n# behind\nx: 1\n',
        ),
        ("x: 1\nplugins:\n  - a", 'x: 1\nplugins:\n  - a\n  - "b"\n'),
        ("plugins: [a, b]\n", "plugins: [a, b]\n"),
    ],
)
def test_an_item_is_added_to_a_list_once(before: str, after: str) -> None:
    assert add_item(before, "plugins", "b") == after


@pytest.mark.req("W1")
@pytest.mark.parametrize("text", ["p: &x [a]\nplugins: *x\n", "plugins: [a,]\n"])
def test_a_list_that_cannot_be_edited_is_told_as_it_should_be(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r'set plugins to \["a", "b"\] by hand'):
        add_item(text, "plugins", "b")


names = st.sampled_from(["platforms", "slack", "extra", "mode", "server"])
values = st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.lists(st.text(max_size=3)))
tables = st.recursive(values, lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=8)


@pytest.mark.req("W1")
@settings(max_examples=150, deadline=None)
@given(table=st.dictionaries(names, tables, max_size=4), value=values, flow=st.booleans())
def test_whatever_it_holds_nothing_else_is_ever_changed(
    table: dict[str, object], value: object, flow: bool
) -> None:
    text = yaml.safe_dump(table, default_flow_style=flow, allow_unicode=True)
    table = yaml.safe_load(text)
    try:
        after = yaml.safe_load(set_value(text, PATH, value))
    except ConfigurationError:
        return
    node = after
    for name in PATH[:-1]:
        node = node[name]
    assert node.pop(PATH[-1]) == value
    rest = {name: held for name, held in table.items() if name != "platforms"}
    assert {name: held for name, held in after.items() if name != "platforms"} == rest
