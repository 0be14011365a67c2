"""The pages as files: nothing inline, nothing from elsewhere, no markup made of data, readable colours."""

import re
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[2] / "router" / "static"
PAGES = ("chat.html", "console.html")
LINES_MAX = 400
CONTRAST_MIN = 4.5
ALLOWED_URLS = frozenset({"http://www.w3.org/2000/svg"})

FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]

INKS = ("ink", "ink-2", "ink-3", "line-text", "wait", "bad", "odd")
ON_SOFT = (
    ("line-text", "line-soft"),
    ("wait", "wait-soft"),
    ("bad", "bad-soft"),
    ("odd", "odd-soft"),
    ("ink-2", "calm-soft"),
)


def name_of(path: Path) -> str:
    return str(path.relative_to(STATIC))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_holds_no_inline_script_or_style(page: str) -> None:
    html = (STATIC / page).read_text()
    assert "<style" not in html
    assert not re.search(r"\sstyle=", html)
    assert not re.search(r"\son[a-z]+=", html)
    for attributes, body in re.findall(r"<script([^>]*)>(.*?)</script>", html, re.DOTALL):
        assert 'src="/static/' in attributes
        assert body == ""


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_loads_is_there(page: str) -> None:
    html = (STATIC / page).read_text()
    wanted = re.findall(r'<(?:script|link)[^>]*(?:src|href)="([^"]+)"', html)
    assert len(wanted) >= 4
    for url in wanted:
        assert url.startswith("/static/")
        assert (STATIC / url.removeprefix("/static/")).is_file(), url


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_what_a_script_imports_is_there_and_exports_it(script: Path) -> None:
    for names, source in re.findall(r'^import \{([^}]+)\} from "([^"]+)";', script.read_text(), re.MULTILINE):
        assert source.startswith(".")
        text = (script.parent / source).resolve().read_text()
        for name in (part.strip() for part in names.split(",")):
            assert re.search(rf"^export (?:async )?(?:function|class|const) {name}\b", text, re.MULTILINE), name


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_makes_no_markup_and_no_code_out_of_data(script: Path) -> None:
    text = script.read_text()
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
    ):
        assert word not in text


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_reaches_for_nothing_outside_and_is_short(path: Path) -> None:
    text = path.read_text()
    assert set(re.findall(r"https?://[\w.-]+/[\w./-]+", text)) <= ALLOWED_URLS
    assert "@import" not in text
    assert text.count("\n") <= LINES_MAX


def test_colours_are_readable_in_light_and_in_dark() -> None:
    light, dark = schemes((STATIC / "tokens.css").read_text())
    for scheme in (light, dark):
        pairs = [(ink, ground) for ink in INKS for ground in ("paper", "surface")]
        for ink, ground in (*pairs, *ON_SOFT, ("line-ink", "line")):
            assert contrast(scheme[ink], scheme[ground]) >= CONTRAST_MIN, (ink, ground)


def schemes(css: str) -> tuple[dict[str, str], dict[str, str]]:
    """The colours of the light and of the dark scheme, by name."""
    light_part, dark_part = css.split("@media (prefers-color-scheme: dark)", 1)
    light = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light_part))
    return light, {**light, **dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", dark_part))}


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, WCAG 2.2."""
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour: str) -> float:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
