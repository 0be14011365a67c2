"""The pages and what they load: read once at the start, served with exact types, an ETag and strict headers."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from sessionstore.errors import NotFound

# By ending, not by the system's table: with `nosniff` a wrong type is a script that does not run.
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
TEXT = frozenset({".html", ".css", ".js", ".svg"})
POLICY = "; ".join(
    (
        "default-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "object-src 'none'",
        "require-trusted-types-for 'script'",
    )
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    body: bytes
    content_type: str
    charset: str | None
    etag: str

    def response(self, request: web.Request, cache: str = "no-cache") -> web.Response:
        """The file, or 304 for whoever has it already."""
        headers = {"Cache-Control": cache, "ETag": f'"{self.etag}"'}
        if cache == "no-cache" and any(tag.value in (self.etag, "*") for tag in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        return web.Response(body=self.body, content_type=self.content_type, charset=self.charset, headers=headers)


class Assets:
    """All files below a folder, by their path in it; what is not in there is not found, whatever its name."""

    def __init__(self, folder: Path) -> None:
        self._files: Mapping[str, Asset] = {
            path.relative_to(folder).as_posix(): _asset(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in TYPES
        }

    def __getitem__(self, name: str) -> Asset:
        found = self._files.get(name)
        if found is None:
            raise NotFound(f"there is no file {name!r} here", hint="load the page again: it may be of another version")
        return found


ASSETS: web.AppKey[Assets] = web.AppKey("assets", Assets)


async def get_static(request: web.Request) -> web.Response:
    """GET /static/..."""
    return request.app[ASSETS][request.match_info["name"]].response(request)


async def get_console(request: web.Request) -> web.Response:
    """GET /: the console's page; what it shows needs a token."""
    response = request.app[ASSETS]["console.html"].response(request)
    response.headers["Content-Security-Policy"] = POLICY
    return response


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """On every response, errors too. What says nothing about caching is not kept."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Cache-Control", "no-store")


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    charset = "utf-8" if path.suffix in TEXT else None
    return Asset(body, TYPES[path.suffix], charset, hashlib.sha256(body).hexdigest()[:32])
