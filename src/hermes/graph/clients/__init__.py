"""Official clients of model services that record into a graph what they send and receive.

They wrap a client that the caller made; no SDK is imported here, and none is needed otherwise.
"""

from hermes.graph.clients.anthropic_client import RecordedAnthropic
from hermes.graph.clients.openai_client import RecordedOpenAI

__all__ = ["RecordedAnthropic", "RecordedOpenAI"]
