"""Several models and several deployments of one provider: in files, in variables, and what is shown."""

import pytest

from hermes.config import ServedModelSettings, show
from hermes.errors import ConfigurationError
from hermes.ops.logs import secrets_in

HOUSE = "providers: {house: {base_url: 'http://127.0.0.1:1/v1', model: a, %s}}\n"


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    "text",
    ["models: [b, vendor/C.1]", "models: {b: {}, vendor/C.1: null}"],
)
def test_models_are_a_list_of_names_or_a_table(write, load_home, text):
    write(yaml=HOUSE % text)

    house = load_home().settings.providers["house"]

    assert house.models == {"b": ServedModelSettings(), "vendor/C.1": ServedModelSettings()}


@pytest.mark.req("M1")
@pytest.mark.parametrize("text", ["b, c", '["b", "c"]', '{"b": {}, "c": {}}'])
def test_a_variable_names_the_models_too(write, load_home, text):
    write(yaml=HOUSE % "models: [z]")

    house = load_home(HERMES_PROVIDERS__HOUSE__MODELS=text).settings.providers["house"]

    assert list(house.models) == ["z", "b", "c"]


@pytest.mark.req("M1")
def test_a_model_of_a_table_has_its_own_size_cap_and_price(write, load_home):
    write(
        yaml=HOUSE
        % "models: {b: {context_tokens: 9000, max_output_tokens: 70, price_in_per_million: 1,"
        " price_out_per_million: 2}}"
    )

    assert load_home().settings.providers["house"].models["b"] == ServedModelSettings(
        context_tokens=9000,
        max_output_tokens=70,
        price_in_per_million=1,
        price_out_per_million=2,
    )


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("models: 7", "providers.house.models is 7, expected keys with values"),
        ("models: {b: {context: 1}}", "unknown key providers.house.models.b.context"),
        ("models: [{b: 1}]", "providers.house.models is"),
        ("deployments: {east: {weight: -1}}", "deployments.east.weight is -1, expected"),
    ],
)
def test_wrong_models_and_deployments_are_refused_by_name(write, load_home, text, problem):
    write(yaml=HOUSE % text)

    with pytest.raises(ConfigurationError, match=problem):
        load_home()


@pytest.mark.req("M1")
def test_the_keys_of_deployments_are_secret_and_come_from_variables_too(write, load_home):
    write(yaml=HOUSE % "deployments: {east: {api_key: sk-east-1, weight: 2}, west: {}}")

    loaded = load_home(HERMES_PROVIDERS__HOUSE__DEPLOYMENTS__WEST__API_KEY="sk-west-1")

    deployments = loaded.settings.providers["house"].deployments
    keys = {name: one.api_key.get_secret_value() for name, one in deployments.items()}
    assert keys == {"east": "sk-east-1", "west": "sk-west-1"}
    assert loaded.settings.providers["house"].has_key
    assert {"sk-east-1", "sk-west-1"} <= secrets_in(loaded.settings)
    shown = repr(show(loaded, origin=True)) + repr(loaded.settings)
    assert "sk-east-1" not in shown
    assert "sk-west-1" not in shown


@pytest.mark.req("M2")
def test_half_a_price_of_a_model_is_warned_of(write, load_home):
    write(yaml=HOUSE % "models: {b: {price_in_per_million: 1}}")

    (warning,) = load_home().warnings

    assert "providers.house.models.b.price_out_per_million is not set" in str(warning)


@pytest.mark.req("M1", "M2")
def test_addresses_of_all_deployments_are_enough(write, load_home):
    east = "east: {base_url: 'http://127.0.0.1:1/v1'}"
    write(yaml=f"providers: {{house: {{deployments: {{{east}}}}}}}")
    assert load_home().settings.providers["house"].base_url is None

    write(yaml=f"providers: {{house: {{deployments: {{{east}, west: {{}}}}}}}}")
    with pytest.raises(ConfigurationError, match="expected the address of the model server"):
        load_home()
