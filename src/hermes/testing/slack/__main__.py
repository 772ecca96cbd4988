"""`python -m hermes.testing.slack` runs the stand-in as a program; see `stand_in_program`."""

from hermes.testing.slack.platform import SlackStandIn
from hermes.testing.stand_in_program import run_site

if __name__ == "__main__":
    run_site(SlackStandIn, modes=("socket", "http"))
