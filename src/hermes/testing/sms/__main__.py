"""`python -m hermes.testing.sms` runs the stand-in as a program; see `stand_in_program`."""

from hermes.testing.sms.platform import SmsStandIn
from hermes.testing.stand_in_program import run_site

if __name__ == "__main__":
    run_site(SmsStandIn, has_groups=False)
