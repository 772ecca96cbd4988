"""`python -m hermes.testing.qq` runs the stand-in as a program; see `stand_in_program`."""

from hermes.testing.qq.platform import QqStandIn
from hermes.testing.stand_in_program import run_site

if __name__ == "__main__":
    run_site(QqStandIn, modes=("gateway", "webhook"))
