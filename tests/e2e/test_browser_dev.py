"""The product as a person sees it: `turnline dev`, two browsers side by side, a reload, an approval, the console."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.faults.devprocess import TOKEN, DevProcess

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
WAIT_S = 20.0

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]

DEMO = """
from pathlib import Path
from turnline.demo import demo_app

app = demo_app(Path({folder!r}))
"""


@contextmanager
def browser(width: int, height: int) -> Iterator[webdriver.Chrome]:
    """A Chromium of its own, with its own cookies; fails on anything that its console complains about."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={width},{height}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    try:
        yield driver
        complaints = [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        assert complaints == []
    finally:
        driver.quit()


def say(driver: webdriver.Chrome, text: str) -> None:
    field = driver.find_element(By.ID, "text")
    field.send_keys(text)
    field.send_keys(Keys.ENTER)


def until(driver: webdriver.Chrome, *texts: str) -> str:
    """Wait until the page shows all of these; returns all that it shows."""

    def shows(_: object) -> bool:
        page = driver.find_element(By.TAG_NAME, "body").text
        return all(text in page for text in texts)

    WebDriverWait(driver, WAIT_S).until(shows, f"waiting for {texts}")
    return driver.find_element(By.TAG_NAME, "body").text


async def test_two_browsers_chat_side_by_side_and_a_reload_shows_the_history(tmp_path: Path) -> None:
    process = DevProcess(tmp_path, DEMO.format(folder=str(tmp_path)))
    try:
        await process.start()
        await asyncio.to_thread(two_browsers, process.url)
    finally:
        await process.close()


def two_browsers(url: str) -> None:
    with browser(1280, 800) as first, browser(390, 844) as second:
        for driver in (first, second):
            driver.get(f"{url}/chat")
            until(driver, "Connected")
        say(first, "first of the first")
        say(second, "first of the second")
        until(first, "You said: first of the first")
        until(second, "You said: first of the second")
        say(first, "count")
        assert "the second" not in until(first, "This is message 2")
        assert "the first" not in until(second, "first of the second").replace("first of the second", "")
        first.refresh()
        until(first, "first of the first", "You said: first of the first", "This is message 2")


async def test_an_order_is_asked_approved_and_placed_and_the_console_shows_it(tmp_path: Path) -> None:
    process = DevProcess(tmp_path, DEMO.format(folder=str(tmp_path)))
    try:
        await process.start()
        await asyncio.to_thread(order, process.url)
    finally:
        await process.close()


def order(url: str) -> None:
    with browser(1280, 800) as chat, browser(1280, 800) as console:
        chat.get(f"{url}/chat")
        until(chat, "Connected")
        say(chat, "order two coffees")
        until(chat, "Shall I order two coffees?", "Approve")
        console.get(f"{url}/#token={TOKEN}")
        until(console, "agent:demo/", "waiting")
        assert TOKEN not in console.current_url
        chat.find_element(By.CSS_SELECTOR, ".ask.open .button").click()
        until(chat, "Approved by you", "is placed: two coffees")
        console.get(f"{url}/#/effects")
        until(console, "place_order", "delivered")


async def test_a_killed_server_loses_no_message_that_the_page_still_shows(tmp_path: Path) -> None:
    process = DevProcess(tmp_path, DEMO.format(folder=str(tmp_path)))
    try:
        await process.start()
        with browser(1280, 800) as chat:
            await asyncio.to_thread(chat.get, f"{process.url}/chat")
            await asyncio.to_thread(until, chat, "Connected")
            await process.kill()
            await asyncio.to_thread(say, chat, "said while nobody listened")
            await process.start()
            await asyncio.to_thread(until, chat, "You said: said while nobody listened")
            chat.get_log("browser")  # the refused connections in between
    finally:
        await process.close()
