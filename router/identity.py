"""Who is who across channels: explicit links from channel-qualified ids to one person's name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sessionstore.errors import BadSettings


@dataclass(frozen=True, slots=True)
class Identity:
    """One person's id at one channel; an empty account means every account of that channel.

    Ids are per app at some providers, so the same id behind two accounts may be two people: then name the account.
    """

    channel: str
    id: str
    account: str = ""


@dataclass(frozen=True, slots=True)
class IdentityLinks:
    """A person's name by identity. Nobody is linked by chance: equal ids at two channels are two people."""

    names: Mapping[Identity, str]

    def name(self, channel: str, account: str, person_id: str) -> str:
        """The linked name, or empty; a link that names the account goes first."""
        exact = self.names.get(Identity(channel, person_id, account), "")
        return exact or self.names.get(Identity(channel, person_id), "")


def link(people: Mapping[str, Iterable[Identity]]) -> IdentityLinks:
    """Turn name -> identities around. Raises BadSettings when one identity is given to two people."""
    names: dict[Identity, str] = {}
    for name, identities in people.items():
        for identity in identities:
            owner = names.setdefault(identity, name)
            if owner != name:
                raise BadSettings(
                    f"{identity.channel}:{identity.id} is linked to both {owner!r} and {name!r}.",
                    hint="Give each id to one person in [routing.identity_links].",
                )
    return IdentityLinks(names)
