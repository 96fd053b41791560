#!/usr/bin/env python3
"""What people do with jobs and runs in Chromium; the settings are those of pages_test.py."""

import unittest

from flow import Flow
from pages_test import MARK, URL, Keys, setUpModule, tearDownModule  # noqa: F401: run by unittest


class Jobs(Flow):
    def test_creates_a_job_with_live_checks(self):
        browser = self.browser
        self.allowed = ["400"]
        browser.open("/jobs/new")
        browser.see("Every day at 02:00")
        browser.fill("Task id", MARK + "-new")
        browser.fill("Program and arguments", "/bin/echo\nhello")
        browser.fill("Cron expression", "0 0 24 * * ?")
        browser.see("hour 24 is out of range 0-23")
        browser.until(
            lambda: browser.field("Cron expression").get_attribute("aria-invalid") == "true",
            "the field is marked",
        )
        browser.fill("Time zone", "Europe/Berlin")
        browser.fill("Cron expression", "0 30 2 28 3 ?")
        browser.see("skipped time")
        browser.fill("Cron expression", "0 30 8 * * ?")
        browser.fill("Time zone", "Asia/Shanghai")
        browser.see("The job tracker accepts this job.")
        browser.click("Create job")
        browser.see(f"Job {MARK}-new was created.")
        spec = browser.api("GET", f"/jobs/default/{MARK}-new")["spec"]
        self.assertEqual(
            (spec["cron"], spec["tz"], spec["command"]),
            ("0 30 8 * * ?", "Asia/Shanghai", ["/bin/echo", "hello"]),
        )

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
        browser.until(
            lambda: browser.field("Task id").get_attribute("value") == task_id + "-copy",
            "the copy has a name of its own",
        )
        browser.click("JSON")
        self.assertIn('"payload": "new"', browser.field("Spec").get_attribute("value"))

    def test_runs_suspends_resumes_and_cancels(self):
        browser = self.browser
        self.allowed = ["404"]
        task_id = self.job("acts", cron="0 0 2 * * ?")
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
        browser.until(
            lambda: browser.api("GET", f"/jobs?text={task_id}&state=active")["items"] == [],
            "the job has ended",
        )

    def test_acts_on_many(self):
        browser = self.browser
        names = [self.job(f"many-{index}", cron="0 0 2 * * ?") for index in range(3)]
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
        browser.until(lambda: f"text={MARK}" in browser.address(), "the address has the text")
        browser.one("select").send_keys("Act")
        browser.open(f"/jobs?text={MARK}&kind=manual")
        self.assertEqual(browser.field("Search").get_attribute("value"), MARK)
        browser.driver.back()
        browser.until(lambda: "kind=manual" not in browser.address(), "back goes back")
        browser.click("Save this view")
        browser.fill("Name", "Mine")
        browser.press(Keys.ENTER)
        browser.see("Mine")
        browser.open("/jobs")
        browser.click("Mine")
        browser.until(lambda: MARK in browser.address(), "the view is an address")
        browser.click("Forget the view Mine")

    def test_imports_after_showing_what_changes(self):
        browser = self.browser
        task_id = self.job("import", priority=50)
        browser.open("/jobs/import")
        lines = [
            f'{{"task_id":"{task_id}","group":"default","manual":true,"shell":"echo hello","priority":60}}',
            f'{{"task_id":"{task_id}-2","group":"default","manual":true,"shell":"echo 2"}}',
            "not json",
        ]
        browser.js(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))",
            browser.field("Or paste lines"),
            "\n".join(lines),
        )
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
        browser.until(
            lambda: browser.js(
                "return document.querySelector('.diff')?.shadowRoot?.querySelectorAll('.cm-changedLine').length"
            ),
            "the versions differ somewhere",
        )
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
        browser.until(
            lambda: browser.js(
                "return document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content')"
            ),
            "the editor is there",
        )
        browser.js("document.querySelector('.editor').shadowRoot.querySelector('.cm-content').focus()")
        browser.press("# typed ")
        browser.fill("Remark", "typed")
        browser.click("Save")
        browser.see("Saved as a new version.")
        self.assertIn(
            "# typed ", browser.api("GET", f"/jobs/default/{MARK}-script")["spec"]["script"]["source"]
        )
        browser.open("/scripts?text=typed")
        browser.see(MARK + "-script")


class Runs(Flow):
    def test_finds_in_the_output_and_runs_again(self):
        browser = self.browser
        if URL:
            task_id = self.job("again", shell="for i in 1 2 3; do echo step $i; done")
            job_id = browser.api("POST", f"/jobs/default/{task_id}:trigger", {})["job_id"]
            browser.until(lambda: browser.api("GET", f"/runs/{job_id}")["done"], "it has ended")
        else:
            job_id = browser.api("GET", "/runs/history?page_size=1&state=succeeded")["items"][0]["job_id"]
        browser.open(f"/runs/{job_id}")
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
        browser.until(
            lambda: any(
                run["job_id"] == job_id
                for run in browser.api("GET", f"/runs/executing?task_id={task_id}")["items"]
            ),
            "it runs",
        )
        browser.open(f"/runs/{job_id}")
        browser.see("Executing")
        browser.click("Kill")
        browser.see("and its retries. The schedule stays.")
        browser.click("Kill")
        browser.see("Killed")

    def test_runs_failures_again_in_bulk(self):
        browser = self.browser
        if URL:
            task_id = self.job("fails", shell="exit 3")
            job_id = browser.api("POST", f"/jobs/default/{task_id}:trigger", {})["job_id"]
            browser.until(lambda: browser.api("GET", f"/runs/{job_id}")["done"], "it has ended")
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
