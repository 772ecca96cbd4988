"""`python -m hermes.testing.webhook` runs the stand-in machine as a program; see
`stand_in_program`.
"""

from hermes.testing.stand_in_program import run_site
from hermes.testing.webhook.machine import MachineStandIn

if __name__ == "__main__":
    run_site(MachineStandIn, has_groups=False)
