"""What the tests of flows share."""

import unittest

import pages_test as pages
from pages_test import MARK


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
        self.browser.api(
            "POST",
            "/jobs",
            {
                "task_id": task_id,
                "group": "default",
                **({} if "cron" in more else {"manual": True}),
                "shell": "echo hello",
                "replace_on_exist": True,
                **more,
            },
        )
        return task_id

    def state(self, task_id):
        return self.browser.api("GET", f"/jobs/default/{task_id}")["state"]
