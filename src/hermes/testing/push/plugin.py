"""The plugin `hermes.testing.push.plugin`: the Pigeon channel and the counting tools."""

from hermes.plugins.registry import Registry
from hermes.ports.channel_setup import ChannelSetup
from hermes.testing.push.channel import SampleChannel
from hermes.testing.push.counting_tools import counting_tools
from hermes.testing.push.settings import read_settings
from hermes.testing.push.tally import Tally


def register(registry: Registry) -> None:
    """Register the platform and the tools; the tools count where the platform's settings say."""
    tally = Tally()

    def make(setup: ChannelSetup) -> SampleChannel:
        settings = read_settings(setup)
        if settings.tool_count_file is not None:
            tally.path = settings.tool_count_file
        return SampleChannel(
            settings, setup.client, clock=setup.clock, capabilities=setup.capabilities
        )

    registry.platform("hermes.testing.push", make)
    for tool in counting_tools(tally):
        registry.tool(tool)
