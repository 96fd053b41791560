"""The console in Chromium at a real job tracker, with two task trackers and an xxl-job executor. The
suites are those of console/tests, which also run against a made-up job tracker."""

import os
import pathlib
import subprocess
import sys

import harness
from harness import SOURCE, E2eTest

PASSWORD = "correct horse battery"
SUITES = SOURCE / "console/tests"


class Console(E2eTest):
    def setUp(self):
        super().setUp()
        if not pathlib.Path("/usr/bin/chromedriver").exists():
            harness.skip("chromium-driver is not installed")
        port = harness.free_port()
        self.one = self.cluster(flags=["--http", f"127.0.0.1:{port}", "--xxl-token", "tok"], workers=2)
        self.one.start_minimal_executor(f"127.0.0.1:{port}", "executors", "tok")
        for name, role in (("ann", "admin"), ("viewer", "viewer"), ("operator", "operator"), ("editor", "editor")):
            self.one.client("users", "new", name, "--role", role, "--group", "*", stdin=PASSWORD + "\n")
        self.env = {**os.environ, "CARILLON_CONSOLE_URL": f"http://127.0.0.1:{port}/",
                    "CARILLON_CONSOLE_NAME": "ann", "CARILLON_CONSOLE_PASSWORD": PASSWORD}

    def run_suite(self, name, *patterns):
        selected = [word for pattern in patterns for word in ("-k", pattern)]
        done = subprocess.run(["/usr/bin/python3", SUITES / f"{name}_test.py", *selected], env=self.env,
                              capture_output=True, text=True, timeout=1400, check=False, cwd=self.folder)
        print(done.stdout + done.stderr, file=sys.stderr)
        self.assertEqual(done.returncode, 0)


class Flows(Console):
    def test_flows(self):
        self.run_suite("flows")


class Frame(Console):
    def test_keys_sign_in_roles_and_languages(self):
        self.run_suite("frame")


class Pages(Console):
    def test_pages(self):
        self.run_suite("pages")


class Few(Console):
    """Some flows, for each change."""

    def test_a_few_flows(self):
        self.run_suite("flows", "*creates_a_job*", "*runs_suspends*", "*kills_a_run*")


if __name__ == "__main__":
    harness.main()
