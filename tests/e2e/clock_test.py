#!/usr/bin/env python3
"""The wall clock of a job tracker's machine is set by an hour while jobs wait, run and are pushed."""

import json
import struct
import subprocess
import time
import urllib.request

import harness
from harness import SOURCE, E2eTest, free_port, wait_for

HOUR = 3600
APP = "billing"
BELIEVED = 4  # seconds after which its clock is believed


class ClockTest(E2eTest):
    def setUp(self):
        super().setUp()
        library = self.folder / "set_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE / "tests/e2e/set_clock.c"],
                       check=True)
        self.ahead = self.folder / "ahead"
        self.set_clock(0)
        self.xxl = f"127.0.0.1:{free_port()}"
        self.one = self.cluster(tracker=False)
        env = self.one.env
        self.one.env = {**env, "LD_PRELOAD": str(library), "SET_CLOCK_FILE": str(self.ahead)}
        self.one.start_tracker("--xxl-listen", self.xxl, "--xxl-token", "t")
        self.one.env = env

    def set_clock(self, seconds):
        """In one write, as the file is mapped."""
        with open(self.ahead, "r+b" if self.ahead.exists() else "wb") as file:
            file.write(struct.pack("q", seconds))

    def states(self, task):
        return [row["state"] for row in reversed(self.one.history(task))]

    def test_clock_moved_back_delays_no_due_jobs(self):
        self.one.start_worker(threads=1)
        self.one.submit("--task-id", "fails", "--retries", 2, "--retry-base", "5s", "--", "false")
        waiting = [f"waits-{number}" for number in range(3)]
        for task in waiting:
            self.one.submit("--task-id", task, "--", "sleep", 3)
        wait_for("the first try", lambda: self.states("fails") == ["failed"])
        self.set_clock(-HOUR)
        for task in waiting:
            self.one.wait_ended(task, ["succeeded"])
        wait_for("all tries", lambda: self.states("fails") == ["failed"] * 3)

    def test_clock_moved_back_delays_no_job_of_a_killed_worker(self):
        worker = self.one.start_worker()
        self.one.submit("--task-id", "long", "--", "sleep", 20)
        wait_for("it to run", lambda: self.one.rows("executing"))
        self.set_clock(-HOUR)
        time.sleep(BELIEVED)
        worker.kill()
        self.one.start_worker()
        wait_for("its next run", lambda: [
            row["attempt"] for row in self.one.rows("executing")] == [2])
        self.assertEqual(self.states("long"), ["lost"])

    def start_executor(self):
        return self.one.start_minimal_executor(self.xxl, APP, "t")

    def push(self, task, run_ms, *flags):
        self.one.submit("--task-id", task, "--group", APP, "--dispatch", "push", "--handler", "wait",
                        "--payload", run_ms, *flags)

    def test_clock_moved_forward_ends_no_pushed_run_or_executor_registration(self):
        self.start_executor()
        self.push("long", 15_000, "--timeout", "10m")
        wait_for("it to run", lambda: self.one.rows("executing"))
        self.set_clock(HOUR)
        time.sleep(BELIEVED)
        self.push("next", 0)
        self.one.wait_ended("next", ["succeeded"])
        self.assertEqual(self.states("long"), [])
        row = self.one.wait_ended("long")
        self.assertEqual((row["state"], row["attempt"]), ("succeeded", 1))

    def test_clock_moved_back_does_not_keep_a_deregistered_executor(self):
        executor = self.start_executor()
        self.set_clock(-HOUR)
        time.sleep(BELIEVED)
        executor.kill()
        goodbye = urllib.request.Request(
            f"http://{self.xxl}/api/registryRemove", json.dumps({
                "registryGroup": "EXECUTOR", "registryKey": APP,
                "registryValue": executor.address}).encode(), {"XXL-JOB-ACCESS-TOKEN": "t"})
        urllib.request.urlopen(goodbye).close()
        wait_for("its end of service", lambda: [
            row for row in self.one.rows("nodes") if row["kind"] == "executor"] == [])


if __name__ == "__main__":
    harness.main()
