"""In a sandbox of its own: takes a picture of each page with a Chromium of its own, through the Unix socket that leads
to the project's server.

    python -I photographing.py SOCKET

`job.json` beside it says what to take; `<n>.png` and `report.json` are what it leaves. The project's server can touch
none of this, and a page only what a browser lets it: no other address is ever asked (`Fetch`), clock, zone, language,
size and random numbers are the same every time, nothing moves.
"""

import base64
import json
import os
import sys
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from devtools import Browser, Lost, Refused, TooLate  # type: ignore[import-not-found]
from leading import lead_to  # type: ignore[import-not-found]

NOON = 1_767_268_800
"""1 January 2026, 12:00: the time at which every page begins."""
VIRTUAL_MS = 5_000
"""How long a page lives before its picture is taken, by its own clock, which runs as fast as the machine can."""
REST_SECONDS = 10.0
FOREIGN = 20
STYLE = """*, *::before, *::after {
  transition: none !important; caret-color: transparent !important; scroll-behavior: auto !important }
"""
HIDDEN = "{ visibility: hidden !important }\n"
STILL = "document.getAnimations().forEach(one => { try { one.finish() } catch { one.cancel() } })"
COVERED = """(selectors => {
  const page = document.documentElement.getBoundingClientRect();
  const all = Math.max(1, page.width * Math.max(page.height, innerHeight));
  let covered = 0;
  for (const selector of selectors)
    for (const one of document.querySelectorAll(selector)) {
      const box = one.getBoundingClientRect(); covered += box.width * box.height;
    }
  return Math.min(1, covered / all);
})"""
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--no-default-browser-check", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--disable-domain-reliability", "--disable-breakpad",
    "--disable-client-side-phishing-detection", "--no-pings", "--dns-prefetch-disable", "--no-proxy-server",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider", "--mute-audio",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost", "--hide-scrollbars", "--force-device-scale-factor=1",
    "--force-color-profile=srgb", "--font-render-hinting=none", "--disable-lcd-text",
    "--blink-settings=imageAnimationPolicy=2", "--js-flags=--random-seed=1 --max-old-space-size=1024",
    "--remote-debugging-pipe",
)  # fmt: skip


