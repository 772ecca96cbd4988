"""Whether a number is one of this machine's own, whatever network it is from.

A service that listens everywhere and is shielded by a firewall answers its own machine all the
same, so a public number of this machine is as closed to strangers as loopback.
"""

import socket
from ipaddress import IPv4Address

from hermes.net.refused_networks import Address

_ANY_PORT = 9


def is_own(address: Address) -> bool:
    """Tell whether packets to `address` would stay here; asks the routing table, sends nothing."""
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # For a datagram socket this only chooses the source, which is the target if that is ours.
            probe.connect((str(address), _ANY_PORT))
            return str(probe.getsockname()[0]) == str(address)
    except OSError:
        return False  # no way there at all, so not here either
