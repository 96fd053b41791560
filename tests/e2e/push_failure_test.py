#!/usr/bin/env python3
"""What becomes of pushed jobs when the job tracker or an executor is killed, hangs or is slow. It prints how long each
recovery took; what it asserts of time is generous, as machines may be busy."""

import collections
import datetime
import sys
import time

import accounts
import harness
from harness import BIN, E2eTest, Program, free_port, slowness, wait_for
from silent_server import SilentServer

APP = "billing"
TOKEN = "default_token"
AWAY = 10  # seconds that a killed job tracker stays away
RECOVERED = 60  # seconds within which all goes on, however busy the machine is

Call = collections.namedtuple("Call", "at log_id job")


def say(text):
    print(f"  {text}", file=sys.stderr)


class PushFailureTest(E2eTest):
    def setUp(self):
        super().setUp()
        self.xxl_port = free_port()
        self.one = self.cluster(tracker=False)
        self.start_tracker()

    def start_tracker(self):
        self.one.start_tracker("--xxl-listen", f"127.0.0.1:{self.xxl_port}", "--xxl-token", TOKEN)

    def start_executor(self, port=None, answer_ms=0):
        return self.one.start_minimal_executor(f"127.0.0.1:{self.xxl_port}", APP, TOKEN, port, answer_ms)

    def calls(self, executor):
        lines = executor.notes.read_text("utf-8").splitlines()
        return [Call(float(at), int(log_id), int(job))
                for at, log_id, job in (line.split(" ") for line in lines)]

    def pushed(self, task, run_ms, group=APP, **fields):
        return {"task_id": task, "group": group, "dispatch": "push", "handler": "wait",
                "payload": str(run_ms), **fields}

    def of_each_task(self):
        rows = collections.defaultdict(list)
        for row in self.one.history():
            rows[row["task_id"]].append(row)
        return rows

    def test_every_fire_has_an_outcome_after_a_job_tracker_outage(self):
        executor = self.start_executor()
        tasks = [f"task-{number}" for number in range(200)]
        self.one.submit_all([self.pushed(task, 0, cron="* * * * * ?") for task in tasks])
        wait_for("five seconds of fires", lambda: len(self.calls(executor)) >= 1000)
        self.one.tracker.kill()
        time.sleep(AWAY)
        before = len(self.calls(executor))
        started = time.time()
        self.start_tracker()
        ready = time.time()
        wait_for("calls", lambda: len(self.calls(executor)) > before, RECOVERED, 0.01)
        first = self.calls(executor)[before].at
        wait_for("all schedules to fire again", lambda: len(
            {call.job for call in self.calls(executor)[before:]}) == len(tasks), RECOVERED)
        wait_for("some seconds more", lambda: len(self.calls(executor)) >= before + 1000, RECOVERED)
        say(f"the job tracker is ready {ready - started:.2f} s after its start, "
            f"the first fire comes after {first - started:.2f} s")
        for task in tasks:
            self.one.client("suspend", task, "--group", APP)
        wait_for("nothing to be under way", self.one.is_idle, 200)

        wrong = []
        outcomes = collections.Counter()
        for task, rows in self.of_each_task().items():
            begin, end = accounts.first_end_and_last_run(rows)
            # One that was claimed ahead of its time may have been called off before it came.
            fires = accounts.every_seconds(1, begin - accounts.SECOND, accounts.now() + accounts.SECOND)
            wrong += [f"{task}: {line}" for line in accounts.account(fires, rows, end)]
            self.assertLess(begin.timestamp(), started - AWAY)
            self.assertGreater(end.timestamp(), started)
            for row in rows:
                outcomes[row["state"]] += int(row["count"])
        self.assertEqual(wrong, [])
        self.assertEqual(set(outcomes) - {"succeeded", "missed", "skipped", "lost", "cancelled"}, set())
        log_ids = [call.log_id for call in self.calls(executor)]
        self.assertEqual(len(log_ids), len(set(log_ids)))
        say(f"outcomes: {dict(outcomes)}")

    def test_burst_completes_though_the_job_tracker_is_killed(self):
        executor = self.start_executor()
        tasks = [f"task-{number}" for number in range(2000)]
        at = accounts.now() + datetime.timedelta(seconds=4)
        self.one.submit_all([self.pushed(task, 200, at=at.isoformat()) for task in tasks])
        wait_for("the burst to begin", lambda: len(self.calls(executor)) >= 50, pause=0.001)
        self.one.tracker.kill()
        started = time.monotonic()
        self.start_tracker()
        # What was stored and perhaps not sent is lost when its result has had 90 s.
        wait_for("every job to end", self.one.is_idle, 90 + 3 * RECOVERED, 1)
        say(f"all had ended {time.monotonic() - started:.1f} s after the start")
        rows = self.of_each_task()
        self.assertEqual(set(rows), set(tasks))
        states = {task: sorted(row["state"] for row in ended) for task, ended in rows.items()}
        self.assertEqual({task: each for task, each in states.items() if each not in (
            ["succeeded"], ["lost", "succeeded"])}, {})
        lost = [task for task, each in states.items() if "lost" in each]
        calls = self.calls(executor)
        self.assertEqual(len(calls), len({call.log_id for call in calls}))
        # One that the executor has taken is not given to it again.
        self.assertEqual(len(calls), len(tasks))
        say(f"{len(lost)} were stored and not sent, and sent anew")

    def test_runs_of_a_killed_executor_run_again(self):
        executor = self.start_executor()
        tasks = [f"task-{number}" for number in range(100)]
        self.one.submit_all([self.pushed(task, 20_000) for task in tasks])
        wait_for("all of them to run", lambda: len(self.calls(executor)) == len(tasks))
        executor.kill()
        again = self.start_executor(executor.port)
        restarted = time.time()
        wait_for("all of them to run again",
                 lambda: len(self.calls(again)) == 2 * len(tasks), RECOVERED)
        say(f"all 100 ran again {self.calls(again)[-1].at - restarted:.1f} s after the restart")
        for task in tasks:
            self.one.wait_ended(task, ["succeeded"])
        for task, rows in self.of_each_task().items():
            self.assertEqual([(row["state"], row["attempt"]) for row in rows],
                             [("succeeded", 2), ("lost", 1)], task)

    def test_lost_runs_wait_until_their_only_executor_restarts(self):
        executor = self.start_executor()
        tasks = [f"task-{number}" for number in range(20)]
        self.one.submit_all([self.pushed(task, 20_000) for task in tasks])
        wait_for("all of them to run", lambda: len(self.calls(executor)) == len(tasks))
        executor.kill()
        wait_for("the loss of all", lambda: len(self.one.rows("history", "--limit", 0, "--state", "lost")) == len(tasks), RECOVERED)
        self.one.submit_all([self.pushed("newcomer", 0)])
        time.sleep(5)
        self.assertEqual([row for row in self.one.history() if row["state"] != "lost"], [])
        again = self.start_executor(executor.port)
        wait_for("all of them to run", lambda: len(self.calls(again)) == 2 * len(tasks) + 1, RECOVERED)
        self.one.wait_ended("newcomer")

    def start_own_executor(self, port):
        executor = Program(
            [BIN / "tasktracker", "--tracker", "off", "--data", self.one.folder / "own",
             "--xxl-admin", f"http://127.0.0.1:{self.xxl_port}/xxl-job-admin", "--xxl-appname", APP,
             "--xxl-token", TOKEN, "--xxl-port", port],
            self.one.folder / "logs" / f"own-{port}.log", self.one.env, "tasktracker")
        self.one.workers.append(executor)
        executor.ready()
        return executor

    def test_runs_of_a_killed_carillon_executor_run_again(self):
        port = free_port()
        executor = self.start_own_executor(port)
        tasks = [f"task-{number}" for number in range(50)]
        self.one.submit_all([{**self.pushed(task, 0), "handler": "sleep", "payload": "5s"}
                             for task in tasks])
        folder = self.one.folder / "own/xxl-job/log"
        wait_for("all of them to run", lambda: len(list(folder.glob("*/*.log"))) == len(tasks))
        executor.kill()
        self.start_own_executor(port)
        for task in tasks:
            self.one.wait_ended(task, ["succeeded"])
        for task, rows in self.of_each_task().items():
            self.assertEqual([(row["state"], row["attempt"]) for row in rows],
                             [("succeeded", 2), ("lost", 1)], task)

    def test_no_fire_fails_when_one_of_two_executors_dies(self):
        both = [self.start_executor(), self.start_executor()]
        self.one.submit_all([self.pushed(f"task-{number}", 0, cron="* * * * * ?", route="ROUND")
                             for number in range(50)])
        wait_for("fires at both", lambda: all(len(self.calls(each)) >= 100 for each in both))
        both[0].kill()
        gone = time.time()
        calls = len(self.calls(both[1]))
        wait_for("ten seconds of fires at the other",
                 lambda: len(self.calls(both[1])) >= calls + 500, RECOVERED)
        for number in range(50):
            self.one.client("suspend", f"task-{number}", "--group", APP)
        wait_for("nothing to be under way", self.one.is_idle, 200)
        rows = self.one.history()
        states = collections.Counter(row["state"] for row in rows)
        # Only what it was running when it was killed is lost, and runs again.
        self.assertEqual(set(states) - {"succeeded", "lost", "skipped", "cancelled"}, set())
        late = [float(row["lateness_ms"]) for row in rows if row["state"] == "succeeded"
                and accounts.instant(row["trigger_time"]).timestamp() > gone + 1]
        say(f"fires after one executor was gone: {len(late)}, the latest by {max(late):.0f} ms")

    def test_burst_at_a_slow_executor_waits_without_failures(self):
        executor = self.start_executor(answer_ms=1000)
        tasks = [f"task-{number}" for number in range(600)]
        at = accounts.now() + datetime.timedelta(seconds=3)
        self.one.submit_all([self.pushed(task, 0, at=at.isoformat()) for task in tasks])
        wait_for("every job to end", lambda: len(self.one.history()) >= len(tasks), 3 * RECOVERED, 0.5)
        self.assertEqual({task: [row["state"] for row in rows]
                          for task, rows in self.of_each_task().items()},
                         {task: ["succeeded"] for task in tasks})
        self.assertEqual(len(self.calls(executor)), len(tasks))

    def test_cancelled_job_waiting_for_a_slow_executor_is_never_called(self):
        executor = self.start_executor(answer_ms=1500)
        tasks = [f"task-{number}" for number in range(600)]
        self.one.submit_all([self.pushed(task, 0, now=True) for task in tasks])
        wait_for("calls", lambda: self.calls(executor))
        # The last ones wait for a connection, minutes of others before them.
        for verb, task in (("kill", "task-599"), ("cancel", "task-598")):
            wait_for(f"{task} to be under way", lambda task=task: any(
                row["task_id"] == task and row["node"] for row in self.one.rows("executing")))
            self.one.client(verb, task, "--group", APP)
            row = self.one.wait_ended(task)
            self.assertEqual((row["state"], row["message"].partition(":")[2]), ("killed", " it was not called"))
        wait_for("every job to end", lambda: len(self.one.history()) >= len(tasks), 3 * RECOVERED, 0.5)
        self.assertEqual(collections.Counter(row["state"] for row in self.one.history()),
                         {"succeeded": len(tasks) - 2, "killed": 2})
        self.assertEqual(len(self.calls(executor)), len(tasks) - 2)

    def test_calls_waiting_for_a_slow_executor_survive_a_tracker_restart(self):
        executor = self.start_executor(answer_ms=1000)
        tasks = [f"task-{number}" for number in range(300)]
        self.one.submit_all([self.pushed(task, 0, now=True) for task in tasks])
        wait_for("calls", lambda: self.calls(executor))
        self.one.tracker.stop()
        self.start_tracker()
        wait_for("every job to end", lambda: len(self.one.history()) >= len(tasks), 90 + 3 * RECOVERED, 0.5)
        states = {task: [row["state"] for row in rows] for task, rows in self.of_each_task().items()}
        # But for those whose answer it did not wait for, each was called once and none is taken for lost.
        self.assertEqual(states, {task: ["succeeded"] for task in tasks})
        self.assertEqual(len(self.calls(executor)), len(tasks))

    def test_silent_executor_delays_no_other_fires_under_load(self):
        silent = SilentServer()
        self.addCleanup(silent.close)
        self.one.client("groups", "add", "stuck", "--executor", "--address", silent.url)
        fires = {"every": "1s", "count": 10, "overlap": "parallel", "misfire": "fire_all"}
        self.one.submit_all([self.pushed(f"stuck-{number}", 0, **fires, group="stuck")
                             for number in range(100)])
        wait_for("requests that hang", lambda: silent.connections)
        executor = self.start_executor()
        busy = slowness()
        tasks = [f"task-{number}" for number in range(1000)]
        self.one.submit_all([self.pushed(task, 0, **fires) for task in tasks])
        wait_for("ten fires of each", lambda: len(self.calls(executor)) >= 10 * len(tasks),
                 3 * RECOVERED)

        def ended():
            rows = self.one.history(None, "--group", APP)
            return rows if len(rows) >= 10 * len(tasks) else None

        rows = wait_for("their results", ended, 3 * RECOVERED, 1)
        self.assertEqual(collections.Counter(row["state"] for row in rows),
                         {"succeeded": 10 * len(tasks)})
        of_each = collections.Counter(call.job for call in self.calls(executor))
        self.assertEqual((len(of_each), set(of_each.values())), (len(tasks), {10}))
        late = sorted(float(row["lateness_ms"]) for row in rows)
        say(f"lateness beside one that hangs: p50 {late[len(late) // 2]:.0f} ms, "
            f"p99 {late[len(late) * 99 // 100]:.0f} ms, the most {late[-1]:.0f} ms")
        self.assertLess(late[-1], 10_000 * max(busy, slowness()))
        # It was called, may run what it was told, and what waits for it has not failed.
        self.assertEqual(self.one.history(None, "--group", "stuck"), [])


if __name__ == "__main__":
    harness.main()
