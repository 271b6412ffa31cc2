"""Who may talk to the studio, and what browsers may do with its pages.

Every request passes here before anything else sees it:

- its Host is this server's own address, so that a foreign name that leads to 127.0.0.1 gets nothing;
- a request that changes something has this server's own Origin, and none comes from another site or another port;
- it has the cookie that the token of the address was exchanged for (style sheet and script are for everybody);
- its body is not larger than its page takes.

Answers carry a policy that lets browsers load nothing but the studio's own files, run no script inside a page, show
the page in no frame and keep no copy.
"""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

UPLOAD_LIMIT = 2 * 1024**3
"""Bytes of a table that is sent from a browser; a file named on the command line may be larger."""

FORM_LIMIT = 8 * 1024**2
"""Bytes of a form: roles of thousands of columns fit, and a tree of a hundred thousand values."""

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
_SAFE = ("GET", "HEAD")
_ENTRY = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>incrowd studio</title>
<link rel="icon" href="/static/icon.svg"><meta http-equiv="refresh" content="0;url=/"></head>
<body><p><a href="/">Open the studio</a></p></body></html>"""


class TooLarge(Exception):  # noqa: N818 - it is turned into an answer
    """The body of a request is larger than its page takes."""


def too_large(*_: object) -> Response:
    """Return the answer to a request that is too large."""
    text = f"A browser can send up to {UPLOAD_LIMIT // 1024**3} GB. For a larger file start: incrowd studio FILE"
    return PlainTextResponse(text, 413, {"Connection": "close"})


class Guard:
    """Checks requests and completes answers, around an application.

    Parameters
    ----------
    app
        What answers requests that may pass.
    port
        The port of this server.
    token
        What the address has that was printed.
    upload_limit
        Bytes of a table.
    """

    def __init__(self, app: ASGIApp, *, port: int, token: str, upload_limit: int = UPLOAD_LIMIT) -> None:
        self.app = app
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.token = token
        self.cookie = f"incrowd_studio_{port}"  # browsers share cookies among the ports of a host
        self.session = secrets.token_urlsafe(32)
        self.upload_limit = upload_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no web sockets here
        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, _complete(send))
            return
        limit = self._limit(scope)
        await self.app(scope, _limited(receive, limit), _complete(send))

    def _limit(self, scope: Scope) -> int:
        """Return how many bytes the body of a request may have."""
        return self.upload_limit if scope["path"].endswith("/upload") else FORM_LIMIT

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that may not pass; ``None`` lets it pass."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return PlainTextResponse("This address is not the studio's.", 421)
        if scope["method"] not in (*_SAFE, "POST"):
            return PlainTextResponse("The studio has no such method.", 405)
        if scope["method"] in _SAFE and scope["path"] == "/" and b"token=" in scope["query_string"]:
            return self._enter(scope)
        if scope["method"] not in _SAFE and headers.getlist("origin") != [f"http://{hosts[0]}"]:
            return PlainTextResponse("This request did not come from the studio's own page.", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return PlainTextResponse("Another site asked for this page.", 403)
        if scope["path"].startswith("/static/"):
            return None
        if not self._knows(headers):
            text = "The studio does not know this browser. Open the address that it printed when it started."
            return PlainTextResponse(text, 401)
        length = headers.get("content-length", "0")
        limit = self._limit(scope)
        if not length.isdecimal() or int(length) > limit:
            return too_large()
        return None

    def _enter(self, scope: Scope) -> Response:
        """Exchange the token for a cookie; the page leads on, so that the token does not stay in the address."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return PlainTextResponse("This token is not valid. Open the address that the studio printed.", 401)
        answer = Response(_ENTRY, media_type="text/html")
        answer.set_cookie(self.cookie, self.session, httponly=True, samesite="strict", path="/")
        return answer

    def _knows(self, headers: Headers) -> bool:
        jar = SimpleCookie()
        try:
            jar.load("; ".join(headers.getlist("cookie")))
        except CookieError:
            return False
        found = jar.get(self.cookie)
        return found is not None and hmac.compare_digest(found.value.encode(), self.session.encode())


def _complete(send: Send) -> Send:
    """Add the headers of every answer."""

    async def complete(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return complete


def _limited(receive: Receive, limit: int) -> Receive:
    """Count the bytes of a body, whatever its header says."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise TooLarge
        return message

    return limited
