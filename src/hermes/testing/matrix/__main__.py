"""`python -m hermes.testing.matrix` runs the stand-in as a program; see `stand_in_program`."""

from hermes.testing.matrix.platform import MatrixStandIn
from hermes.testing.stand_in_program import run_site

if __name__ == "__main__":
    run_site(MatrixStandIn)
