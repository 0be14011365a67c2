"""The address of a session: an agent and an ordered list of typed parts, spelled in exactly one way.

    agent:support/slack:T1/channel:C2/thread:1777244748.777299
    agent:ops/cron:nightly
    agent:ci/github:octo%2Fhello/pr:17

Ids come from other people's systems: Matrix rooms hold `!` and `:`, Signal groups `+`, `/` and `=`, and two ids that
differ only in case are two things. So an id is opaque and kept byte for byte: no folding, trimming or normalising.
Everything outside RFC 3986's unreserved characters is percent-escaped as UTF-8 with upper-case digits, which makes the
text plain ASCII, safe in a URL, a log line and a column, and gives every key one spelling: `parse` refuses any other,
because two spellings of one key would be two sessions.

The tenant is not part of the text. It is a column of its own everywhere, so no id can reach over into another tenant.

Rejected: joining raw ids with `:` (`group:direct:5` reads in two ways) and hashing (nobody can read or search it).
"""

import re
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from sessionstore.errors import BadKey

KEY_BYTES_MAX = 512
TENANT_BYTES_MAX = 128
DEFAULT_TENANT = "default"
THREAD = "thread"

_TYPE = re.compile(r"[a-z][a-z0-9-]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHOWN_CHARS_MAX = 80


@dataclass(frozen=True, slots=True)
class SessionKey:
    """One session's address. A key that exists is valid: whatever cannot be spelled is refused on construction.

    `parts` are (type, id) pairs, at least one. A type is `[a-z][a-z0-9-]*`; an id is any text that is not empty and
    can be encoded. A `thread` part may come once, last, and never alone. Raises BadKey.
    """

    tenant: str
    agent: str
    parts: tuple[tuple[str, str], ...]
    text: str = field(init=False, repr=False, compare=False)  # spelled once: every row needs it

    def __post_init__(self) -> None:
        _check_tenant(self.tenant)
        _check_types(self.parts)
        spelled = [f"agent:{_escaped(self.agent, 'agent')}"]
        spelled += [f"{kind}:{_escaped(part_id, kind)}" for kind, part_id in self.parts]
        text = "/".join(spelled)
        if len(text) > KEY_BYTES_MAX:
            raise BadKey(
                f"The key is {len(text)} bytes long; at most {KEY_BYTES_MAX} are allowed: {_shown(text)}",
                hint="Use a shorter id; a character outside A-Z a-z 0-9 - . _ ~ takes three bytes or more.",
            )
        object.__setattr__(self, "text", text)

    def __str__(self) -> str:
        return self.text

    @property
    def thread(self) -> str | None:
        """The thread's id, or None."""
        kind, part_id = self.parts[-1]
        return part_id if kind == THREAD else None

    @property
    def base(self) -> "SessionKey":
        """The same key without its thread; itself when it has none."""
        if self.thread is None:
            return self
        return SessionKey(self.tenant, self.agent, self.parts[:-1])

    def with_thread(self, thread_id: str) -> "SessionKey":
        """The key of a thread of this session's place; replaces the thread that it has. Raises BadKey."""
        return SessionKey(self.tenant, self.agent, (*self.base.parts, (THREAD, thread_id)))

    def within(self, prefix: "SessionKey") -> bool:
        """Whether this key is `prefix` or lies below it, by whole parts: `pr:17` is not below `pr:1`."""
        same_owner = (self.tenant, self.agent) == (prefix.tenant, prefix.agent)
        return same_owner and self.parts[: len(prefix.parts)] == prefix.parts


def build(key: SessionKey) -> str:
    """The one spelling of a key: ASCII, at most `KEY_BYTES_MAX` bytes. `parse(build(key), key.tenant) == key`."""
    return key.text


def parse(text: str, tenant: str = DEFAULT_TENANT) -> SessionKey:
    """Read a key of `tenant`; the inverse of `build`. Raises BadKey for anything but a key's one spelling."""
    if len(text) > KEY_BYTES_MAX:
        raise BadKey(
            f"The key is {len(text)} characters long; at most {KEY_BYTES_MAX} are allowed: {_shown(text)}",
            hint="Send the key as it was printed.",
        )
    head, *rest = text.split("/")
    kind, agent = _split(head, text)
    if kind != "agent":
        raise BadKey(
            f"The key does not begin with an agent: {_shown(text)}",
            hint="Write it as agent:NAME/type:id, for example agent:ops/cron:nightly.",
        )
    key = SessionKey(tenant, agent, tuple(_split(part, text) for part in rest))
    if key.text != text:
        raise BadKey(
            f"This is not the one spelling of its key: {_shown(text)}",
            hint=f"Write {key.text}",
        )
    return key


def _split(part: str, text: str) -> tuple[str, str]:
    kind, colon, escaped = part.partition(":")
    if not colon:
        raise BadKey(
            f"The part {_shown(part)} has no type in {_shown(text)}",
            hint="Each part is type:id; a slash or colon inside an id is written %2F or %3A.",
        )
    try:
        return kind, unquote(escaped, errors="strict")
    except UnicodeDecodeError:
        raise BadKey(
            f"The part {_shown(part)} does not decode as UTF-8 in {_shown(text)}",
            hint="Percent-escape the UTF-8 bytes of the id.",
        ) from None


def _escaped(part_id: str, kind: str) -> str:
    if not isinstance(part_id, str) or not part_id:
        raise BadKey(
            f"The id of the part {kind!r} is {'empty' if part_id == '' else _shown(part_id)}.",
            hint="Give every part an id; leave the part out when there is nothing to name.",
        )
    try:
        return quote(part_id, safe="")
    except UnicodeEncodeError:
        raise BadKey(
            f"The id of the part {kind!r} holds a lone surrogate: {_shown(part_id)}",
            hint="Decode the id properly before it becomes a key; half a character names nothing.",
        ) from None


def _check_types(parts: tuple[tuple[str, str], ...]) -> None:
    if not parts:
        raise BadKey(
            "The key names an agent and nothing else.",
            hint="Add a part, for example agent:main/shared:main or agent:ops/cron:nightly.",
        )
    kinds = [kind for kind, _ in parts]
    for kind in kinds:
        if not isinstance(kind, str) or not _TYPE.fullmatch(kind):
            raise BadKey(
                f"{_shown(kind)} is not a part type.",
                hint="A type is lower-case: a letter, then letters, digits and hyphens.",
            )
    if THREAD in kinds[:-1] or kinds == [THREAD]:
        raise BadKey(
            "A thread may come once, as the last part, and never alone.",
            hint="Name the place first, then its thread: agent:main/slack:T1/channel:C2/thread:1.2",
        )


def _check_tenant(tenant: str) -> None:
    try:
        size = len(tenant.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= TENANT_BYTES_MAX or _CONTROL.search(tenant):
        raise BadKey(
            f"{_shown(tenant)} cannot name a tenant.",
            hint=f"A tenant is 1 to {TENANT_BYTES_MAX} bytes of text without control characters.",
        )


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= _SHOWN_CHARS_MAX else f"{text[:_SHOWN_CHARS_MAX]}..."
