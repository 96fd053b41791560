#!/usr/bin/env python3
"""Jobs that are pushed to executors of xxl-job: a job tracker as their admin, and our own task
tracker as the executor."""

import http.client
import json
import pathlib
import time

import harness
from harness import BIN, E2eTest, Program, free_port, slowness, wait_for
from silent_server import SilentServer

APP = "billing"
TOKEN = "default_token"


class PushTest(E2eTest):
    def setUp(self):
        super().setUp()
        self.xxl_port = free_port()
        self.one = self.cluster(tracker=False)
        self.start_tracker()
        self.lives = 0

    def start_tracker(self):
        self.one.start_tracker("--xxl-listen", f"127.0.0.1:{self.xxl_port}", "--xxl-token", TOKEN)

    def start_executor(self, registered=True):
        self.lives += 1
        name = f"executor-{self.lives}"
        executor = Program(
            [BIN / "tasktracker", "--tracker", "off",
             "--xxl-admin", f"http://127.0.0.1:{self.xxl_port}/xxl-job-admin",
             "--xxl-appname", APP, "--xxl-port", 0, "--xxl-token", TOKEN,
             "--data", self.one.folder / "data" / name],
            self.one.folder / "logs" / f"{name}.log", self.one.env, "tasktracker")
        executor.data = self.one.folder / "data" / name
        self.one.workers.append(executor)
        executor.address = executor.ready()["xxl"]
        if registered:
            wait_for("the registration", lambda: executor.address in self.addresses())
        return executor

    def addresses(self):
        return [row["address"] for row in self.one.rows("nodes") if row.get("kind") == "executor"]

    def call(self, path, body, token=TOKEN, app=None):
        """What the job tracker answers an executor."""
        connection = http.client.HTTPConnection("127.0.0.1", self.xxl_port, timeout=30)
        try:
            headers = {"Content-Type": "application/json"}
            if token is not None:
                headers["XXL-JOB-ACCESS-TOKEN"] = token
            if app is not None:
                headers["XXL-JOB-APPNAME"] = app
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            return json.loads(answer.read())
        finally:
            connection.close()

    def register(self, app, address):
        answer = self.call("/api/registry", {"registryGroup": "EXECUTOR", "registryKey": app,
                                             "registryValue": address})
        self.assertEqual(answer["code"], 200, answer)

    def push(self, task_id, handler, payload="", *flags, group=APP):
        return self.one.submit("--task-id", task_id, "--group", group, "--dispatch", "push",
                               "--handler", handler, "--payload", payload, *flags)

    def runs(self, executor):
        """How many triggers an executor took: each has a log file."""
        return len(list(pathlib.Path(executor.data, "xxl-job", "log").glob("*/*.log")))

    def test_job_is_pushed_and_its_result_is_recorded(self):
        executor = self.start_executor()
        self.push("hello", "echo", "day=1, 日")
        ended = self.one.wait_ended("hello")
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 1))
        self.assertEqual(ended["node"], executor.address)
        self.assertEqual(self.runs(executor), 1)
        self.push("unknown", "nosuch")
        self.assertEqual(self.one.wait_ended("unknown")["state"], "failed")
        self.assertIn("nosuch", self.one.history("unknown")[-1]["message"])

    def test_executor_that_deregisters_gets_no_more_fires(self):
        executor = self.start_executor()
        self.push("every", "echo", "x", "--every", "200ms")
        wait_for("some runs", lambda: len(self.one.history("every")) >= 5)
        self.assertEqual(executor.stop(), 0)
        wait_for("the end of the registration", lambda: not self.addresses())
        self.assertEqual([row for row in self.one.history("every") if row["state"] != "succeeded"],
                         [])

    def test_killed_job_tracker_loses_and_duplicates_no_runs(self):
        executor = self.start_executor()
        tasks = [f"task-{i}" for i in range(20)]
        for task in tasks:
            self.push(task, "sleep", "3s")
        wait_for("all of them at the executor", lambda: self.runs(executor) == 20)
        self.one.tracker.kill()
        # Results come while it is away.
        time.sleep(4)
        self.start_tracker()
        for task in tasks:
            ended = self.one.wait_ended(task)
            self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 1), task)
            self.assertEqual(len(self.one.history(task)), 1)
        self.assertEqual(self.runs(executor), 20)
        self.assertTrue(self.one.is_idle())

    def test_hanging_executor_delays_no_other_executor(self):
        silent = SilentServer()
        self.addCleanup(silent.close)
        executor = self.start_executor()
        self.register("stuck", silent.url)
        stuck = [{"task_id": f"stuck-{i}", "group": "stuck", "dispatch": "push", "handler": "x"}
                 for i in range(200)]
        self.one.submit_all(stuck)
        wait_for("requests that hang", lambda: silent.connections)
        at = time.monotonic()
        good = [{"task_id": f"good-{i}", "group": APP, "dispatch": "push", "handler": "echo"}
                for i in range(200)]
        self.one.submit_all(good)
        wait_for("all the others", lambda: len(self.one.history(None, "--group", APP)) == 200)
        self.assertLess(time.monotonic() - at, 5 * slowness())
        self.assertTrue(all(row["state"] == "succeeded"
                            for row in self.one.history(None, "--group", APP)))
        self.assertEqual(self.runs(executor), 200)
        self.assertEqual(self.one.history(None, "--group", "stuck"), [])

    def test_killed_executors_runs_fail_over_within_ten_seconds(self):
        both = [self.start_executor(), self.start_executor()]
        tasks = [f"task-{i}" for i in range(5)]
        for task in tasks:
            self.push(task, "sleep", "1s", "--route", "LAST")
            self.push(f"long-{task}", "sleep", "15s", "--route", "LAST")
        used = max(both, key=lambda each: each.address)
        wait_for("all of them there", lambda: self.runs(used) == 10)
        for task in tasks:
            self.one.wait_ended(task)
        at = used.kill()
        other = min(both, key=lambda each: each.address)
        wait_for("all of them at the other", lambda: self.runs(other) == 5)
        self.assertLess(time.monotonic() - at, 10 * slowness())
        for task in tasks:
            ended = self.one.wait_ended(f"long-{task}", ["succeeded"])
            self.assertEqual((ended["node"], ended["attempt"]), (other.address, 2))
            self.assertEqual([row["state"] for row in self.one.history(task)], ["succeeded"])

    def test_broadcast_runs_once_on_each_executor(self):
        all_three = [self.start_executor() for _ in range(3)]
        self.push("everywhere", "echo", "", "--route", "SHARDING_BROADCAST")
        wait_for("the end", lambda: APP in [row["node"] for row in self.one.history("everywhere")])
        rows = self.one.history("everywhere")
        self.assertEqual({row["state"] for row in rows}, {"succeeded"})
        self.assertEqual(sorted(row["node"] for row in rows),
                         sorted([APP, *(each.address for each in all_three)]))
        self.assertEqual([self.runs(each) for each in all_three], [1, 1, 1])

    def test_log_is_read_from_the_executor(self):
        self.start_executor()
        self.push("slow", "sleep", "5s")
        wait_for("the log of what runs",
                 lambda: "starts" in self.one.client("logs", "slow", "--group", APP).out)
        self.assertEqual(self.one.history("slow"), [])
        self.push("wordy", "echo", "day=1, 日")
        self.one.wait_ended("wordy")
        self.assertIn("day=1, 日\n", self.one.client("logs", "wordy", "--group", APP).out)
        followed = self.one.client("logs", "-f", "slow", "--group", APP)
        self.assertEqual(followed.out.count("starts"), 1)
        # Of what has ended the history says where it was.
        self.one.tracker.kill()
        self.start_tracker()
        self.assertIn("day=1, 日\n", self.one.client("logs", "wordy", "--group", APP).out)

    def manage(self, verb, app=APP, **fields):
        answer = self.call(f"/api/{verb}", fields, app=app)
        self.assertEqual(answer["code"], 200, answer)
        return answer["data"]

    def test_an_executor_manages_the_jobs_of_its_app(self):
        executor = self.start_executor()

        def state():
            return {row["description"]: row["state"] for row in self.one.rows("list")}

        job = int(self.manage("addJob", jobGroup=1, name="Hourly", author="ann", scheduleType="CRON",
                              scheduleConf="0 0 * * * ?", executorHandler="echo", executorParam="a",
                              glueType="BEAN", executorRouteStrategy="FIRST"))
        self.assertEqual(state(), {"Hourly": "suspended"})
        self.manage("startJob", id=job)
        self.assertEqual(state(), {"Hourly": "active"})
        self.manage("triggerJob", id=job, executorParam="by hand", addressList=executor.address)
        ended = wait_for("the run", self.one.history)
        self.assertEqual(ended[0]["state"], "succeeded")
        self.assertIn("by hand", self.one.client("logs", "--job", ended[0]["job_id"]).out)
        self.manage("stopJob", id=job)
        self.manage("updateJob", id=job, name="Daily", author="ann", scheduleType="CRON",
                    scheduleConf="0 0 3 * * ?", executorHandler="echo")
        self.assertEqual(state(), {"Daily": "suspended"})
        answer = self.call("/api/stopJob", {"id": job}, app="other")
        self.assertEqual((answer["code"], answer["msg"]), (500, f"job {job} of other does not exist"))
        self.manage("removeJob", app="other", id=job)
        self.assertEqual(state(), {"Daily": "suspended"})
        self.manage("removeJob", id=job)
        self.assertEqual(state(), {})
        answer = self.call("/api/addJob", {"name": "Never", "author": "ann", "scheduleType": "CRON",
                                           "scheduleConf": "nonsense", "executorHandler": "echo"},
                           app=APP)
        self.assertEqual(answer["code"], 500)
        self.assertIn("nonsense", answer["msg"])

    def test_changed_script_replaces_the_run_and_can_be_restored(self):
        executor = self.start_executor()
        script = self.one.folder / "script.sh"

        def write(text):
            script.write_text(text)
            return ["--file", str(script), "--group", APP]

        def run(text):
            """Triggers a run and waits until it has ended and written so."""
            before = {row["job_id"] for row in self.one.history("glue")}
            job = self.one.client("-o", "json", "trigger", "glue", "--group", APP).json()["job_id"]
            wait_for("its end", lambda: any(row["job_id"] == job and row["job_id"] not in before
                                            for row in self.one.history("glue")))
            self.assertIn(text, self.one.client("logs", "--job", job).out)

        script.write_text("echo first; sleep 600\n")
        self.one.submit("--task-id", "glue", "--group", APP, "--dispatch", "push", "--manual",
                        "--overlap", "parallel", "--language", "bash", "--script", str(script))
        long = self.one.client("-o", "json", "trigger", "glue", "--group", APP).json()["job_id"]
        wait_for("the first run", lambda: self.runs(executor) == 1)
        self.one.client("scripts", "set", "glue", *write("echo second\n"), "--remark", "shorter")
        run("second")
        # The executor has ended what ran before it took the new script.
        ended = wait_for("the end of the first run", lambda: [
            row for row in self.one.history("glue") if row["job_id"] == long])
        self.assertNotEqual(ended[0]["state"], "succeeded")
        versions = self.one.client("-o", "jsonl", "scripts", "list", "glue", "--group", APP).lines()
        self.assertEqual([(row["remark"], row["used"]) for row in versions],
                         [("shorter", True), ("", False)])
        self.one.client("scripts", "set", "glue", *write("echo third\n"))
        run("third")
        self.one.client("scripts", "restore", "glue", "--group", APP, "--number",
                        str(versions[0]["version"]))
        run("second")
        self.assertEqual(self.one.client("scripts", "show", "glue", "--group", APP).out,
                         "echo second\n")

    def test_group_without_jobs_can_be_removed(self):
        self.one.client("groups", "add", "spare", "--executor", "--address", "http://127.0.0.1:1/")
        self.one.submit("--task-id", "later", "--group", "spare", "--handler", "echo", "--at", "+1h")
        refused = self.one.client("groups", "remove", "spare", status=None)
        self.assertNotEqual(refused.status, 0)
        self.assertIn("0 defined, 1 waiting, 0 executing", refused.err)
        self.one.client("cancel", "later", "--group", "spare")
        self.one.client("groups", "remove", "spare")
        self.assertNotIn("spare", [row["group"] for row in self.one.rows("groups")])
        refused = self.one.client("groups", "add", "spare", "--executor", "--address",
                                  "http://169.254.169.254/", status=None)
        self.assertIn("link-local or metadata address", refused.err)

    def test_group_with_jobs_is_not_removed_and_keeps_running(self):
        self.start_executor()

        def is_refused(jobs, group=APP):
            refused = self.one.client("groups", "remove", group, status=1)
            self.assertIn(jobs, refused.err)
            self.assertIn(group, [row["group"] for row in self.one.rows("groups")])

        def runs(task_id):
            self.assertEqual(self.one.wait_ended(task_id)["state"], "succeeded")

        self.push("executing", "sleep", "3s")
        wait_for("it to run", lambda: self.one.rows("executing"))
        is_refused("0 defined, 0 waiting, 1 executing")
        runs("executing")
        wait_for("its end", self.one.is_idle)

        self.push("waiting", "echo", "x", "--at", "+1h")
        is_refused("0 defined, 1 waiting, 0 executing")
        self.one.client("suspend", "waiting", "--group", APP)
        is_refused("0 defined, 1 waiting, 0 executing")
        self.assertEqual([(row["task_id"], row["state"]) for row in self.one.rows("waiting")],
                         [("waiting", "suspended")])
        self.one.client("resume", "waiting", "--group", APP)
        self.one.client("trigger", "waiting", "--group", APP)
        runs("waiting")
        wait_for("its end", self.one.is_idle)

        self.push("defined", "echo", "x", "--manual")
        is_refused("1 defined, 0 waiting, 0 executing")
        self.one.client("suspend", "defined", "--group", APP)
        is_refused("1 defined, 0 waiting, 0 executing")
        self.one.client("resume", "defined", "--group", APP)
        self.one.client("trigger", "defined", "--group", APP)
        runs("defined")
        self.one.client("cancel", "defined", "--group", APP)

        # Of task trackers none is removed, whether it has jobs or not.
        self.one.submit("--task-id", "pulled", "--group", "pulling", "--handler", "noop")
        is_refused("a group of task trackers needs no removal", "pulling")
        self.one.start_worker("--group", "pulling")
        runs("pulled")
        wait_for("the last end", self.one.is_idle)
        self.one.client("groups", "remove", APP)

    def test_registration_requires_the_token(self):
        body = {"registryGroup": "EXECUTOR", "registryKey": APP,
                "registryValue": "http://127.0.0.1:1/"}
        for path in ("/api/registry", "/xxl-job-admin/api/registry"):
            for token in (None, "", "wrong"):
                answer = self.call(path, body, token)
                self.assertEqual((answer["code"], answer["msg"]),
                                 (500, "The access token is wrong."))
        self.assertEqual(self.addresses(), [])
        self.assertIn("rejected a request", self.one.tracker.log())


if __name__ == "__main__":
    harness.main()
