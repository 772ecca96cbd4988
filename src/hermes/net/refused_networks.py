"""The addresses that a person, a model or a page may not make Hermes connect to: data, no code.

From the IANA registries of special-purpose addresses (RFC 6890, RFC 8190), and the addresses where
clouds serve instance secrets. The guard reads it; an operator opens a part of it with `net.exempt`.
"""

import ipaddress
from typing import Final

import msgspec

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class RefusedNetwork(msgspec.Struct, frozen=True):
    """One network and what it is; `exact` is opened only by the same exemption."""

    network: Network
    what: str
    exact: bool = False


_METADATA: Final = "a cloud's metadata service"
_SECRETS: Final = (
    "169.254.169.254",  # AWS, Google Cloud, Azure, Oracle, DigitalOcean, OpenStack
    "169.254.169.253",  # AWS resolver
    "169.254.169.123",  # AWS clock
    "169.254.170.2",  # AWS task credentials
    "169.254.170.23",  # AWS pod credentials
    "169.254.42.42",  # Scaleway
    "100.100.100.200",  # Alibaba
    "168.63.129.16",  # Azure's host agent: a public number
    "192.0.0.192",  # Oracle
    "fd00:ec2::254",  # AWS
    "fd00:ec2::253",
    "fd00:ec2::23",
    "fd20:ce::254",  # Google Cloud
    "fd00:42::42",  # Scaleway
)
_IPV4: Final = (
    ("0.0.0.0/8", "this machine, RFC 791"),
    ("10.0.0.0/8", "a private network, RFC 1918"),
    ("100.64.0.0/10", "a provider's shared network, RFC 6598"),
    ("127.0.0.0/8", "this machine, RFC 1122"),
    ("169.254.0.0/16", "a link-local network, RFC 3927"),
    ("172.16.0.0/12", "a private network, RFC 1918"),
    ("192.0.0.0/24", "reserved for protocols, RFC 6890"),
    ("192.0.2.0/24", "for documentation, RFC 5737"),
    ("192.31.196.0/24", "an anycast name sink, RFC 7535"),
    ("192.52.193.0/24", "a multicast relay, RFC 7450"),
    ("192.88.99.0/24", "a 6to4 relay, RFC 7526"),
    ("192.168.0.0/16", "a private network, RFC 1918"),
    ("192.175.48.0/24", "an anycast name sink, RFC 7534"),
    ("198.18.0.0/15", "for measurements, RFC 2544"),
    ("198.51.100.0/24", "for documentation, RFC 5737"),
    ("203.0.113.0/24", "for documentation, RFC 5737"),
    ("224.0.0.0/4", "multicast, RFC 5771"),
    ("255.255.255.255/32", "the broadcast address, RFC 919"),
    ("240.0.0.0/4", "reserved, RFC 1112"),
)
# ::ffff:0:0/96 and 64:ff9b::/96 represent IPv4 addresses and are checked as those, so the first
# rows never match them. The last three leave only 2000::/3, which is all that is assigned (RFC
# 4291).
_IPV6: Final = (
    ("::/128", "this machine, RFC 4291"),
    ("::1/128", "this machine, RFC 4291"),
    ("::/96", "an IPv4 address in a withdrawn form, RFC 4291"),
    ("::ffff:0:0:0/96", "a translated IPv4 address, RFC 7915"),
    ("64:ff9b:1::/48", "a translator of this network, RFC 8215"),
    ("100::/64", "discarded, RFC 6666"),
    ("100:0:0:1::/64", "a dummy prefix, RFC 9780"),
    ("2001::/32", "a Teredo tunnel, RFC 4380"),
    ("2001:2::/48", "for measurements, RFC 5180"),
    ("2001:3::/32", "a multicast relay, RFC 7450"),
    ("2001:4:112::/48", "an anycast name sink, RFC 7535"),
    ("2001:10::/28", "hashes and no addresses, ORCHID, RFC 4843"),
    ("2001:20::/28", "hashes and no addresses, ORCHIDv2, RFC 7343"),
    ("2001:30::/28", "remote identification, RFC 9374"),
    ("2001::/23", "reserved for protocols, RFC 2928"),
    ("2001:db8::/32", "for documentation, RFC 3849"),
    ("2002::/16", "a 6to4 tunnel, RFC 3056"),
    ("2620:4f:8000::/48", "an anycast name sink, RFC 7534"),
    ("3fff::/20", "for documentation, RFC 9637"),
    ("5f00::/16", "segment routing, RFC 9602"),
    ("fc00::/7", "a private network, RFC 4193"),
    ("fe80::/10", "a link-local network, RFC 4291"),
    ("fec0::/10", "a site-local network, RFC 3879"),
    ("ff00::/8", "multicast, RFC 4291"),
    ("::/3", "not given out, RFC 4291"),
    ("4000::/2", "not given out, RFC 4291"),
    ("8000::/1", "not given out, RFC 4291"),
)

REFUSED: Final = (
    *(RefusedNetwork(ipaddress.ip_network(number), _METADATA, exact=True) for number in _SECRETS),
    *(RefusedNetwork(ipaddress.ip_network(network), what) for network, what in (*_IPV4, *_IPV6)),
)

# Below 1024 only the web's own ports; above, every port except those of protocols other than HTTP
# or of services without a password. From the bad ports of the Fetch standard, and databases.
WEB_PORTS: Final = frozenset({80, 443})
FIRST_FREE_PORT: Final = 1024
CLOSED_PORTS: Final = frozenset(
    {
        *(1433, 1434, 1521, 1719, 1720, 1723, 2049, 2181, 2375, 2376, 2377, 2379, 2380),
        *(3306, 3389, 3659, 4045, 4190, 4369, 5060, 5061, 5432, 5433, 5672, 5671, 5900, 5984),
        *(5985, 5986, 6000, 6379, 6380, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697),
        *(7000, 7001, 7199, 8125, 8500, 8600, 9042, 9092, 9160, 9200, 9300, 10080, 10250, 10255),
        *(11211, 15672, 26257, 26379, 27017, 27018, 27019, 28015, 50000, 61616),
    }
)
