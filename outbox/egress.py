"""Which addresses outgoing calls may reach, enforced where the connection is made.

URLs of effects come from handlers, models and other people's payloads. A check of the URL alone is not enough: a name
may resolve to a private address, or to a public one when it is checked and to a private one when it is used (DNS
rebinding). So the guard sits inside the connector: it resolves the name, drops every address that is not public, and
the connection goes to the very addresses that were checked. Literal addresses, which never reach a resolver, are
checked when a connection is created. Redirects are not followed and proxies from the environment not used.

Not public is everything that IANA's special-purpose registries (RFC 6890 and its successors) list as such, and forms
that carry an IPv4 address inside an IPv6 one (mapped, 6to4, Teredo, NAT64), since they lead wherever that one leads.
"""

import ipaddress
import re
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.tracing import Trace
from yarl import URL

from sessionstore.errors import BadSettings, NotAllowed

Address = IPv4Address | IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

DNS_CACHE_TTL_S = 10
_HINT = "If it is meant to be reached, add the host, host:port or network to TURNLINE_EGRESS_ALLOW."

_NOT_PUBLIC: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; a cloud's metadata service is in it too
        "127.0.0.0/8",
        "168.63.129.16/32",  # a public address by form, but Azure's host agent on every virtual machine
        "169.254.0.0/16",  # link-local; the usual metadata service
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",  # multicast, reserved, broadcast
        "2001::/23",  # protocol assignments; Teredo
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
    )
)
# Everything else in IPv6 (loopback, ULA, link-local, multicast, mapped, NAT64) lies outside global unicast.
_GLOBAL_UNICAST: Final = ipaddress.ip_network("2000::/3")

# What a resolver library could read as an IPv4 address in an unusual form: 127.1, 0x7f.1, 2130706433, 1.2.3.4.
_ENDS_IN_A_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?")
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_.])?")


class EgressRefused(NotAllowed, aiohttp.ClientError):
    """An outgoing call leads to an address that may not be reached. Nothing was sent."""

    code = "egress_refused"


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """What may be reached besides public addresses; made by `parse_allow`. The empty one allows public ones only.

    A host entry allows whatever that name resolves to. A port of None is every port.
    """

    hosts: frozenset[tuple[str, int | None]] = frozenset()
    networks: tuple[tuple[Network, int | None], ...] = ()

    def allows_host(self, host: str, port: int) -> bool:
        name = _plain(host)
        return (name, None) in self.hosts or (name, port) in self.hosts

    def allows_address(self, address: Address, port: int) -> bool:
        if is_public(address):
            return True
        return any(address in network and only in (None, port) for network, only in self.networks)

    def check_url(self, url: URL) -> None:
        """Refuse what no connection should be tried for: other schemes, user info, odd or private literal hosts.

        Raises EgressRefused. Names are judged later, when they are resolved.
        """
        if url.scheme not in ("http", "https") or not url.raw_host or url.port is None:
            raise EgressRefused("Only absolute http and https addresses can be called.", hint="Give a full URL.")
        if url.user is not None or url.password is not None:
            raise EgressRefused(
                "The URL holds a user name or password.", hint="Send credentials in a header from the settings."
            )
        self.check_literal(url.raw_host, url.port)

    def check_literal(self, host: str, port: int) -> None:
        """Refuse a literal address that may not be reached. Raises EgressRefused; names pass."""
        address = _literal(host)
        if address is not None and not self.allows_address(address, port):
            raise EgressRefused(f"{host} is not a public address.", hint=_HINT)


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, whatever name led to it."""
    if isinstance(address, IPv6Address) and (address not in _GLOBAL_UNICAST or address.scope_id):
        return False
    return not any(address in network for network in _NOT_PUBLIC)


def parse_allow(text: str) -> EgressPolicy:
    """Read `TURNLINE_EGRESS_ALLOW`: hosts, host:port, addresses and CIDR networks, with commas between.

    Raises BadSettings.
    """
    hosts: set[tuple[str, int | None]] = set()
    networks: list[tuple[Network, int | None]] = []
    for entry in filter(None, (item.strip() for item in text.split(","))):
        network = _network(entry)
        if network is not None:
            networks.append((network, None))
            continue
        host, port = _host_and_port(entry)
        network = _network(host)
        if network is not None:
            networks.append((network, port))
        else:
            hosts.add((_plain(host), port))
    return EgressPolicy(frozenset(hosts), tuple(networks))


class GuardedResolver(AbstractResolver):
    """Resolves names and passes on only the addresses that the policy allows."""

    def __init__(self, policy: EgressPolicy, inner: AbstractResolver) -> None:
        self._policy = policy
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Raises EgressRefused when no address is left, OSError when the name does not resolve."""
        found = await self._inner.resolve(host, port, family)
        if self._policy.allows_host(host, port):
            return found
        allowed = [one for one in found if self._allows(one["host"], port)]
        if found and not allowed:
            raise EgressRefused(f"{host} has no public address.", hint=_HINT)
        return allowed

    def _allows(self, literal: str, port: int) -> bool:
        try:
            return self._policy.allows_address(ipaddress.ip_address(literal), port)
        except ValueError:
            return False

    async def close(self) -> None:
        await self._inner.close()


class GuardedConnector(aiohttp.TCPConnector):
    """A connector that reaches only what the policy allows; made inside a running loop."""

    def __init__(
        self,
        policy: EgressPolicy,
        *,
        connections_max: int,
        keepalive_s: float,
        resolver: AbstractResolver | None = None,
    ) -> None:
        super().__init__(
            resolver=GuardedResolver(policy, resolver or aiohttp.ThreadedResolver()),
            ttl_dns_cache=DNS_CACHE_TTL_S,
            limit=connections_max,
            keepalive_timeout=keepalive_s,
        )
        self._policy = policy

    async def _create_connection(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        # The one place that every new connection passes, literal addresses included; pooled ones passed it before.
        self._policy.check_literal(req.url.raw_host or "", req.url.port or 0)
        return await super()._create_connection(req, traces, timeout)


def _literal(host: str) -> Address | None:
    """The address that a URL's host spells, None for a name. Raises EgressRefused for odd spellings of addresses."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        if ":" in host or "%" in host or _ENDS_IN_A_NUMBER.fullmatch(host):
            raise EgressRefused(
                f"{host!r} is an address in a form that is not accepted.",
                hint="Write IPv4 as four decimal numbers and IPv6 in brackets, without a zone.",
            ) from None
        return None


def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text.removeprefix("[").removesuffix("]"), strict=False)
    except ValueError:
        return None


def _host_and_port(entry: str) -> tuple[str, int | None]:
    try:
        url = URL(f"//{entry}")
    except ValueError:
        url = URL()
    host = url.raw_host or ""
    bare = not (url.user or url.raw_path.strip("/") or url.query_string or url.fragment or entry.endswith("/"))
    if not bare or not (_NAME.fullmatch(host) or _network(host)):
        raise BadSettings(
            f"TURNLINE_EGRESS_ALLOW: {entry!r} is not a host, host:port or network.",
            hint="Write for example: hooks.internal, 10.1.2.3:8080, 192.168.0.0/24, [fd00::1]:443",
        )
    return host, url.explicit_port


def _plain(host: str) -> str:
    return host.lower().rstrip(".")
