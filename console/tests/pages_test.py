#!/usr/bin/env python3
"""Drives the console in Chromium: every page, both languages, light and dark, wide and narrow.

Without settings, against the mock beside this file. Against a real job tracker:
  CARILLON_CONSOLE_URL       its address, for example http://127.0.0.1:8080/
  CARILLON_CONSOLE_NAME, CARILLON_CONSOLE_PASSWORD   an administrator
CARILLON_CONSOLE_SHOTS=DIR keeps a picture of each page.
Needs Debian's chromium, chromium-driver and python3-selenium; without them it is skipped, in CI
(CARILLON_CI=1) it fails.
"""

import os
import pathlib
import sys
import time
import unittest

try:
    from browser import Browser, Keys
except ImportError as missing:
    print(f"{missing}: install chromium, chromium-driver and python3-selenium")
    sys.exit(1 if os.environ.get("CARILLON_CI") == "1" else 77)
import mock_server

URL = os.environ.get("CARILLON_CONSOLE_URL", "")
NAME = os.environ.get("CARILLON_CONSOLE_NAME", "ann")
PASSWORD = os.environ.get("CARILLON_CONSOLE_PASSWORD", mock_server.PASSWORD)
SHOTS = os.environ.get("CARILLON_CONSOLE_SHOTS", "")
MARK = f"console-test-{int(time.time())}"
# Pages by name; {job}, {script} and {run} are what setUpModule() made.
PAGES = {
    "overview": "/",
    "overview-24h": "/?range=24h",
    "jobs": "/jobs",
    "jobs-filtered": "/jobs?state=suspended",
    "jobs-none": "/jobs?text=no-such-job-at-all",
    "job": "/jobs/{job}",
    "job-runs": "/jobs/{job}?tab=runs",
    "job-spec": "/jobs/{job}?tab=spec",
    "job-children": "/jobs/{job}?tab=children",
    "job-alarms": "/jobs/{job}?tab=alarms",
    "job-changes": "/jobs/{job}?tab=audit",
    "job-script": "/jobs/{script}?tab=scripts",
    "job-new": "/jobs/new",
    "job-edit": "/jobs/{job}/edit",
    "job-edit-script": "/jobs/{script}/edit",
    "job-copy": "/jobs/new?copy={job}",
    "import": "/jobs/import",
    "run": "/runs/{run}",
    "waiting": "/waiting",
    "executing": "/executing",
    "history": "/history",
    "history-failed": "/history?state=failed,timed_out,killed,lost",
    "calendar": "/calendar",
    "groups": "/groups",
    "workers": "/groups?tab=nodes",
    "group": "/groups/default",
    "scripts": "/scripts",
    "scripts-found": "/scripts?text=day",
    "alarms": "/alarms",
    "alarm-rules": "/alarms?tab=rules",
    "alarm-history": "/alarms?tab=history",
    "users": "/access",
    "tokens": "/access?tab=tokens",
    "keys": "/access?tab=keys",
    "audit": "/audit",
    "cluster": "/cluster",
    "counters": "/cluster?tab=counters",
    "configuration": "/cluster?tab=config",
    "operations": "/operations",
    "account": "/account",
    "search": "/search?text=default",
    "unknown": "/no-such-page",
}
browser = None
server = None
made = {}


def sign_in(name=NAME, password=PASSWORD):
    browser.open("/login")
    browser.prefer("en", "light")
    browser.fill("Name", name)
    browser.fill("Password", password)
    browser.press(Keys.ENTER)
    browser.until(lambda: browser.all(".frame"), "signed in")
    browser.settle()


def setUpModule():
    global browser, server
    if not URL:
        server = mock_server.start()
    browser = Browser(URL or f"http://127.0.0.1:{server.server_port}/")
    sign_in()
    browser.api(
        "POST",
        "/jobs",
        {
            "jobs": [
                {
                    "task_id": MARK,
                    "group": "default",
                    "cron": "0 30 2 * * ?",
                    "tz": "Europe/Berlin",
                    "description": "Made by a test",
                    "owner": "tests",
                    "tags": ["test"],
                    "shell": 'for i in 1 2 3; do echo "line $i"; done',
                    "payload": "day=1",
                },
                {
                    "task_id": MARK + "-script",
                    "group": "default",
                    "manual": True,
                    "tags": ["test"],
                    "script": {
                        "language": "bash",
                        "source": '#!/bin/bash\n# The first version.\nfor day in 1 2 3; do\n  echo "day $day"\ndone\n',
                    },
                },
            ]
        },
    )
    browser.api(
        "PUT",
        f"/jobs/default/{MARK}-script/script",
        {
            "source": '#!/bin/bash\n# The second version.\nfor day in 1 2 3 4; do\n  echo "day $day"\ndone\nexit 0\n',
            "language": "bash",
            "remark": "one more day",
        },
    )
    made.update(
        job=f"default/{MARK}",
        script=f"default/{MARK}-script",
        run=browser.api("POST", f"/jobs/default/{MARK}:trigger", {})["job_id"],
    )


def tearDownModule():
    browser.quit()
    if server:
        server.shutdown()


class Pages(unittest.TestCase):
    """Every page in each look."""

    def look(self, language, theme, width, has_axe):
        browser.open("/")
        browser.resize(width, 900 if width > 600 else 844)
        browser.prefer(language, theme)
        problems = []
        for name, address in PAGES.items():
            browser.open(address.format(**made))
            found = browser.complaints()
            title = browser.one("h1").text
            if not title or "." in title and title.split(".")[0] in ("nav", "page"):
                found.append(f"title {title!r}")
            if browser.all(".problem"):
                found.append("shows a problem: " + browser.one(".problem").text)
            if browser.overflow() > 1:
                found.append(f"is {browser.overflow()} pixels too wide")
            if has_axe:
                found += browser.axe()
            if SHOTS:
                self.picture(f"{name}-{language}-{theme}-{width}", width)
            problems += [f"{name}: {one}" for one in found]
            for one in found:
                print(f"\n{name}: {one}", file=sys.stderr)
        browser.resize(1280)
        self.assertEqual(problems, [])

    @staticmethod
    def picture(name, width):
        pathlib.Path(SHOTS).mkdir(parents=True, exist_ok=True)
        height = browser.js(
            "return Math.min(2400, (document.querySelector('main .page') ?? document.body).scrollHeight + 60)"
        )
        browser.resize(width, max(height, 600))
        time.sleep(0.3)
        browser.driver.save_screenshot(f"{SHOTS}/{name}.png")
        browser.resize(width, 900)

    def test_english_light_wide(self):
        self.look("en", "light", 1280, True)

    def test_english_dark_wide(self):
        self.look("en", "dark", 1280, True)

    def test_english_light_narrow(self):
        self.look("en", "light", 390, False)

    def test_english_dark_narrow(self):
        self.look("en", "dark", 390, False)

    def test_chinese_light_wide(self):
        self.look("zh", "light", 1280, False)

    def test_chinese_dark_wide(self):
        self.look("zh", "dark", 1280, False)

    def test_chinese_light_narrow(self):
        self.look("zh", "light", 390, False)

    def test_chinese_dark_narrow(self):
        self.look("zh", "dark", 390, True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
