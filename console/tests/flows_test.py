#!/usr/bin/env python3
"""What people do in the console, in Chromium; the settings are those of pages_test.py."""

import sys
import unittest

import pages_test as pages
from pages_test import MARK, URL, Keys, setUpModule, tearDownModule  # noqa: F401: run by unittest


class Flow(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.browser = pages.browser
        self.browser.resize(1280)
        self.browser.open("/account")
        self.browser.prefer("en", "light")
        # Refusals that a test asks for are in the browser's log, too.
        self.allowed = []

    def tearDown(self):
        self.assertEqual(self.browser.complaints(self.allowed), [])

    def job(self, name, **more):
        """A job of this test alone."""
        task_id = f"{MARK}-{name}"
        self.browser.api("POST", "/jobs", {"task_id": task_id, "group": "default", "manual": True, "shell": "echo hello", "replace_on_exist": True, **more})
        return task_id

    def state(self, task_id):
        return self.browser.api("GET", f"/jobs/default/{task_id}")["state"]


class Jobs(Flow):
    def test_creates_a_job_with_live_checks(self):
        browser = self.browser
        self.allowed = ["400"]
        browser.open("/jobs/new")
        browser.see("Every day at 02:00")
        browser.fill("Task id", MARK + "-new")
        browser.fill("Cron expression", "0 0 24 * * ?")
        browser.see("hour 24 is out of range 0-23")
        browser.until(lambda: browser.field("Cron expression").get_attribute("aria-invalid") == "true", "the field is marked")
        browser.fill("Cron expression", "0 30 8 * * ?")
        browser.fill("Time zone", "Asia/Shanghai")
        browser.fill("Program and arguments", "/bin/echo\nhello")
        browser.see("The job tracker accepts this job.")
        browser.click("Create job")
        browser.see(f"Job {MARK}-new was created.")
        spec = browser.api("GET", f"/jobs/default/{MARK}-new")["spec"]
        self.assertEqual((spec["cron"], spec["tz"], spec["command"]), ("0 30 8 * * ?", "Asia/Shanghai", ["/bin/echo", "hello"]))

    def test_edits_copies_and_keeps_what_the_form_does_not_show(self):
        browser = self.browser
        task_id = self.job("edit", payload="old", priority=50)
        browser.open(f"/jobs/default/{task_id}/edit")
        browser.fill("Payload", "new")
        browser.click("Save")
        browser.see(f"Job {task_id} was changed.")
        spec = browser.api("GET", f"/jobs/default/{task_id}")["spec"]
        self.assertEqual((spec["payload"], spec["priority"]), ("new", 50))
        browser.click("Copy")
        browser.until(lambda: browser.field("Task id").get_attribute("value") == task_id + "-copy", "the copy has a name of its own")
        browser.click("JSON")
        self.assertIn('"payload": "new"', browser.field("Spec").get_attribute("value"))

    def test_runs_suspends_resumes_and_cancels(self):
        browser = self.browser
        task_id = self.job("acts", cron="0 0 2 * * ?", manual=None)
        browser.open(f"/jobs/default/{task_id}")
        browser.click("Run now")
        browser.choose("With another payload")
        browser.fill("Payload", "by hand")
        browser.click("Run now")
        browser.see("Open the run")
        browser.click("Suspend")
        browser.until(lambda: self.state(task_id) == "suspended", "the job is suspended")
        browser.see("Why it does not run:")
        browser.see("Resume it to let it fire again.")
        browser.click("Resume", within=".why")
        browser.until(lambda: self.state(task_id) == "active", "the job is active")
        browser.click("Cancel")
        browser.see("Ends its schedule")
        browser.press(Keys.ESCAPE)
        self.assertEqual(self.state(task_id), "active")
        browser.click("Cancel")
        browser.click("Yes, cancel")
        browser.until(lambda: browser.api("GET", f"/jobs?text={task_id}&state=active")["items"] == [], "the job has ended")

    def test_acts_on_many(self):
        browser = self.browser
        names = [self.job(f"many-{index}", cron="0 0 2 * * ?", manual=None) for index in range(3)]
        browser.open(f"/jobs?text={MARK}-many")
        browser.until(lambda: len(browser.all("tbody tr")) == 3, "the filter shows three jobs")
        browser.one("thead input[type=checkbox]").click()
        browser.see("3 chosen")
        browser.click("Suspend")
        browser.see("Suspends 3 jobs: no more fires.")
        browser.click("Suspend")
        browser.see("Suspend: 3 done.")
        self.assertEqual([self.state(name) for name in names], ["suspended"] * 3)
        browser.open(f"/jobs?text={MARK}-many&state=active")
        browser.see("No job matches these filters.")
        browser.open("/operations")
        browser.see("3/3")

    def test_filters_are_in_the_address(self):
        browser = self.browser
        browser.open("/jobs")
        browser.fill("Search", MARK)
        browser.until(lambda: f"text={MARK}" in browser.hash(), "the address has the text")
        browser.one("select").send_keys("Act")
        browser.open(f"/jobs?text={MARK}&kind=manual")
        self.assertEqual(browser.field("Search").get_attribute("value"), MARK)
        browser.driver.back()
        browser.until(lambda: "kind=manual" not in browser.hash(), "back goes back")
        browser.click("Save this view")
        browser.fill("Name", "Mine")
        browser.press(Keys.ENTER)
        browser.see("Mine")
        browser.open("/jobs")
        browser.click("Mine")
        browser.until(lambda: MARK in browser.hash(), "the view is an address")
        browser.click("Forget the view Mine")

    def test_imports_after_showing_what_changes(self):
        browser = self.browser
        task_id = self.job("import", priority=50)
        browser.open("/jobs/import")
        lines = [f'{{"task_id":"{task_id}","group":"default","manual":true,"shell":"echo hello","priority":60}}',
                 f'{{"task_id":"{task_id}-2","group":"default","manual":true,"shell":"echo 2"}}', "not json"]
        browser.js("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))", browser.field("Or paste lines"), "\n".join(lines))
        browser.click("Show what would change")
        browser.see("1 new, 1 changed, 0 unchanged, 1 invalid")
        browser.see("priority")
        browser.click("Apply")
        browser.click("Apply")
        browser.see("1 created, 1 replaced")
        self.assertEqual(browser.api("GET", f"/jobs/default/{task_id}")["priority"], 60)

    def test_compares_and_restores_a_script(self):
        browser = self.browser
        browser.open(f"/jobs/default/{MARK}-script?tab=scripts")
        browser.click("Compare")
        browser.until(lambda: browser.js("return document.querySelector('.diff')?.shadowRoot?.querySelectorAll('.cm-changedLine').length"), "the versions differ somewhere")
        browser.click("Hide the comparison")
        browser.until(lambda: len(browser.all("tbody tr")) >= 2, "there are versions")
        before = len(browser.all("tbody tr"))
        browser.click("Restore")
        browser.click("Restore")
        browser.see("Restored as the newest version.")
        browser.until(lambda: len(browser.all("tbody tr")) >= before, "the list is there")

    def test_writes_a_script_in_the_editor(self):
        browser = self.browser
        browser.open(f"/jobs/default/{MARK}-script?tab=scripts&edit=yes")
        browser.until(lambda: browser.js("return document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content')"), "the editor is there")
        browser.js("document.querySelector('.editor').shadowRoot.querySelector('.cm-content').focus()")
        browser.press("# typed ")
        browser.fill("Remark", "typed")
        browser.click("Save")
        browser.see("Saved as a new version.")
        self.assertIn("# typed ", browser.api("GET", f"/jobs/default/{MARK}-script")["spec"]["script"]["source"])
        browser.open("/scripts?text=typed")
        browser.see(MARK + "-script")


class Runs(Flow):
    def test_finds_in_the_output_and_runs_again(self):
        browser = self.browser
        job_id = browser.api("GET", "/runs/history?page_size=1&state=succeeded")["items"][0]["job_id"]
        browser.open(f"/runs/{job_id}")
        if not URL:
            browser.fill("Find in the output", "step 1")
            browser.until(lambda: browser.all(".line.found"), "lines are marked")
            browser.see("1/")
        browser.click("Run again")
        browser.see("Starts a new run of")
        browser.click("Run again")
        browser.see("Open the run")

    def test_kills_a_run(self):
        browser = self.browser
        task_id = self.job("kill", shell="sleep 60")
        job_id = browser.api("POST", f"/jobs/default/{task_id}:trigger", {})["job_id"]
        browser.until(lambda: any(run["job_id"] == job_id for run in browser.api("GET", f"/runs/executing?task_id={task_id}")["items"]), "it runs")
        browser.open(f"/runs/{job_id}")
        browser.see("Executing")
        browser.click("Kill")
        browser.see("and its retries. The schedule stays.")
        browser.click("Kill")
        browser.see("Killed")

    def test_runs_failures_again_in_bulk(self):
        browser = self.browser
        if not browser.api("GET", "/runs/history?state=failed&page_size=1")["items"]:
            self.skipTest("nothing has failed here")
        browser.open("/history?state=failed")
        browser.until(lambda: browser.all("tbody input"), "there are failures")
        browser.all("tbody input")[0].click()
        browser.see("1 chosen")
        browser.click("Edit payload and run again")
        browser.see("Runs 1 run again")
        browser.press(Keys.ESCAPE)
        browser.click("Run again")
        browser.see("Starts 1 run again")
        browser.click("Run again")
        browser.see("Run again: 1 done.")


class Keyboard(Flow):
    def test_search_help_and_tables(self):
        browser = self.browser
        browser.open("/jobs")
        browser.press("/")
        self.assertEqual(browser.focused().get_attribute("id"), "search")
        browser.press(MARK)
        browser.until(lambda: browser.all("#search-found li .found-label"), "there are proposals")
        browser.press(Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
        browser.until(lambda: browser.hash().startswith(f"#/jobs/default/{MARK}"), "Enter opens what was found")
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
        browser.until(lambda: browser.hash().startswith("#/jobs/"), "Enter opens the row")
        browser.press("g", "w")
        browser.until(lambda: browser.hash() == "#/waiting", "g w goes to what waits")

    def test_focus_returns_after_a_dialog(self):
        browser = self.browser
        browser.open("/alarms")
        browser.js("[...document.querySelectorAll('button')].find((one) => one.innerText.trim() === 'Send a test').focus()")
        browser.press(Keys.ENTER)
        browser.see("A mail address or a URL.")
        browser.press(Keys.ESCAPE)
        browser.until(lambda: browser.focused().text.strip() == "Send a test", "focus is back")

    def test_everything_can_be_reached_by_tab(self):
        browser = self.browser
        browser.open("/groups")
        browser.js("document.activeElement.blur()")
        seen = set()
        for _ in range(40):
            browser.press(Keys.TAB)
            seen.add(browser.js("return document.activeElement.innerText?.trim() || document.activeElement.getAttribute('aria-label') || document.activeElement.id"))
        self.assertLessEqual({"Skip to the page", "Search jobs, runs, groups and workers", "Jobs", "Cluster", "Workers"}, seen)


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

    def test_a_viewer_sees_why_an_action_is_not_allowed(self):
        if URL:
            self.skipTest("the mock knows a viewer")
        browser = self.browser
        self.allowed = ["403", "401"]
        try:
            browser.click("Sign out")
            pages.sign_in("viewer")
            browser.open(f"/jobs/default/{MARK}")
            button = browser.named("Run now")
            self.assertFalse(button.is_enabled())
            self.assertIn("Needs the role Operator; you are Viewer.", button.get_attribute("title"))
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
        browser.driver.get(browser.base + "#/jobs?state=suspended")
        browser.see("Sign in")
        browser.fill("Name", pages.NAME)
        browser.fill("Password", "wrong")
        browser.press(Keys.ENTER)
        browser.see("The name or the password is wrong.")
        browser.fill("Password", pages.PASSWORD)
        browser.press(Keys.ENTER)
        browser.until(lambda: browser.hash() == "#/jobs?state=suspended", "signed in, the page is the one asked for")

    def test_language_and_appearance_stay(self):
        browser = self.browser
        browser.open("/account")
        browser.choose("中文")
        browser.see("语言与外观")
        browser.choose("深色")
        browser.reload()
        browser.see("语言与外观")
        self.assertEqual(browser.js("return document.documentElement.dataset.theme"), "dark")
        self.assertEqual(browser.js("return document.documentElement.lang"), "zh-CN")
        browser.choose("跟随系统")
        browser.set_system_dark(True)
        browser.until(lambda: browser.js("return document.documentElement.dataset.theme") == "dark", "dark as the system")
        browser.set_system_dark(False)
        browser.until(lambda: browser.js("return document.documentElement.dataset.theme") == "light", "light as the system")


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
    unittest.main(verbosity=2, module=sys.modules[__name__])
