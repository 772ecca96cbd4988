"""`python -m hermes.testing.meta PLATFORM` runs a stand-in as a program; see `stand_in_program`."""

from hermes.testing.meta.platform import PLATFORMS, MetaStandIn
from hermes.testing.stand_in_program import run_site

if __name__ == "__main__":
    run_site(MetaStandIn, platforms=PLATFORMS, has_groups=False)
