"""The server around the API: health, metrics, the description, the pages, and errors that always say what to do."""

import asyncio
import re
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from router.http import server as server_module
from router.http.routes import OPERATIONS
from router.keys import make_key
from sessionstore.errors import BadSettings
from tests.integration.api.served import ADMIN, Served, served

KEY = make_key("default", "demo", [("api", "ci"), ("source", "s")])


async def test_alive_is_not_ready(quiet: Served) -> None:
    assert await quiet.get("/healthz", token="") == {"status": "alive"}
    assert await quiet.get("/readyz", token="") == {"status": "ready"}
    quiet.reason.append("the relay has not moved for 40 s")
    status, problem = await quiet.ask("GET", "/readyz", token="")
    assert (status, problem["code"], problem["detail"]) == (503, "not_ready", "the relay has not moved for 40 s")
    assert problem["retryable"]
    assert await quiet.get("/healthz", token="") == {"status": "alive"}


async def metrics(server: Served) -> dict[str, float]:
    async with server.http.get(f"{server.url}/metrics") as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text = await answer.text()
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) turnline_\w+ .+|turnline_\w+(\{\w+="\w+"\})? [0-9.e+-]+', line), line
    samples = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in samples}


async def test_metrics_tell_what_waits_and_what_was_counted(quiet: Served) -> None:
    for n in range(3):
        await quiet.publish(KEY, event_id=f"e{n}")
    await quiet.store.operations.add_dead("default", "hook", "x1", "not JSON", b"{")
    told = await metrics(quiet)
    assert told["turnline_sessions_due"] == 1
    assert told["turnline_sessions_due_age_seconds"] >= 0
    assert told["turnline_accepted_total"] == 3
    assert told['turnline_events{state="queued"}'] == 3
    assert told["turnline_dead_letters"] == 1
    assert told["turnline_ready"] == 1
    assert told['turnline_missing{of="accepted"}'] == told['turnline_missing{of="intended"}'] == 0


async def test_metrics_count_effects_by_state(server: Served) -> None:
    await server.publish(KEY, "request")
    await server.turn_closed(KEY.text)
    told = await metrics(server)
    assert told['turnline_effects{state="pending"}'] == 1
    assert told["turnline_intended_total"] == 1
    assert told["turnline_sessions_due"] == 0
    assert told["turnline_effects_due"] == 1


async def test_every_route_of_the_api_is_described(quiet: Served) -> None:
    described = await quiet.get("/openapi.json", token="")
    assert described["openapi"] == "3.1.0"
    paths = {(method, path) for path, methods in described["paths"].items() for method in methods}
    assert {(o.method.lower(), o.path) for o in OPERATIONS} == paths
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            names = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
            assert names == re.findall(r"\{(\w+)\}", path)
            assert operation["responses"], (method, path)
    wanted = set(re.findall(r'"#/components/schemas/(\w+)"', await raw(quiet, "/openapi.json")))
    assert wanted <= set(described["components"]["schemas"])


async def raw(server: Served, path: str) -> str:
    async with server.http.get(server.url + path) as answer:
        return await answer.text()


async def test_every_route_that_needs_a_token_refuses_whoever_has_none(quiet: Served) -> None:
    guarded = [operation for operation in OPERATIONS if operation.scope]
    assert len(guarded) > 15
    for operation in guarded:
        path = re.sub(r"\{\w+\}", "x", operation.path)
        status, problem = await quiet.ask(operation.method, path, token="")
        assert (status, problem["code"]) == (401, "not_authenticated"), path


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/v1/nowhere", 404, "not_found"),
        ("GET", "/static/nowhere.js", 404, "not_found"),
        ("GET", "/static/../server.py", 404, "not_found"),
        ("GET", "/static/..%2Fhttp%2Fserver.py", 404, "not_found"),
        ("GET", "/static//etc/passwd", 404, "not_found"),
        ("DELETE", "/v1/sessions", 405, "method_not_allowed"),
        ("POST", "/", 405, "method_not_allowed"),
        ("GET", "/v1/chat/ws", 403, "not_allowed"),
    ],
)
async def test_errors_are_problem_documents(quiet: Served, method: str, path: str, status: int, code: str) -> None:
    headers = {"Authorization": f"Bearer {ADMIN}"}
    async with quiet.http.request(method, URL(quiet.url + path, encoded=True), headers=headers) as answer:
        assert answer.content_type == "application/problem+json"
        problem = await answer.json(content_type=None)
    assert (answer.status, problem["code"], problem["status"]) == (status, code, status)
    assert problem["hint"]
    assert answer.headers["Cache-Control"] == "no-store"
    if status == 405:
        assert answer.headers["Allow"]


