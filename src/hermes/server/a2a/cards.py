"""Agent cards: what an agent is, where it is called, and how. Pure.

One card serves both versions of the protocol.
"""

from typing import Any

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import a2a_pb2 as pb
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0

from hermes import __version__
from hermes.agents.roster import Agent
from hermes.server.a2a.parts import INPUT_MODES, JSON, TEXT

_BINDING = "JSONRPC"
_SCHEME = "key"


# Any: JSON.
def card_json(agent: Agent, *, address: str) -> dict[str, Any]:
    """Return an agent's card, with the fields of both versions."""
    return agent_card_to_dict(agent_card(agent, address=address))


def agent_card(agent: Agent, *, address: str) -> pb.AgentCard:
    """Return an agent's card; `address` is this gateway's."""
    settings = agent.settings
    name = agent.name
    description = settings.description or settings.role
    url = f"{address}/workspaces/{agent.key}/a2a"
    outputs = [TEXT, JSON] if settings.response_schema else [TEXT]
    skill = pb.AgentSkill(id=name, name=name, description=description, tags=["chat"])
    scheme = pb.HTTPAuthSecurityScheme(scheme="bearer", description="A key of this gateway.")
    return pb.AgentCard(
        name=name,
        description=description,
        version=str(agent.version) if agent.is_stored else __version__,
        supported_interfaces=[
            pb.AgentInterface(url=url, protocol_binding=_BINDING, protocol_version=version)
            for version in (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3)
        ],
        capabilities=pb.AgentCapabilities(
            streaming=True, push_notifications=True, extended_agent_card=True
        ),
        security_schemes={_SCHEME: pb.SecurityScheme(http_auth_security_scheme=scheme)},
        security_requirements=[pb.SecurityRequirement(schemes={_SCHEME: pb.StringList()})],
        default_input_modes=INPUT_MODES,
        default_output_modes=outputs,
        skills=[skill],
    )
