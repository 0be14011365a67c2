"""Bodies at the doors: limits hold whatever the headers claim, and a refusal does not wait for the rest."""

import asyncio
from io import BytesIO
from pathlib import Path

import pytest

from router.hooks import Hook
from router.http.services import BODY_BYTES_MAX
from router.signatures import sign_github
from tests.integration.doors.opened import ADMIN, SECRET, Opened, assert_problem, from_github, opened

LIMIT = 10_000
FITS = b'{"a": "' + b"x" * (LIMIT - 9) + b'"}'
HOOK = "POST /v1/hooks/github HTTP/1.1\r\nHost: x\r\n"
EVENT = f"POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n"


def door_of(**settings: float) -> dict[str, Hook]:
    limits = {"body_bytes_max": LIMIT, **settings}
    return {"github": Hook("github", "github", (SECRET,), agent="ci", **limits)}


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def head(start: str, framing: str, body: bytes = FITS) -> bytes:
    headers = from_github("push", body, "d-1")
    return (start + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + framing + "\r\n\r\n").encode()


async def nothing_stored(door: Opened, code: str, action: str = "hook.refused") -> None:
    assert await door.stored() == []
    [line] = await door.lines(action)
    assert line["action"] == f"{action}.{code}"


async def test_a_body_of_exactly_the_limit_is_taken_declared_or_chunked(tmp_path: Path) -> None:
    assert len(FITS) == LIMIT
    async with opened(tmp_path, doors=door_of()) as door:
        declared = head(HOOK, f"Content-Length: {LIMIT}")
        assert (await door.raw(declared, FITS))[0] == 202
        chunked = head(HOOK, "Transfer-Encoding: chunked")
        status, answer = await door.raw(chunked, chunk(FITS[:1]), chunk(FITS[1:]), b"0\r\n\r\n")
        assert (status, answer["duplicate"]) == (202, True)


async def test_a_declared_length_over_the_limit_is_refused_before_a_byte_of_it_came(tmp_path: Path) -> None:
    async with opened(tmp_path, doors=door_of()) as door:
        assert_problem(await door.raw(head(HOOK, f"Content-Length: {LIMIT + 1}")), 413, "too_large")
        await nothing_stored(door, "too_large")


async def test_a_chunked_body_over_the_limit_is_refused_while_it_is_still_coming(tmp_path: Path) -> None:
    async with opened(tmp_path, doors=door_of()) as door:
        answer = await door.raw(head(HOOK, "Transfer-Encoding: chunked"), chunk(FITS), chunk(b"x"))
        assert_problem(answer, 413, "too_large")
        await nothing_stored(door, "too_large")


async def test_the_event_door_has_the_same_limits(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        declared = head(EVENT, f"Content-Length: {BODY_BYTES_MAX + 1}")
        assert_problem(await door.raw(declared), 413, "too_large")
        pieces = [chunk(b"x" * 65_536)] * (BODY_BYTES_MAX // 65_536)
        answer = await door.raw(head(EVENT, "Transfer-Encoding: chunked"), *pieces, chunk(b"x"))
        assert_problem(answer, 413, "too_large")
        assert len(await door.lines("event.refused.too_large")) == 2


@pytest.mark.parametrize("framing", [f"Content-Length: {LIMIT}", "Transfer-Encoding: chunked"])
async def test_a_body_that_never_ends_is_given_up(tmp_path: Path, framing: str) -> None:
    async with opened(tmp_path, doors=door_of(body_timeout_s=0.05)) as door:
        assert_problem(await door.raw(head(HOOK, framing)), 408, "too_slow")
        await nothing_stored(door, "too_slow")


async def test_a_length_that_claims_less_than_was_signed_is_badly_signed(tmp_path: Path) -> None:
    async with opened(tmp_path, doors=door_of()) as door:
        answer = await door.raw(head(HOOK, "Content-Length: 100"), FITS[:100])
        assert_problem(answer, 401, "bad_signature")
        await nothing_stored(door, "bad_signature")


async def test_broken_framing_keeps_nothing_and_ends(tmp_path: Path) -> None:
    doors = door_of(body_timeout_s=0.2)
    async with opened(tmp_path, doors=doors) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(head(HOOK, "Transfer-Encoding: chunked") + chunk(b"{"))
        while doors["github"].intake.held_bytes == 0:
            await asyncio.sleep(0)
        writer.write(b"zz\r\nxx\r\n")
        # Which of the two the server's parser lets us say is its own affair.
        assert (await reader.readline()).split()[1] in (b"400", b"408")
        writer.close()
        assert await door.stored() == []


async def test_a_sender_that_leaves_half_way_keeps_nothing_and_holds_nothing(tmp_path: Path) -> None:
    doors = door_of()
    intake = doors["github"].intake
    async with opened(tmp_path, doors=doors) as door:
        _, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(head(HOOK, f"Content-Length: {LIMIT}") + FITS[:100])
        await writer.drain()
        while intake.held_bytes == 0:
            await asyncio.sleep(0)
        writer.close()
        while intake.held_bytes != 0:
            await asyncio.sleep(0)
        assert await door.stored() == []


async def test_more_bodies_at_once_than_the_door_may_hold_are_asked_to_come_again(tmp_path: Path) -> None:
    doors = door_of()
    intake = doors["github"].intake
    async with opened(tmp_path, doors=doors) as door:
        with intake.holding() as others:
            others.add(intake.bytes_max - LIMIT + 1)
            answer = await door.post("/v1/hooks/github", FITS, from_github("push", FITS, "d-1"))
            assert_problem(answer, 503, "overloaded")
        assert (await door.post("/v1/hooks/github", FITS, from_github("push", FITS, "d-1")))[0] == 202
        assert intake.held_bytes == 0


async def test_a_large_delivery_is_taken(tmp_path: Path) -> None:
    body = b'{"a": [' + b",".join([b'"%s"' % (b"x" * 1_000)] * 2_000) + b"]}"
    async with opened(tmp_path) as door:
        headers = from_github("push", body, "d-1") | {"X-Hub-Signature-256": sign_github(body, SECRET)}
        assert (await door.post("/v1/hooks/github", BytesIO(body), headers))[0] == 202
        assert len(await door.stored()) == 1
