"""The settings of the guard reach the one client."""

import pytest
from pydantic import ValidationError

from hermes.app.adapters import make_client
from hermes.config import Settings


@pytest.mark.req("W34")
async def test_what_the_operator_opens_and_closes_is_what_the_client_goes_by():
    net = {"exempt": ["10.1.0.0/16"], "refuse": ["8.8.8.8"], "ports": [81]}

    settings = make_client(Settings.model_validate({"net": net})).settings

    assert (settings.exempt, settings.refuse, settings.ports) == (
        ("10.1.0.0/16",),
        ("8.8.8.8/32",),
        (81,),
    )


@pytest.mark.req("W34")
def test_nothing_is_open_by_default():
    settings = make_client(Settings()).settings

    assert (settings.exempt, settings.refuse, settings.ports) == ((), (), ())


@pytest.mark.parametrize(
    "net",
    [
        {"exempt": ["10.1.2.3/16"]},
        {"exempt": ["intranet"]},
        {"refuse": ["10.0.0.0/99"]},
        {"ports": [0]},
        {"ports": [65536]},
    ],
)
def test_what_is_no_network_or_port_is_refused(net):
    with pytest.raises(ValidationError):
        Settings.model_validate({"net": net})
