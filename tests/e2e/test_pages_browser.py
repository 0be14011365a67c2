"""The pages in a real browser, under a strict content policy, against a scripted server: what they promise, they do."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import WSMsgType, web
from aiohttp.test_utils import TestServer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

STATIC = Path(__file__).parents[2] / "router" / "static"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
CSP = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
WAIT_S = 20.0
MARKUP = 'see <img src="/nowhere" onerror="document.title=1"> and [this](javascript:alert(1))'

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]


class Script:
    """A server that says what a test tells it to, and remembers what it heard."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.heard: list[dict[str, Any]] = []
        self.afters: list[int] = []
        self.tokens: set[str] = set()
        self.acknowledges = True
        self.socket: web.WebSocketResponse | None = None

    def say(self, kind: str, text: str, **more: Any) -> dict[str, Any]:
        item = {
            "seq": len(self.items) + 1,
            "kind": kind,
            "id": f"i{len(self.items)}",
            "text": text,
            "at": 1.8e9,
            **more,
        }
        self.items.append(item)
        return item

    async def chat(self, request: web.Request) -> web.WebSocketResponse:
        socket = self.socket = web.WebSocketResponse()
        await socket.prepare(request)
        after = int(request.query["after"])
        self.afters.append(after)
        hello = {"agent": "demo", "session_key": "k", "peer": "x", "last_seq": len(self.items), "epoch": 0}
        await socket.send_json({"type": "hello", **hello})
        await socket.send_json({"type": "history", "items": [one for one in self.items if one["seq"] > after]})
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await self.hear(socket, message.json())
        return socket

    async def hear(self, socket: web.WebSocketResponse, frame: dict[str, Any]) -> None:
        if frame["type"] == "ping":
            return
        self.heard.append(frame)
        if not self.acknowledges:
            await socket.close()
            return
        accepted = {"client_msg_id": frame["client_msg_id"], "event_id": "e", "duplicate": False}
        await socket.send_json({"type": "accepted", **accepted})
        if frame["type"] == "message":
            item = self.say("message.in", frame["text"], client_msg_id=frame["client_msg_id"])
            await socket.send_json({"type": "item", "item": item})

    async def api(self, request: web.Request) -> web.Response:
        self.tokens.add(request.headers.get("Authorization", ""))
        name = request.path.rsplit("/", 1)[-1]
        return web.json_response({name: [], "next": None})


def page(name: str) -> Callable[[web.Request], Any]:
    async def serve(_: web.Request) -> web.FileResponse:
        return web.FileResponse(STATIC / name)

    return serve


async def guard(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Content-Security-Policy"] = CSP


@pytest.fixture
async def script() -> Script:
    return Script()


@pytest.fixture
async def url(script: Script) -> AsyncIterator[str]:
    app = web.Application()
    app.on_response_prepare.append(guard)
    app.router.add_get("/", page("console.html"))
    app.router.add_get("/chat", page("chat.html"))
    app.router.add_get("/v1/chat/ws", script.chat)
    app.router.add_get("/v1/{name}", script.api)
    app.router.add_static("/static", STATIC)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


@pytest.fixture
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


async def until(browser: webdriver.Chrome, told: Callable[[webdriver.Chrome], Any]) -> Any:
    """Waits, off the loop, until the page tells; the server runs on meanwhile."""
    return await asyncio.to_thread(WebDriverWait(browser, WAIT_S, 0.05).until, told)


async def write(browser: webdriver.Chrome, text: str) -> None:
    await asyncio.to_thread(browser.find_element(By.ID, "text").send_keys, text + Keys.ENTER)


def texts(browser: webdriver.Chrome, selector: str) -> list[str]:
    found = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
    )
    assert isinstance(found, list)
    return found


def troubles(browser: webdriver.Chrome) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


async def test_a_message_without_acknowledgement_is_sent_again_under_its_id_and_shown_once(
    script: Script, url: str, browser: webdriver.Chrome
) -> None:
    await asyncio.to_thread(browser.get, f"{url}/chat")
    await until(browser, lambda b: texts(b, "#link") == ["Connected"])
    script.acknowledges = False
    await write(browser, "once")
    await until(browser, lambda b: len(script.heard) >= 1)
    await asyncio.to_thread(browser.refresh)
    script.acknowledges = True
    await until(browser, lambda b: texts(b, ".mine[data-state=sent] .bubble") == ["once"])
    assert len({frame["client_msg_id"] for frame in script.heard}) == 1
    assert len(script.heard) >= 2
    assert texts(browser, ".bubble") == ["once"]


async def test_a_new_connection_asks_only_for_what_it_lacks(
    script: Script, url: str, browser: webdriver.Chrome
) -> None:
    script.say("message.out", "one", state="delivered")
    script.say("message.out", "two", state="delivered")
    await asyncio.to_thread(browser.get, f"{url}/chat")
    await until(browser, lambda b: texts(b, ".words") == ["one", "two"])
    script.say("message.out", "three", state="delivered")
    assert script.socket is not None
    await script.socket.close()
    await until(browser, lambda b: texts(b, ".words") == ["one", "two", "three"])
    assert script.afters == [0, 2]


async def test_what_a_bot_says_stays_text_under_the_content_policy(
    script: Script, url: str, browser: webdriver.Chrome
) -> None:
    script.say("message.out", MARKUP, state="delivered")
    await asyncio.to_thread(browser.get, f"{url}/chat")
    await until(browser, lambda b: texts(b, ".words") == [MARKUP])
    assert browser.find_elements(By.CSS_SELECTOR, ".words img, .words a") == []
    assert troubles(browser) == []


async def test_an_ask_takes_one_answer_and_says_who_gave_it(
    script: Script, url: str, browser: webdriver.Chrome
) -> None:
    script.say("ask", "Deploy?", wait_id="w1", options=["approve", "reject"], status="open", binds={"commit": "9f3"})
    await asyncio.to_thread(browser.get, f"{url}/chat")
    await until(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".ask.open .button")) == 2)
    await asyncio.to_thread(browser.find_element(By.CSS_SELECTOR, ".ask .button.main").click)
    await until(browser, lambda b: texts(b, ".ending") == ["Approved by you"])
    assert [(frame["type"], frame["wait_id"], frame["decision"]) for frame in script.heard] == [
        ("answer", "w1", "approve")
    ]
    assert texts(browser, ".ask button") == []


async def test_a_question_cannot_be_made_to_read_otherwise_than_it_is(
    script: Script, url: str, browser: webdriver.Chrome
) -> None:
    script.say("ask", "Pay \u202e001\u202c \u2066x\u2069?", wait_id="w1", options=[], status="open", binds={})
    await asyncio.to_thread(browser.get, f"{url}/chat")
    await until(browser, lambda b: texts(b, ".question") == ["Pay \ufffd001\ufffd \ufffdx\ufffd?"])


async def test_the_console_takes_the_token_out_of_the_address_and_sends_it(
    script: Script, url: str, browser: webdriver.Chrome
) -> None:
    await asyncio.to_thread(browser.get, f"{url}/#token=s3cret")
    await until(browser, lambda b: "No sessions yet" in "".join(texts(b, ".nothing:not([hidden])")))
    assert browser.current_url == f"{url}/#/sessions"
    assert script.tokens == {"Bearer s3cret"}
    assert troubles(browser) == []