class Page:
    """One page in one browser that nothing else was ever shown in."""

    def __init__(self, job: dict[str, Any], origin: str, path: str) -> None:
        self._job, self._origin, self._url = job, origin, origin + path
        self._frame = self._version = ""
        self._loaded = self._rested = self._crashed = False
        self.status = 0
        self.foreign: list[str] = []

    def taken(self, profile: str, until: float) -> dict[str, Any]:
        argv = [self._job["browser"], *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        with Browser(argv, dict(os.environ), self._heard) as self._browser:
            try:
                return self._taken(until)
            except TooLate:
                return {"problem": f"it did not load in {self._job['page_seconds']:g} s"}
            except (Lost, Refused) as err:
                return {"problem": "it crashed the browser" if self._crashed else str(err)}

    def _taken(self, until: float) -> dict[str, Any]:
        self._begin(until)
        gone = self._browser.call("Page.navigate", until, url=self._url).get("errorText")
        if gone:
            return {"problem": f"it can't be opened ({gone})"}
        self._live(until)
        if not self._browser.wait(lambda: self._loaded, until):
            raise TooLate
        rested = self._browser.wait(lambda: self._rested, min(until, time.monotonic() + REST_SECONDS))
        if not 200 <= self.status < 300:
            return {"problem": f"the server answers {self.status}" if self.status else "there was no answer"}
        covered = self._still(until)
        if isinstance(covered, str):
            return {"mask": covered}
        told = {"covered": covered, "rested": rested, "foreign": self.foreign, "browser": self._version}
        return {**self._picture(until), **told}

    def _begin(self, until: float) -> None:
        width, height = self._job["viewport"]
        call = self._browser.call
        self._version = call("Browser.getVersion", until)["product"]
        targets = call("Target.getTargets", until)["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self._browser.session = call("Target.attachToTarget", until, targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Inspector", "DOM"):
            call(f"{domain}.enable", until)
        self._frame = call("Page.getFrameTree", until)["frameTree"]["frame"]["id"]
        call("Fetch.enable", until, patterns=[{"urlPattern": "*"}])
        call("Emulation.setDeviceMetricsOverride", until, width=width, height=height, deviceScaleFactor=1, mobile=False)
        call("Emulation.setTimezoneOverride", until, timezoneId="UTC")
        call("Emulation.setLocaleOverride", until, locale="en-US")
        features = {"prefers-reduced-motion": "reduce", "prefers-color-scheme": "light"}
        call("Emulation.setEmulatedMedia", until, features=[{"name": k, "value": v} for k, v in features.items()])
        call("Emulation.setVirtualTimePolicy", until, policy="pause", initialVirtualTime=NOON)
        self._loaded = False

    def _live(self, until: float) -> None:
        """From the moment its first byte is there, a page has its own time; as long as it waits for another, none."""
        self._browser.call(
            "Emulation.setVirtualTimePolicy",
            until,
            policy="pauseIfNetworkFetchesPending",
            budget=VIRTUAL_MS,
            maxVirtualTimeTaskStarvationCount=100_000,
        )

    def _heard(self, method: str, given: dict[str, Any]) -> None:
        if method == "Fetch.requestPaused":
            self._asked(given)
        elif method == "Network.responseReceived" and given.get("type") == "Document":
            self.status = given["response"]["status"] if given.get("frameId") == self._frame else self.status
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Emulation.virtualTimeBudgetExpired":
            self._rested = True
        elif method == "Page.javascriptDialogOpening":
            self._browser.say("Page.handleJavaScriptDialog", accept=False)
        elif method == "Inspector.targetCrashed":
            self._crashed = True
            raise Lost("it crashed the browser")

    def _asked(self, given: dict[str, Any]) -> None:
        url = given["request"]["url"]
        if url.startswith((self._origin + "/", "data:", "blob:")):
            self._browser.say("Fetch.continueRequest", requestId=given["requestId"])
            return
        self._browser.say("Fetch.failRequest", requestId=given["requestId"], errorReason="AddressUnreachable")
        named = url.partition("?")[0][:200]
        if named not in self.foreign and len(self.foreign) < FOREIGN:
            self.foreign.append(named)

    def _still(self, until: float) -> float | str:
        """Nothing moves, and what is masked by a selector is not to be seen: how much of the page that is. A text: the
        selector that is none."""
        call = self._browser.call
        world = call("Page.createIsolatedWorld", until, frameId=self._frame)["executionContextId"]
        covered = 0.0
        for selector in self._job["hidden"]:
            words = f"{COVERED}([{json.dumps(selector)}])"
            told = call("Runtime.evaluate", until, expression=words, contextId=world, returnByValue=True)
            if "exceptionDetails" in told:
                return str(selector)
            covered += float(told["result"].get("value") or 0)
        call("CSS.enable", until)
        sheet = call("CSS.createStyleSheet", until, frameId=self._frame)["styleSheetId"]
        text = STYLE + "".join(f"{selector} {HIDDEN}" for selector in self._job["hidden"])
        call("CSS.setStyleSheetText", until, styleSheetId=sheet, text=text)
        call("Runtime.evaluate", until, expression=STILL, contextId=world)
        return min(1.0, covered)

    def _picture(self, until: float) -> dict[str, Any]:
        width, height = self._job["viewport"]
        size = self._browser.call("Page.getLayoutMetrics", until)["cssContentSize"]
        wide, high = max(width, int(size["width"])), max(height, int(size["height"]))
        most_wide, most_high = self._job["most"]
        clip = {"x": 0, "y": 0, "width": min(wide, most_wide), "height": min(high, most_high), "scale": 1}
        told = self._browser.call(
            "Page.captureScreenshot", until, format="png", captureBeyondViewport=True, clip=clip
        )  # fmt: skip
        return {"png": told["data"], "width": wide, "height": high}


def main(path: str) -> None:
    with open("job.json") as file:
        job = json.load(file)
    origin = f"http://localhost:{lead_to(path)}"
    report = []
    for number, page in enumerate(job["pages"]):
        profile = os.path.abspath(f"profile-{number}")
        os.mkdir(profile)
        found = Page(job, origin, page).taken(profile, time.monotonic() + job["page_seconds"])
        if "png" in found:
            with open(f"{number}.png", "wb") as file:
                file.write(base64.b64decode(found.pop("png")))
        report.append(found)
    with open("report.json", "w") as file:
        json.dump(report, file)


if __name__ == "__main__":
    main(sys.argv[1])
