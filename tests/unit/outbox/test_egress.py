"""Outgoing calls reach public addresses, and private ones only when the settings name them."""

import socket
from ipaddress import ip_address
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from outbox.egress import EgressPolicy, EgressRefused, GuardedResolver, is_public, parse_allow
from sessionstore.errors import BadSettings

PRIVATE = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "fec0::1",
    "ff02::1",
]
PUBLIC = ["1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.255.255", "168.63.129.17", "2606:4700::1111"]


class Names(AbstractResolver):
    """A resolver whose answers change with every question, as an attacker's do."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> Any:
        found = self.answers.pop(0)
        return [
            {"hostname": host, "host": one, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
            for one in found
        ]

    async def close(self) -> None:
        return None


@pytest.mark.parametrize("text", PRIVATE)
def test_an_address_with_a_special_purpose_is_not_public(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_an_ordinary_address_is_public(text: str) -> None:
    assert is_public(ip_address(text))


@given(st.ip_addresses())
def test_nothing_that_python_calls_private_counts_as_public(address: Any) -> None:
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://[::1]:80/",
        "http://[::ffff:169.254.169.254]/latest/meta-data",
        "http://127.1/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://127.0.0.1./",
        "http://①②⑦.0.0.1/",
        "http://169.254.169.254:80/",
        "http://[fe80::1%25eth0]/",
        "http://1.2.3.4.5/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "//example.com/",
        "/path",
        "http:///path",
        "http://user@example.com/",
        "http://user:pass@example.com/",
        "http://:pass@example.com/",
    ],
)
def test_a_url_that_names_no_public_http_server_is_refused(url: str) -> None:
    with pytest.raises(EgressRefused) as caught:
        EgressPolicy().check_url(URL(url))
    assert caught.value.hint
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["https://example.com/x", "http://8.8.8.8:8080/", "https://[2606:4700::1111]/", "https://1e100.net/"]
)
def test_a_url_that_may_lead_to_a_public_server_passes(url: str) -> None:
    EgressPolicy().check_url(URL(url))


@pytest.mark.parametrize(
    ("allow", "url", "good"),
    [
        ("127.0.0.1", "http://127.0.0.1:9/", True),
        ("127.0.0.1:9", "http://127.0.0.1:9/", True),
        ("127.0.0.1:9", "http://127.0.0.1:10/", False),
        ("10.0.0.0/8, 192.168.1.0/24", "http://192.168.1.7/", True),
        ("10.0.0.0/8, 192.168.1.0/24", "http://192.168.2.7/", False),
        ("[fd00::1]:443", "https://[fd00::1]/", True),
        ("[fd00::1]:443", "http://[fd00::1]/", False),
        ("fd00::/8", "http://[fd12::1]/", True),
        ("localhost", "http://127.0.0.1/", False),
        ("", "http://10.0.0.1/", False),
    ],
)
def test_the_allow_list_opens_addresses_networks_and_ports(allow: str, url: str, good: bool) -> None:
    policy = parse_allow(allow)
    if good:
        policy.check_url(URL(url))
    else:
        with pytest.raises(EgressRefused):
            policy.check_url(URL(url))


@pytest.mark.parametrize(
    "allow", ["a b", "a/b", "http://x", "*", "*.internal", "u@h", ":80", "h:99999", "h:x", "10.0.0.0/99", "h/"]
)
def test_a_wrong_allow_list_is_a_settings_error(allow: str) -> None:
    with pytest.raises(BadSettings, match="TURNLINE_EGRESS_ALLOW"):
        parse_allow(f"ok.internal, {allow}")


async def test_a_name_that_leads_to_private_addresses_only_is_refused() -> None:
    with pytest.raises(EgressRefused, match=r"evil\.test"):
        await GuardedResolver(EgressPolicy(), Names(["127.0.0.1", "10.0.0.1"])).resolve("evil.test", 80)


async def test_of_mixed_answers_only_the_public_addresses_are_left() -> None:
    found = await GuardedResolver(EgressPolicy(), Names(["10.0.0.1", "8.8.8.8", "::1", "odd"])).resolve(
        "mixed.test", 80
    )
    assert [one["host"] for one in found] == ["8.8.8.8"]


@pytest.mark.parametrize(
    ("allow", "good"),
    [("hooks.internal", True), ("HOOKS.internal.", True), ("hooks.internal:80", True), ("hooks.internal:81", False)],
)
async def test_an_allowed_name_may_lead_anywhere(allow: str, good: bool) -> None:
    resolver = GuardedResolver(parse_allow(allow), Names(["10.0.0.1"]))
    if good:
        assert [one["host"] for one in await resolver.resolve("hooks.internal", 80)] == ["10.0.0.1"]
    else:
        with pytest.raises(EgressRefused):
            await resolver.resolve("hooks.internal", 80)


async def test_an_allowed_network_also_opens_names_that_lead_into_it() -> None:
    resolver = GuardedResolver(parse_allow("10.0.0.0/8"), Names(["10.0.0.1", "192.168.0.1"]))
    assert [one["host"] for one in await resolver.resolve("x.test", 80)] == ["10.0.0.1"]
