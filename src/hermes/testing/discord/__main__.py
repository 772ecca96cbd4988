"""`python -m hermes.testing.discord` runs the stand-in as a program; see `stand_in_program`."""

from hermes.testing.discord.platform import DiscordStandIn
from hermes.testing.stand_in_program import run_site

if __name__ == "__main__":
    run_site(DiscordStandIn, modes=("gateway", "http"))
