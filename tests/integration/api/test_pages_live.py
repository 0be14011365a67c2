"""The pages in a real browser against the real server: a conversation, a question, and the console beside them."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.integration.api.served import ADMIN, Served

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
WAIT_S = 20.0

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]


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


async def test_a_conversation_survives_a_reload(server: Served, browser: webdriver.Chrome) -> None:
    await asyncio.to_thread(browser.get, f"{server.url}/chat")
    await until(browser, lambda b: texts(b, "#link") == ["Connected"])
    await write(browser, "hello there")
    await until(browser, lambda b: texts(b, ".words") == ["heard hello there"])
    await asyncio.to_thread(browser.refresh)
    await until(browser, lambda b: texts(b, ".words") == ["heard hello there"])
    assert texts(browser, ".bubble") == ["hello there"]
    assert troubles(browser) == []


async def test_a_question_is_answered_in_the_page(server: Served, browser: webdriver.Chrome) -> None:
    await asyncio.to_thread(browser.get, f"{server.url}/chat")
    await until(browser, lambda b: texts(b, "#link") == ["Connected"])
    await write(browser, "ask Deploy?")
    await until(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".ask.open .button")) == 2)
    await asyncio.to_thread(browser.find_element(By.CSS_SELECTOR, ".ask .button.main").click)
    await until(browser, lambda b: texts(b, ".ending") == ["Approved by you"])
    await until(browser, lambda b: "approved by webchat" in "".join(texts(b, ".words")))
    await asyncio.to_thread(browser.refresh)
    await until(browser, lambda b: texts(b, ".ending") == ["Approved by you"])
    assert troubles(browser) == []


async def test_the_console_shows_the_session_and_answers_its_question(
    server: Served, browser: webdriver.Chrome
) -> None:
    async with server.chat(await server.cookie()) as chat:
        session = (await chat.of("hello"))["session_key"]
        await chat.say("ask Deploy?", "c1")
        await chat.item("ask")
        await asyncio.to_thread(browser.get, f"{server.url}/#token={ADMIN}")
        await until(browser, lambda b: texts(b, ".key-link") == [session])
        await asyncio.to_thread(browser.find_element(By.CSS_SELECTOR, ".key-link").click)
        await until(browser, lambda b: "Waits for an answer: Deploy?" in texts(b, ".next"))
        assert "message.in" in texts(browser, ".stop .type")
        await asyncio.to_thread(browser.find_element(By.CSS_SELECTOR, ".answer .button.main").click)
        assert (await chat.item("answer"))["answer"] == "approved"
        for view in ("approvals", "effects", "dead", "cron"):
            await asyncio.to_thread(browser.get, f"{server.url}/#/{view}")
            await until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".page.loaded"))
            assert texts(browser, ".trouble:not([hidden])") == []
        assert troubles(browser) == []
