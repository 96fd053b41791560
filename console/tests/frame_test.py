#!/usr/bin/env python3
"""Keys, sign-in, roles, languages and live updates in Chromium; the settings are those of pages_test.py."""

import unittest

import pages_test as pages
from flow import Flow
from pages_test import MARK, URL, Keys, setUpModule, tearDownModule  # noqa: F401: run by unittest


class Keyboard(Flow):
    def test_search_help_and_tables(self):
        browser = self.browser
        browser.open("/jobs")
        browser.press("/")
        self.assertEqual(browser.focused().get_attribute("id"), "search")
        browser.press(MARK)
        browser.until(lambda: browser.all("#search-found li .found-label"), "there are proposals")
        browser.press(Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
        browser.until(
            lambda: browser.address().startswith(f"/jobs/default/{MARK}"), "Enter opens what was found"
        )
        browser.open("/jobs")
        browser.press("?")
        browser.see("Move between the rows of a table")
        browser.press(Keys.ESCAPE)
        browser.until(lambda: not browser.all("dialog"), "Escape closes")
        browser.press(Keys.ARROW_DOWN)
        browser.until(lambda: browser.focused().tag_name == "tr", "an arrow enters the table")
        first = browser.focused().text
        browser.press(Keys.ARROW_DOWN)
        self.assertNotEqual(browser.focused().text, first)
        browser.press(" ")
        browser.see("1 chosen")
        browser.press(Keys.ENTER)
        browser.until(lambda: browser.address().startswith("/jobs/"), "Enter opens the row")
        browser.press("g", "w")
        browser.until(lambda: browser.address() == "/waiting", "g w goes to what waits")

    def test_focus_returns_after_a_dialog(self):
        browser = self.browser
        browser.open("/groups")
        browser.js("arguments[0].focus()", browser.named("Add executor group"))
        browser.press(Keys.ENTER)
        browser.see("The appname of the executors")
        browser.press(Keys.ESCAPE)
        browser.until(lambda: browser.focused().text.strip() == "Add executor group", "focus is back")

    def test_everything_can_be_reached_by_tab(self):
        browser = self.browser
        browser.open("/groups")
        browser.js("document.activeElement.blur()")
        seen = set()
        for _ in range(40):
            browser.press(Keys.TAB)
            seen.add(
                browser.js(
                    "return document.activeElement.innerText?.trim() || document.activeElement.getAttribute('aria-label') || document.activeElement.id"
                )
            )
        self.assertLessEqual(
            {"Skip to the page", "Search jobs, runs, groups and workers", "Jobs", "Cluster", "Workers"}, seen
        )


class People(Flow):
    def test_tokens_show_their_secret_once(self):
        browser = self.browser
        browser.open("/access?tab=tokens")
        browser.click("Add token")
        browser.fill("Name", MARK)
        browser.click("Save")
        browser.see("This is shown once.")
        browser.click("Close")
        browser.see(MARK)
        browser.api("DELETE", f"/tokens/{MARK}")

    def test_each_role_sees_what_it_may(self):
        browser = self.browser
        self.allowed = ["403", "401"]
        # Of each user, whose name is its role: what it may do, and why not the next.
        for role, may, refused in (
            ("viewer", (), ("Run now", "Needs the role Operator; you are Viewer.")),
            ("operator", ("Run now", "Suspend"), ("Edit", "Needs the role Editor; you are Operator.")),
            ("editor", ("Run now", "Edit", "Cancel"), None),
        ):
            try:
                browser.click("Sign out", within="header.top")
                pages.sign_in(role)
                browser.open(f"/jobs/default/{MARK}")
                for label in may:
                    self.assertTrue(browser.named(label).is_enabled(), (role, label))
                if refused:
                    button = browser.named(refused[0])
                    self.assertFalse(button.is_enabled(), role)
                    self.assertIn(refused[1], button.get_attribute("title"))
                browser.open("/access")
                browser.see("Needs the role Administrator")
            finally:
                browser.click("Sign out", within="header.top")
                pages.sign_in()

    def test_a_wrong_password_and_a_deep_link(self):
        browser = self.browser
        self.allowed = ["401"]
        browser.click("Sign out", within="header.top")
        browser.see("Sign in")
        browser.driver.get(browser.base + "jobs?state=suspended")
        browser.see("Sign in")
        browser.fill("Name", pages.NAME)
        browser.fill("Password", "wrong")
        browser.press(Keys.ENTER)
        browser.see("The name or the password is wrong.")
        browser.fill("Password", pages.PASSWORD)
        browser.press(Keys.ENTER)
        browser.until(
            lambda: browser.address() == "/jobs?state=suspended", "signed in, the page is the one asked for"
        )

    def test_an_address_chooses_page_and_language(self):
        browser = self.browser
        for address, language, words in (
            ("waiting?lang=zh", "zh", "按分发顺序排列"),
            ("jobs/default/" + MARK + "?lang=en", "en", "Last runs"),
            ("#/cluster", "en", "Job trackers"),
        ):
            browser.driver.get(browser.base + address)
            browser.see(words)
            self.assertEqual(browser.js("return document.documentElement.lang"), language)
        self.assertEqual(browser.address(), "/cluster")

    def test_language_and_appearance_stay(self):
        browser = self.browser
        browser.open("/account")
        browser.choose("中文")
        browser.see("语言与外观")
        browser.choose("深色")
        browser.reload()
        browser.see("语言与外观")
        self.assertEqual(browser.js("return document.documentElement.dataset.theme"), "dark")
        self.assertEqual(browser.js("return document.documentElement.lang"), "zh")
        browser.choose("跟随系统")
        browser.set_system_dark(True)
        browser.until(
            lambda: browser.js("return document.documentElement.dataset.theme") == "dark",
            "dark as the system",
        )
        browser.set_system_dark(False)
        browser.until(
            lambda: browser.js("return document.documentElement.dataset.theme") == "light",
            "light as the system",
        )


class Live(Flow):
    def test_changes_appear_by_themselves(self):
        browser = self.browser
        task_id = self.job("live")
        browser.open(f"/jobs/default/{task_id}")
        browser.see("Live")
        browser.api("POST", f"/jobs/default/{task_id}:suspend", {})
        browser.see("Suspended", 10)

    def test_polls_where_the_stream_fails(self):
        browser = self.browser
        self.allowed = ["/events", "ERR_BLOCKED"]
        task_id = self.job("poll")
        browser.driver.execute_cdp_cmd("Network.enable", {})
        browser.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/api/v1/events*"]})
        try:
            browser.open(f"/jobs/default/{task_id}")
            browser.reload()
            browser.see("Every 5 s")
            browser.api("POST", f"/jobs/default/{task_id}:suspend", {})
            browser.see("Suspended", 15)
        finally:
            browser.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})

    def test_says_when_the_server_is_away_and_what_to_do(self):
        if URL:
            self.skipTest("the mock can fail on demand")
        browser = self.browser
        self.allowed = ["503", "404"]
        browser.open("/jobs?text=unavailable")
        browser.see("Wait until the job tracker or its database is back, then try again.")
        browser.open("/jobs/default/no-such-task")
        browser.see("task 'no-such-task' is not in group 'default'")
        browser.see("look for it with the search above")


if __name__ == "__main__":
    unittest.main(verbosity=2)
