"""Chromium with what the tests of the console ask of it."""

import json
import pathlib
import time

if not pathlib.Path("/usr/bin/chromedriver").exists():
    raise ImportError("no /usr/bin/chromedriver")

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

AXE = (pathlib.Path(__file__).resolve().parent / "vendor/axe.min.js").read_text(encoding="utf-8")
WAIT_SECONDS = 60
WATCH = """
window.seenViolations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.seenViolations.push(event.violatedDirective + " " + event.blockedURI + " " + event.sourceFile));
"""
AXE_RUN = """
const done = arguments[0];
axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((found) => done(found.violations.map((one) =>
  one.id + " (" + one.impact + "): " + one.help + "\\n" + one.nodes.slice(0, 4).map((node) => "    " + node.target.join(" ") + "  " +
  (node.any[0] || node.all[0] || node.none[0] || {message: ""}).message + "\\n      " + node.html.slice(0, 200)).join("\\n"))));
"""
IS_QUIET = """
return document.querySelector(".loading, [aria-busy=true]") === null && document.querySelector("h1") !== null
  && document.querySelectorAll(".chart:empty").length === 0;
"""


class Browser:
    def __init__(self, base):
        self.base = base.rstrip("/") + "/"
        options = Options()
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--lang=en-US",
            "--force-prefers-reduced-motion",
            "--window-size=1280,900",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_script_timeout(120)
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})

    def quit(self):
        self.driver.quit()

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def resize(self, width, height=900):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )

    def set_system_dark(self, is_dark):
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]},
        )

    def prefer(self, language, theme):
        self.js(
            "localStorage.setItem('carillon.language', JSON.stringify(arguments[0])); localStorage.setItem('carillon.theme', JSON.stringify(arguments[1]))",
            language,
            theme,
        )
        self.reload()

    def reload(self):
        self.driver.refresh()
        self.settle()

    def open(self, address):
        """Shows a page of the console and waits until it has loaded."""
        if not self.driver.current_url.startswith(self.base):
            self.driver.get(self.base + address.lstrip("/"))
        else:
            self.js(
                "history.pushState(null, '', arguments[0]); dispatchEvent(new PopStateEvent('popstate'))", address
            )
        self.settle()

    def until(self, condition, what, seconds=WAIT_SECONDS):
        end = time.monotonic() + seconds
        while True:
            try:
                value = condition()
            except (StaleElementReferenceException, JavascriptException):
                value = None
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"after {seconds} s: {what}; the page shows: {self.text()[-1500:]!r}")
            time.sleep(0.05)

    def settle(self):
        # Twice in a row: a filter or an image may just be on its way.
        def is_quiet():
            if not self.js(IS_QUIET):
                return False
            time.sleep(0.15)
            return self.js(IS_QUIET)

        self.until(is_quiet, "the page has loaded")

    def text(self):
        return self.js("return document.body.innerText")

    def see(self, text, seconds=WAIT_SECONDS):
        self.until(lambda: text in self.text(), f"the page says {text!r}", seconds)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.until(lambda: (self.all(selector) or [None])[0], f"there is {selector}")

    def named(self, name, selector="button, a, [role=option]", within="body"):
        """The visible element with this accessible name or text; the dialog's, when one is open."""
        script = """
          const open = [...document.querySelectorAll("dialog[open]")].at(-1);
          const root = open ?? document.querySelector(arguments[2]);
          return [...root.querySelectorAll(arguments[1])].find((one) => one.getClientRects().length > 0 &&
            ((one.getAttribute("aria-label") ?? one.innerText).trim() === arguments[0])) ?? null;"""
        return self.until(lambda: self.js(script, name, selector, within), f"there is {name!r}")

    def click(self, name, selector="button, a", within="body"):
        def try_it():
            element = self.named(name, selector, within)
            self.js("arguments[0].scrollIntoView({block: 'center'})", element)
            if not element.is_enabled():
                return False
            element.click()
            return True

        self.until(try_it, f"{name!r} can be clicked")

    def field(self, label):
        script = """
          const root = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
          const label = [...root.querySelectorAll("label")].find((one) => one.innerText.replace(" *", "").trim() === arguments[0]);
          return label ? (label.control ?? document.getElementById(label.htmlFor)) : null;"""
        return self.until(lambda: self.js(script, label), f"there is the field {label!r}")

    def fill(self, label, text):
        element = self.field(label)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        # Not clear(): it sends no input event, so the page may put the text back.
        element.send_keys(Keys.CONTROL, "a")
        element.send_keys(Keys.DELETE)
        element.send_keys(text)

    def choose(self, label):
        """A radio button or check box, by its label."""
        element = self.field(label)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        return self.js("return document.activeElement")

    def address(self):
        return self.js("return location.pathname + location.search")

    def api(self, method, path, body=None):
        """A call with the session of the page."""
        found = self.driver.execute_async_script(
            """
          const [method, path, body, done] = arguments;
          fetch("/api/v1/session").then((answer) => answer.json()).then((session) => fetch("/api/v1" + path, {method, body: body === null ? undefined : JSON.stringify(body),
            headers: {"X-CSRF-Token": session.csrf_token ?? "", "Content-Type": "application/json"}})).then(async (answer) =>
              done({status: answer.status, text: await answer.text()}), (error) => done({status: 0, text: String(error)}));""",
            method,
            path,
            body,
        )
        if not 200 <= found["status"] < 300:
            raise AssertionError(f"{method} {path}: {found}")
        return json.loads(found["text"]) if found["text"] else {}

    # ---- What must not be

    def complaints(self, allowed=()):
        """Errors in the browser's log, violations of the policy, requests to other servers."""
        found = [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]
        found += self.js("return window.seenViolations.splice(0)")
        found += [
            name
            for name in self.js("return performance.getEntriesByType('resource').map((entry) => entry.name)")
            if not name.startswith((self.base, "data:", "blob:"))
        ]
        return [one for one in found if not any(text in one for text in allowed)]

    def axe(self):
        # Through the debugger: a script element would be against the policy.
        if not self.js("return Boolean(window.axe)"):
            self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE})
        return self.driver.execute_async_script(AXE_RUN)

    def overflow(self):
        """By how many pixels the page is wider than the screen."""
        return self.js(
            """
          const main = document.querySelector("main");
          return Math.max(document.scrollingElement.scrollWidth - window.innerWidth, main ? main.scrollWidth - main.clientWidth : 0);"""
        )


__all__ = ["Browser", "By", "Keys"]
