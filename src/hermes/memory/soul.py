"""The soul: an agent's stable system blocks, from its configuration."""

from hermes.config import AgentSettings

_TONES = {
    "chill": "Keep a relaxed, easy tone.",
    "friendly": "Keep a warm, friendly tone.",
    "professional": "Keep a precise, professional tone.",
    "hype": "Keep an energetic, enthusiastic tone.",
}


def soul_blocks(agent: AgentSettings) -> tuple[str, ...]:
    """Return the system blocks of an agent: stacked ones if given, else one prompt, else a persona.

    Blocks that are given replace the single prompt, and empty ones are skipped.
    """
    if agent.system_blocks is not None:
        return tuple(block for block in agent.system_blocks if block.strip())
    if agent.system_prompt.strip():
        return (agent.system_prompt,)
    role = f", {agent.role}" if agent.role else ""
    return (f"You are {agent.name}{role}. {_TONES[agent.tone]}",)
