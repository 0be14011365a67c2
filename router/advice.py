"""Advice on bindings: what is allowed, but probably not meant."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from router.bindings import ANY, Binding
from router.inbound import PeerKind
from router.rules import Routing


def advise(routing: Routing, accounts: Mapping[str, Collection[str]]) -> list[str]:
    """One sentence for each doubt, for `doctor` and the log at start. `accounts` are the configured ones by channel."""
    said: list[str] = []
    seen: dict[Any, int] = {}
    for index, binding in enumerate(routing.bindings):
        said += [f"Binding {index} {doubt}" for doubt in _doubts(binding, accounts)]
        first = seen.setdefault(_matches(binding), index)
        if first != index:
            said.append(f"Binding {index} can never win: binding {first} matches the same and comes first.")
    return said


def _doubts(binding: Binding, accounts: Mapping[str, Collection[str]]) -> Iterator[str]:
    channel = binding.channel
    if not channel:
        return
    if channel not in accounts:
        yield f"names the channel {channel!r}, which is not configured."
    elif binding.account not in ("", ANY) and binding.account not in accounts[channel]:
        yield f"names the account {binding.account!r}, which {channel} does not have."
    elif not binding.account and len(accounts[channel]) > 1:
        yield f'names no account, so it takes every account of {channel}; write account = "{ANY}" if that is meant.'


def _matches(binding: Binding) -> tuple[object, ...]:
    account = "" if binding.account == ANY else binding.account
    kind = None if binding.kind is None else binding.kind is PeerKind.DM
    place = (binding.peer, kind, binding.thread)
    return (binding.tenant, binding.channel, account, *place, binding.guild, binding.team, binding.roles)
