"""The plugin `hermes.testing.push.plugin`: the Pigeon channel and the counting tools."""

from collections.abc import Mapping

from hermes.net.client import HttpClient
from hermes.plugins.registry import Registry
from hermes.ports.clock import SystemClock
from hermes.testing.push.channel import PigeonChannel
from hermes.testing.push.counting_tools import counting_tools
from hermes.testing.push.settings import read_settings
from hermes.testing.push.tally import Tally


def register(registry: Registry) -> None:
    """Register the channel and the tools; the tools count where the channel's settings say."""
    tally = Tally()

    def make(table: Mapping[str, object], client: HttpClient) -> PigeonChannel:
        settings = read_settings(table)
        if settings.tool_count_file is not None:
            tally.point_at(settings.tool_count_file)
        return PigeonChannel(settings, client, clock=SystemClock())

    registry.channel("pigeon", make)
    for tool in counting_tools(tally):
        registry.tool(tool)
