#!/usr/bin/env python3
"""Jobs pushed to executors of xxl-job that others wrote: tests/executors/README.md has the known deviations.

What they do wrong by themselves is in xxl_clients_test.py; here it may not show.
"""

import time

import executors
import harness
from harness import E2eTest, free_port, slowness, wait_for

GROUP = "billing"
TOKEN = "tok-1"


class Pushed:
    """What holds for all of them. The words say where they differ."""

    reports_again = True  # a result that came while no job tracker was there

    def setUp(self):
        super().setUp()
        self.listen = f"127.0.0.1:{free_port()}"
        self.one = self.cluster(flags=["--xxl-listen", self.listen, "--xxl-token", TOKEN])

    def start(self, port=None):
        """An executor, once the job tracker knows it."""
        executor = self.kind.start(self.one.folder / "logs", f"http://{self.listen}/xxl-job-admin",
                                   GROUP, TOKEN, port)
        self.one.workers.append(executor)
        wait_for("the registration", lambda: executor.address in self.addresses())
        return executor

    def addresses(self):
        return [row["address"].rstrip("/") for row in self.one.rows("nodes") if row["kind"] == "executor"]

    def push(self, task_id, handler, payload="", *flags):
        self.one.submit("--task-id", task_id, "--group", GROUP, "--dispatch", "push",
                        "--handler", handler, "--payload", payload, *flags)

    def trigger(self, task_id, status=0):
        return self.one.client("trigger", task_id, "--group", GROUP, status=status)

    def runs(self, *those):
        return [line for each in those for line in each.lines() if line.startswith("runs ")]

    def wait_runs(self, count, *those, patience=harness.PATIENCE):
        wait_for(f"{count} runs", lambda: len(self.runs(*those)) >= count, patience)

    def states(self, task_id):
        return [row["state"] for row in self.one.history(task_id)]

    def test_results_and_logs_reach_the_job_tracker(self):
        executor = self.start()
        self.push("good", "echo", "day=1, 日")
        row = self.one.wait_ended("good")
        self.assertEqual((row["state"], row["node"].rstrip("/")), ("succeeded", executor.address))
        self.push("bad", "fail", "no luck", "--retries", 1)
        rows = wait_for("both attempts", lambda: (lambda found: found if len(found) == 2 else None)(
            self.one.history("bad")))
        for row in rows:
            self.assertEqual(row["state"], "failed")
            self.assertIn("no luck", row["message"])
        self.push("nowhere", "nosuch")
        self.assertEqual(self.one.wait_ended("nowhere")["state"], "failed")
        self.push("wordy", "log", "3")
        self.one.wait_ended("wordy")
        text = wait_for("the last line", lambda: (
            lambda found: found if "line 3\n" in found else None)(
                self.one.client("logs", "wordy", "--group", GROUP).out))
        self.assertIn("line 1\n", text)
        self.assertEqual(self.runs(executor), [
            "runs echo day=1, 日 0/1", "runs fail no luck 0/1", "runs fail no luck 0/1", "runs log 3 0/1"])

    def test_broadcast_gives_each_executor_its_shard(self):
        both = [self.start(), self.start()]
        self.push("all", "echo", "part", "--route", "SHARDING_BROADCAST")
        wait_for("the shards", lambda: self.states("all"))
        wait_for("the end", self.one.is_idle)
        self.assertEqual(set(self.states("all")), {"succeeded"})
        self.assertEqual(sorted(line for each in both for line in self.runs(each)),
                         ["runs echo part 0/2", "runs echo part 1/2"])
        self.assertEqual([len(self.runs(each)) for each in both], [1, 1])

    def test_kill_and_timeout_end_a_run(self):
        executor = self.start()
        self.push("long", "sleep", "60000")
        self.wait_runs(1, executor)
        self.one.client("kill", "long", "--group", GROUP)
        self.assertEqual(self.one.wait_ended("long")["state"], "killed")
        self.push("slow", "sleep", "30000", "--timeout", "1s")
        self.assertIn(self.one.wait_ended("slow")["state"], ("timed_out", "failed"))

    def test_block_strategies_serialize_discard_or_cover(self):
        both = [self.start(), self.start()]
        for number, strategy in enumerate(("SERIAL_EXECUTION", "DISCARD_LATER", "COVER_EARLY")):
            with self.subTest(strategy):
                began = len(self.runs(*both))
                self.push(strategy, "sleep", f"{2000 + number}", "--manual", "--route", "ROUND",
                          "--block", strategy)
                self.trigger(strategy)
                self.wait_runs(began + 1, *both)
                second = self.trigger(strategy, status=None)
                discards = strategy == "DISCARD_LATER"
                self.assertEqual(second.status, 1 if discards else 0, second)
                wait_for("the ends", lambda: len(self.states(strategy)) == (1 if discards else 2))
                rows = sorted(self.one.history(strategy), key=lambda row: row["started_at"])
                self.assertEqual([row["state"] for row in rows], {
                    "SERIAL_EXECUTION": ["succeeded", "succeeded"], "DISCARD_LATER": ["succeeded"],
                    "COVER_EARLY": ["killed", "succeeded"]}[strategy])
                if not discards:
                    self.assertGreaterEqual(rows[1]["started_at"], rows[0]["ended_at"])

    def test_run_discarded_by_the_executor_is_recorded(self):
        executor = self.start()
        self.push("twice", "sleep", "2000", "--manual", "--block", "DISCARD_LATER", "--overlap", "parallel")
        self.trigger("twice")
        self.wait_runs(1, executor)
        self.trigger("twice")
        wait_for("both ends", lambda: len(self.states("twice")) == 2)
        self.assertEqual(sorted(self.states("twice")), ["discarded", "succeeded"])

    def test_runs_survive_a_kill_of_the_job_tracker(self):
        executor = self.start()
        self.push("short", "sleep", "1000")
        self.wait_runs(1, executor)
        self.one.tracker.kill()
        time.sleep(2)  # It ends, and nobody is there to be told.
        self.one.start_tracker()
        self.push("after", "echo")
        self.assertEqual(self.one.wait_ended("after")["state"], "succeeded")
        if self.reports_again:
            row = self.one.wait_ended("short")
            self.assertEqual((row["state"], row["attempt"]), ("succeeded", 1))
            self.assertEqual(len(self.runs(executor)), 2)

    def test_runs_of_a_restarted_executor_run_again(self):
        executor = self.start()
        tasks = [f"task-{number}" for number in range(5)]
        for task in tasks:
            self.push(task, "sleep", "20000")
        self.wait_runs(len(tasks), executor)
        at = time.monotonic()
        executor.kill()
        again = self.start(executor.port)
        self.wait_runs(len(tasks), again)
        self.assertLess(time.monotonic() - at, 10 + 10 * (slowness() - 1))
        self.assertEqual({row["attempt"] for row in self.one.rows("executing")}, {2})

    def test_fires_use_the_remaining_executor_without_failures(self):
        gone, other = self.start(), self.start()
        gone.kill()
        self.push("each", "echo", "x", "--every", "300ms", "--count", 10, "--overlap", "queue",
                  "--route", "ROUND")
        wait_for("ten ends", lambda: len(self.states("each")) == 10)
        self.assertEqual(set(self.states("each")), {"succeeded"})
        self.assertEqual(len(self.runs(other)), 10)


class Java220(Pushed, E2eTest):
    kind = executors.JAVA_2_2_0


class Java241(Pushed, E2eTest):
    kind = executors.JAVA_2_4_1


class Java332(Pushed, E2eTest):
    kind = executors.JAVA_3_3_2


class Go(Pushed, E2eTest):
    kind = executors.GO
    reports_again = False


class Pyxxl(Pushed, E2eTest):
    kind = executors.PYXXL


class Node(Pushed, E2eTest):
    kind = executors.NODE
    reports_again = False


if __name__ == "__main__":
    harness.main()