async def test_the_socket_says_so_to_whoever_does_not_speak_its_protocol(quiet: Served) -> None:
    headers = {"Origin": quiet.url, "Cookie": f"turnline_chat={await quiet.cookie()}"}
    status, problem = await quiet.ask("GET", "/v1/chat/ws", headers=headers)
    assert (status, problem["code"]) == (400, "bad_input")


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/", "text/html"),
        ("/static/chat.js", "text/javascript"),
        ("/static/console/api.js", "text/javascript"),
        ("/static/tokens.css", "text/css"),
        ("/static/favicon.svg", "image/svg+xml"),
    ],
)
async def test_files_have_their_type_and_are_asked_for_again_cheaply(
    quiet: Served, path: str, content_type: str
) -> None:
    async with quiet.http.get(quiet.url + path) as answer:
        assert (answer.status, answer.content_type, answer.charset) == (200, content_type, "utf-8")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-cache"
        assert await answer.read()
        tag = answer.headers["ETag"]
    async with quiet.http.get(quiet.url + path, headers={"If-None-Match": tag}) as answer:
        assert (answer.status, await answer.read()) == (304, b"")
    async with quiet.http.get(quiet.url + path, headers={"If-None-Match": '"other"'}) as answer:
        assert answer.status == 200


async def test_the_pages_run_no_script_but_their_own(quiet: Served) -> None:
    for path in ("/", "/chat"):
        async with quiet.http.get(quiet.url + path) as answer:
            policy = answer.headers["Content-Security-Policy"]
        for part in ("default-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
            assert part in policy


async def test_an_event_sent_over_http_is_answered_in_its_transcript(server: Served) -> None:
    body = {"source": "builds", "type": "message", "data": {"text": "hi"}, "id": "b1"}
    status, taken = await server.ask("POST", "/v1/events", body=body)
    assert status == 202
    events = await server.turn_closed(taken["session_key"])
    assert "heard hi" in [event["body"].get("text") for event in events]


async def test_a_stream_ends_when_the_server_stops(quiet: Served) -> None:
    await quiet.publish(KEY)
    headers = {"Authorization": f"Bearer {ADMIN}"}
    address = URL(f"{quiet.url}/v1/sessions/{KEY.text.replace('/', '%2F')}/stream", encoded=True)
    async with quiet.http.get(address, headers=headers, timeout=aiohttp.ClientTimeout(total=20)) as answer:
        assert (await answer.content.readline()).startswith(b"retry:")
        await quiet.webchat.close()
        assert (await answer.content.read()).strip() == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: -5\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: h\r\nX: a\x00b\r\n\r\n",
        b"GET * HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: h\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    ],
    ids=["length", "nul", "target", "long"],
)
async def test_bytes_that_are_no_request_cost_their_sender_an_answer_and_the_log_no_traceback(
    quiet: Served, sent: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    port = URL(quiet.url).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    assert (await reader.read()).startswith(b"HTTP/1.0 400")
    writer.close()
    assert await quiet.get("/healthz", token="") == {"status": "alive"}
    assert not [line for line in caplog.records if line.exc_info]
    assert "Traceback" not in "".join(capfd.readouterr())


async def test_a_compressed_body_is_refused_and_the_log_shows_no_traceback(
    quiet: Served, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Encoding": "gzip", "Connection": "close"}
    async with quiet.http.post(f"{quiet.url}/v1/events", data=b"no gzip at all", headers=headers) as answer:
        assert answer.status == 415
    assert await quiet.get("/healthz", token="") == {"status": "alive"}
    assert not [line for line in caplog.records if line.exc_info]
    assert "Traceback" not in "".join(capfd.readouterr())


async def test_who_never_sends_its_first_request_whole_is_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "IDLE_S", 0.2)
    async with served(tmp_path, runs=False) as running, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(running.url).port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\nX")
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("host", ["203.0.113.1", "a..b"])
async def test_an_address_that_is_not_ours_is_not_told_as_a_taken_port(host: str) -> None:
    server = server_module.Server(web.Application(), host, 0)
    with pytest.raises(BadSettings, match="is no address of this machine") as told:
        await server.start()
    assert "TURNLINE_HOST" in told.value.hint
