"""A headless Chromium, spoken to over its DevTools protocol."""

import base64
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import aiohttp

BROWSER = Path(__file__).parent / "browser" / "node_modules" / "browser"
INSTALL = "npm ci --prefix tests/browser --ignore-scripts && node tests/browser/unpack.js"
FLAGS = (
    *("--headless=shell", "--no-sandbox", "--no-zygote", "--single-process", "--disable-gpu"),
    *("--font-render-hinting=none", "--hide-scrollbars", "--remote-debugging-port=0"),
)


class Page:
    """A tab. `requests`: addresses that it has asked for, `problems`: what it complained of."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._number, self._session = socket, 0, ""
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._loaded = False

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A command of the protocol and its result."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        number = self._number
        await self._socket.send_json({"id": number, "method": method, "params": params, **session})
        while (said := await self._next()).get("id") != number:
            pass
        assert "error" not in said, (method, said)
        result: dict[str, Any] = said["result"]
        return result

    async def _next(self) -> dict[str, Any]:
        message = await self._socket.receive()
        said: dict[str, Any] = json.loads(message.data)
        if said.get("method") == "Network.requestWillBeSent":
            self.requests.append(said["params"]["request"]["url"])
        if said.get("method") == "Log.entryAdded":
            self.problems.append(said["params"]["entry"]["text"])
        self._loaded |= said.get("method") == "Page.loadEventFired"
        return said

    async def begin(self) -> None:
        target = await self.call("Target.createTarget", url="about:blank")
        found = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Network", "Log", "Accessibility"):
            await self.call(f"{domain}.enable")

    async def open(self, file: Path) -> None:
        """Load a file to its end."""
        self._loaded = False
        await self.call("Page.navigate", url=file.resolve().as_uri())
        while not self._loaded:
            await self._next()

    async def value(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        found = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def size(self, width: int, height: int) -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def media(self, media: str = "screen", scheme: str = "light") -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.call("Emulation.setEmulatedMedia", media=media, features=features)

    async def press(self, key: str) -> None:
        """A key of the keyboard; Enter and Space are told as text too, as a keyboard does."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        code = {"Tab": 9, "Enter": 13, " ": 32}[key]
        shared = {"key": key, "windowsVirtualKeyCode": code}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **shared)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    async def picture(self, path: Path, **clip: Any) -> None:
        """A screenshot as PNG."""
        found = await self.call("Page.captureScreenshot", captureBeyondViewport=bool(clip), **clip)
        path.write_bytes(base64.b64decode(found["data"]))


@asynccontextmanager
async def chrome() -> AsyncIterator[Page]:
    """The browser with an empty tab; it ends with the context."""
    from asyncio.subprocess import create_subprocess_exec

    env = {
        **os.environ,
        "LD_LIBRARY_PATH": str(BROWSER / "lib"),
        "FONTCONFIG_FILE": str(BROWSER / "fonts.conf"),
    }
    with tempfile.TemporaryDirectory(prefix="chrome-", ignore_cleanup_errors=True) as profile:
        command = (str(BROWSER / "chromium"), *FLAGS, f"--user-data-dir={profile}", "about:blank")
        process = await create_subprocess_exec(*command, stderr=PIPE, env=env)
        try:
            address = await _address(process)
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(address, max_msg_size=0) as socket,
            ):
                page = Page(socket)
                await page.begin()
                yield page
        finally:
            process.kill()
            await process.wait()


async def _address(process: Any) -> str:
    """Where the browser listens, as it says itself."""
    said = []
    while line := (await process.stderr.readline()).decode():
        said.append(line)
        if found := re.search(r"ws://\S+", line):
            return found[0]
    raise AssertionError(f"the browser did not start: {''.join(said)}")
