"""The settings of attachments."""

import pytest

from hermes.config import Settings

EXPECTED = "expected a list, each item a host such as example.com or *.example.com"


@pytest.mark.req("W20")
@pytest.mark.parametrize(
    "host",
    ["https://example.com/x", "example.com/x", "example.com:443", "*", "*.", "*.*.com", "a b", ""],
)
def test_what_is_no_host_is_no_host_for_links(write, refusal, host):
    write(yaml=f'media: {{link_hosts: ["{host}"]}}')

    assert EXPECTED in refusal()


@pytest.mark.req("W20")
def test_a_host_and_every_name_below_one_are_hosts_for_links():
    hosts = ("example.com", "*.example.org", "Files.Example.NET", "intranet", "bücher.example")

    assert Settings.model_validate({"media": {"link_hosts": hosts}}).media.link_hosts == hosts
