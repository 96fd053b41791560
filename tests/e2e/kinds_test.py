"""Every kind of job, and everything that can be done to one, on both stores."""

import datetime
import json
import os
import time
import unittest

import accounts
import harness
from harness import BothStores, E2eTest, wait_for

UTC = datetime.timezone.utc

# What a row has at least, by verb.
FIELDS = {
    "list": "task_id group kind schedule tz dst state next_fire last_fire priority overlap",
    "waiting": "job_id task_id group trigger_time priority attempt kind",
    "executing": "job_id task_id group attempt node trigger_time started_at lease_until",
    "history": "job_id task_id group attempt state trigger_time started_at ended_at lateness_ms "
               "node exit_code message count",
    "nodes": "name kind group address state threads free last_seen",
    "groups": "group kind waiting executing due nodes",
}


def soon(seconds):
    at = datetime.datetime.now(UTC) + datetime.timedelta(seconds=seconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Kinds:
    """When jobs run."""

    def setUp(self):
        super().setUp()
        self.one = self.cluster(self.store, workers=1)

    def ends(self, task_id, count, states=("succeeded",)):
        """The first `count` ends of a task, oldest first."""
        def found():
            rows = [row for row in self.one.history(task_id) if row["state"] in states]
            return rows if len(rows) >= count else None
        rows = wait_for(f"{count} ends of {task_id}", found)
        return sorted(rows, key=lambda row: (row["trigger_time"], row["ended_at"]))[:count]

    def test_a_now_job_runs_at_once(self):
        answer = self.one.submit("--task-id", "now", "--", "echo", "hello").json()
        self.assertEqual((answer["task_id"], answer["group"], answer["status"]),
                         ("now", "default", "accepted"))
        row = self.one.wait_ended("now")
        self.assertEqual((row["state"], row["attempt"], row["exit_code"], row["job_id"]),
                         ("succeeded", 1, 0, answer["job_id"]))
        self.assertEqual(self.one.client("logs", "now").out, "hello\n")

    def test_an_at_job_runs_at_its_time_and_not_before(self):
        at = soon(2)
        self.one.submit("--task-id", "at", "--at", at, "--", "true")
        row = self.one.rows("waiting")[0]
        self.assertEqual((row["task_id"], row["trigger_time"], row["kind"]), ("at", at, "at"))
        ended = self.one.wait_ended("at")
        self.assertEqual(ended["trigger_time"], at)
        self.assertGreaterEqual(ended["started_at"], at)

    def test_cron_fires_in_its_time_zone(self):
        answer = self.one.submit("--task-id", "cron", "--cron", "*/2 * * * * ?", "--tz",
                                 "Asia/Shanghai", "--", "true").json()
        self.assertEqual(answer["tz"], "Asia/Shanghai")
        row = next(row for row in self.one.rows("list") if row["task_id"] == "cron")
        self.assertEqual((row["kind"], row["schedule"], row["tz"], row["state"], row["dst"]),
                         ("cron", "*/2 * * * * ?", "Asia/Shanghai", "active", "auto"))
        for row in self.ends("cron", 3):
            self.assertRegex(row["trigger_time"], r":\d[02468]\.000Z$")

    def test_cron_in_a_time_zone_fires_at_the_local_hour(self):
        self.one.submit("--task-id", "noon", "--cron", "0 12 * * *", "--tz", "Asia/Kolkata", "--", "true")
        row = next(row for row in self.one.rows("list") if row["task_id"] == "noon")
        self.assertRegex(row["next_fire"], r"T06:30:00\.000Z$")

    def test_every_with_count_keeps_its_grid_and_frees_its_id(self):
        self.one.submit("--task-id", "every", "--every", "500ms", "--count", "4", "--", "true")
        rows = self.ends("every", 4)
        times = [accounts.instant(row["trigger_time"]) for row in rows]
        for earlier, later in zip(times, times[1:]):
            self.assertEqual((later - earlier).total_seconds() % 0.5, 0)
        wait_for("the definition to be gone", lambda: not self.one.rows("list"))
        self.assertEqual(len([row for row in self.one.history("every") if row["state"] == "succeeded"]), 4)
        self.assertEqual(self.one.submit("--task-id", "every", "--", "true").json()["status"], "accepted")

    def test_every_begins_at_its_first_time(self):
        first = soon(2)
        self.one.submit("--task-id", "first", "--every", "1h", "--first", first, "--", "true")
        self.assertEqual(self.ends("first", 1)[0]["trigger_time"], first)

    def test_fixed_delay_counts_from_the_end_of_a_run(self):
        self.one.submit("--task-id", "delay", "--fixed-delay", "300ms", "--count", "3",
                        "--shell", "sleep 0.4")
        rows = self.ends("delay", 3)
        for before, after in zip(rows, rows[1:]):
            gap = accounts.instant(after["started_at"]) - accounts.instant(before["ended_at"])
            self.assertGreaterEqual(gap.total_seconds(), 0.299)

    def test_parallel_lets_runs_overlap(self):
        gate = self.folder / "gate"
        self.one.submit("--task-id", "parallel", "--every", "500ms", "--count", "2", "--overlap",
                        "parallel", "--shell", f"while ! test -e {gate}; do sleep 0.05; done")
        wait_for("two runs at a time", lambda: len(self.one.rows("executing")) == 2)
        gate.touch()
        self.ends("parallel", 2)

    def test_skip_overlap_skips_and_counts_fires_during_a_run(self):
        gate = self.folder / "gate"
        self.one.submit("--task-id", "skip", "--cron", "* * * * * ?", "--tz", "UTC",
                        "--shell", f"while ! test -e {gate}; do sleep 0.05; done")
        wait_for("a run", lambda: self.one.rows("executing"))
        time.sleep(3)
        self.assertEqual(len(self.one.rows("executing")), 1)
        gate.touch()
        self.ends("skip", 3)
        self.one.client("suspend", "skip")
        wait_for("its end", self.one.is_idle)
        rows = self.one.history("skip")
        self.assertTrue([row for row in rows if row["state"] == "skipped" and row["count"] >= 2])
        first, last = accounts.first_end_and_last_run(rows)
        demanded = accounts.every_seconds(1, first - accounts.SECOND, accounts.now())
        self.assertEqual(accounts.account(demanded, rows, last), [])

    def test_queue_overlap_runs_queued_fires_one_at_a_time(self):
        self.one.submit("--task-id", "queue", "--every", "200ms", "--count", "5", "--overlap", "queue",
                        "--shell", "sleep 0.5")
        rows = self.ends("queue", 5)
        self.assertEqual({row["state"] for row in self.one.history("queue")}, {"succeeded"})
        for before, after in zip(rows, rows[1:]):
            self.assertGreaterEqual(after["started_at"], before["ended_at"])
        self.assertEqual(sorted(row["trigger_time"] for row in rows), [r["trigger_time"] for r in rows])

    def test_cancel_running_overlap_stops_the_previous_run(self):
        self.one.submit("--task-id", "cover", "--every", "1s", "--overlap", "cancel_running", "--",
                        "sleep", "30")
        rows = self.ends("cover", 3, ("killed",))
        self.assertEqual(len({row["trigger_time"] for row in rows}), 3)
        for row, after in zip(rows, rows[1:]):
            self.assertLessEqual(row["ended_at"], after["started_at"])

    def test_queue_one_keeps_the_latest_fire(self):
        self.one.submit("--task-id", "latest", "--every", "500ms", "--count", "3", "--overlap",
                        "queue_one", "--", "sleep", "1.7")
        rows = self.ends("latest", 3)
        for row, after in zip(rows, rows[1:]):
            self.assertLessEqual(row["ended_at"], after["started_at"])
        skipped = [row for row in self.one.history("latest") if row["state"] == "skipped"]
        self.assertGreaterEqual(len(skipped), 2)
        wait_for("its task id to be free", lambda: not self.one.rows("list"))

    def test_a_manual_job_runs_only_by_trigger_with_either_payload(self):
        self.one.submit("--task-id", "manual", "--manual", "--payload", "its own", "--", "cat")
        row = self.one.rows("list")[0]
        self.assertEqual((row["kind"], row["state"], row["next_fire"]), ("manual", "active", None))
        self.assertEqual(self.one.client("trigger", "manual", "--wait").out, "its own")
        self.assertEqual(self.one.client("trigger", "manual", "--wait", "--payload", "another").out,
                         "another")
        self.assertEqual(len(self.one.history("manual")), 2)
        self.assertEqual(len(self.one.rows("list")), 1)

    def test_jobs_run_by_priority_then_due_time_then_creation(self):
        self.one.workers[0].stop()
        jobs = [{"task_id": f"p{priority}-{number}", "priority": priority, "command": ["true"]}
                for number, priority in enumerate([500, 100, 0, 999, 100, 0])]
        self.one.submit_all(jobs)
        self.one.start_worker(threads=1)
        wait_for("all", lambda: len(self.one.history()) == 6)
        # Two may have begun in the same millisecond: the history has the newest first.
        oldest_first = reversed(self.one.history())
        ran = [row["task_id"] for row in sorted(oldest_first, key=lambda row: row["started_at"])]
        self.assertEqual(ran, ["p0-2", "p0-5", "p100-1", "p100-4", "p500-0", "p999-3"])


class Runs:
    """What a run sees and says, and what it comes to."""

    def setUp(self):
        super().setUp()
        self.one = self.cluster(self.store, workers=1)

    def test_a_run_receives_its_environment_variables_and_payload(self):
        self.one.submit("--task-id", "seen", "--group", "DEFAULT", "--param", "day-of.month=7",
                        "--payload", "line\nline", "--shell", "env | sort; cat")
        row = self.one.wait_ended("seen")
        out = self.one.client("logs", "seen").out
        self.assertTrue(out.endswith("line\nline"))
        seen = dict(line.split("=", 1) for line in out.splitlines() if line.startswith("CARILLON_"))
        self.assertEqual(seen, {
            "CARILLON_TASK_ID": "seen", "CARILLON_JOB_ID": row["job_id"], "CARILLON_ATTEMPT": "1",
            "CARILLON_GROUP": "default", "CARILLON_NODE": "worker-1",
            "CARILLON_TRIGGER_TIME": row["trigger_time"], "CARILLON_PARAM_DAY_OF_MONTH": "7",
            "CARILLON_TRACKER": f"tcp://127.0.0.1:{self.one.port}"})

    def test_commands_run_without_a_shell_and_keep_binary_payloads(self):
        self.one.submit("--task-id", "argv", "--", "printf", "%s|", "a b", "$HOME", "*", "")
        self.one.wait_ended("argv")
        self.assertEqual(self.one.client("logs", "argv").out, "a b|$HOME|*||")
        self.one.submit_all([{"task_id": "bytes", "payload_base64": "AP8KAA==", "command": ["od", "-An", "-tx1"]}])
        self.one.wait_ended("bytes")
        self.assertEqual(self.one.client("logs", "bytes").out.split(), ["00", "ff", "0a", "00"])

    def test_scripts_handlers_and_shell_lines_run(self):
        self.one.submit_all([
            {"task_id": "python", "script": {"language": "python", "source": "print(6 * 7)"}},
            {"task_id": "sh", "script": {"language": "sh", "source": "echo $((6 * 7))"}},
            {"task_id": "shell", "shell": "echo 42 | tee /dev/stderr >/dev/null"},
            {"task_id": "handler", "handler": "echo", "payload": "42"}])
        for task in ("python", "sh", "shell", "handler"):
            with self.subTest(task):
                self.assertEqual(self.one.wait_ended(task)["state"], "succeeded")
                answer = self.one.client("logs", task)
                self.assertEqual((answer.out + answer.err).strip(), "42")

    def test_output_is_readable_and_followed_while_the_job_runs(self):
        gate = self.folder / "gate"
        self.one.submit("--task-id", "talks", "--shell",
                        f"echo first; while ! test -e {gate}; do sleep 0.05; done; echo last")
        wait_for("output", lambda: self.one.client("logs", "talks", status=None).out == "first\n")
        self.assertTrue(self.one.rows("executing"))
        gate.touch()
        self.assertEqual(self.one.client("logs", "-f", "talks").out, "first\nlast\n")

    def test_output_beyond_the_limit_is_truncated_and_reported(self):
        self.one.start_worker("--group", "small", "--output-max", "1000", name="small")
        self.one.submit("--task-id", "big", "--group", "small", "--shell", "seq 1 100000")
        self.assertEqual(self.one.wait_ended("big")["state"], "succeeded")
        kept = self.one.client("logs", "big", "--group", "small")
        self.assertTrue(kept.out.startswith("1\n2\n3\n"))
        self.assertLessEqual(len(kept.out), 1000)
        self.assertRegex(kept.err, "1000 bytes")

    def test_exit_statuses_75_76_and_others_have_their_documented_effect(self):
        flag = self.folder / "again"
        self.one.submit_all([
            {"task_id": "later", "shell": f"echo $CARILLON_TRIGGER_TIME; test -e {flag} || {{ touch {flag}; exit 75; }}"},
            {"task_id": "final", "shell": "exit 76", "retries": {"max": 3, "base": "100ms"}},
            {"task_id": "fails", "shell": "exit 9", "retries": {"max": 2, "base": "100ms"}},
            {"task_id": "signal", "shell": "kill -SEGV $$"},
            {"task_id": "nothing", "command": ["/no/such/program"]}])
        self.assertEqual(self.one.wait_ended("later")["exit_code"], 75)
        waits = wait_for("its second time", lambda: [r for r in self.one.rows("waiting") if r["task_id"] == "later"])
        self.assertGreater(accounts.instant(waits[0]["due_time"]), accounts.now(), "later, not at once")
        self.one.client("trigger", "later")
        wait_for("its success", lambda: [(r["attempt"], r["state"]) for r in self.one.history("later")]
                 == [(2, "succeeded"), (1, "later")])
        seen = self.one.client("logs", "later").out.split()
        self.assertEqual(seen, [r["trigger_time"] for r in self.one.history("later")])
        self.assertEqual(seen[0], seen[1], "one job has one trigger time")
        wait_for("three failures", lambda: len(self.one.history("fails")) == 3)
        self.assertEqual([(r["attempt"], r["state"], r["exit_code"]) for r in reversed(self.one.history("fails"))],
                         [(1, "failed", 9), (2, "failed", 9), (3, "failed", 9)])
        for task, code in (("final", 76), ("signal", None), ("nothing", None)):
            with self.subTest(task):
                self.one.wait_ended(task)
                rows = self.one.history(task)
                self.assertEqual([row["state"] for row in rows], ["failed"])
                if code:
                    self.assertEqual(rows[0]["exit_code"], code)
                else:
                    self.assertTrue(rows[0]["message"])
        wait_for("rest", self.one.is_idle)

    def test_a_timeout_kills_the_process_group_and_counts_as_failure(self):
        pids = self.folder / "pids"
        self.one.submit("--task-id", "slow", "--timeout", "700ms", "--retries", "1", "--retry-base", "100ms",
                        "--shell", f"(sleep 600 & echo $! >> {pids}; wait) & echo $! >> {pids}; wait")
        wait_for("two time-outs", lambda: len(self.one.history("slow")) == 2)
        self.assertEqual({row["state"] for row in self.one.history("slow")}, {"timed_out"})
        children = [int(pid) for pid in pids.read_text().split()]
        self.assertEqual(len(children), 4)
        wait_for("no grandchild left", lambda: not [p for p in children if os.path.exists(f"/proc/{p}")])

    def test_a_job_waits_for_a_worker_that_accepts_its_kind(self):
        self.one.start_worker("--group", "careful", "--allow", "handler", name="careful")
        self.one.submit_all([{"task_id": "command", "group": "careful", "command": ["true"]},
                             {"task_id": "shell", "group": "careful", "shell": "true"},
                             {"task_id": "handler", "group": "careful", "handler": "noop"}])
        self.assertEqual(self.one.wait_ended("handler")["state"], "succeeded")
        shown = self.one.client("-o", "json", "show", "shell", "--group", "careful").json()
        self.assertEqual(shown["state"], "waiting")
        self.assertRegex(shown["reason"], "accepts jobs of kind shell")
        self.one.start_worker("--group", "careful", "--allow", "handler,command,shell", name="open")
        for task in ("command", "shell"):
            row = self.one.wait_ended(task)
            self.assertEqual((row["state"], row["node"], row["attempt"]), ("succeeded", "open", 1))


class Acts:
    """What is done to jobs, and what is said about them."""

    def setUp(self):
        super().setUp()
        self.one = self.cluster(self.store, workers=1)
        self.gate = self.folder / "gate"
        self.wait_line = f"while ! test -e {self.gate}; do sleep 0.05; done"

    def executing(self, task_id):
        return wait_for(f"{task_id} to execute", lambda: [
            row for row in self.one.rows("executing") if row["task_id"] == task_id])[0]

    def state_of(self, task_id):
        return next((row["state"] for row in self.one.rows("list") if row["task_id"] == task_id), None)

    def test_rows_have_the_documented_fields(self):
        self.one.submit("--task-id", "ends", "--", "true")
        self.one.wait_ended("ends")
        self.one.submit("--task-id", "runs", "--shell", self.wait_line)
        self.executing("runs")
        self.one.submit("--task-id", "defined", "--cron", "0 0 1 1 *", "--", "true")
        self.one.submit("--task-id", "waits", "--at", "+9m", "--", "true")
        for verb, fields in FIELDS.items():
            with self.subTest(verb):
                rows = self.one.rows(verb)
                self.assertTrue(rows)
                self.assertEqual(set(fields.split()) - set(rows[0]), set())
                array = json.loads(self.one.client("-o", "json", verb).out)
                self.assertEqual([set(row) for row in array], [set(row) for row in rows])
        for task in ("defined", "waits", "runs"):
            shown = self.one.client("-o", "json", "show", task).json()
            self.assertIsInstance(shown, dict)
        stats = self.one.stats()
        self.assertEqual(stats["jobs_submitted_total"], 4)
        self.assertTrue(all(isinstance(value, (int, float)) for value in stats.values()))
        run = self.executing("runs")
        self.assertEqual((run["node"], run["attempt"]), ("worker-1", 1))
        self.assertGreater(run["lease_until"], run["started_at"])
        group = self.one.rows("groups")[0]
        self.assertEqual((group["executing"], group["waiting"], group["nodes"]), (1, 2, 1))
        node = wait_for("the node to be listed", lambda: next(
            (row for row in self.one.rows("nodes") if row["kind"] == "tasktracker"), None))
        self.assertEqual((node["name"], node["state"], node["threads"]), ("worker-1", "alive", 2))

    def test_kill_ends_the_process_group_but_keeps_the_definition(self):
        pids = self.folder / "pids"
        self.one.submit("--task-id", "victim", "--every", "1h", "--retries", "3",
                        "--shell", f"sleep 600 & echo $! > {pids}; wait")
        self.executing("victim")
        wait_for("its child", lambda: pids.exists() and pids.read_text().strip())
        self.one.client("kill", "victim")
        self.assertEqual(self.one.wait_ended("victim")["state"], "killed")
        self.assertEqual(len(self.one.history("victim")), 1, "a killed run is not tried again")
        self.assertEqual(self.state_of("victim"), "active")
        child = int(pids.read_text())
        wait_for("the child's end", lambda: not os.path.exists(f"/proc/{child}"))

    def test_a_run_can_be_killed_by_job_id(self):
        job = self.one.submit("--task-id", "one", "--", "sleep", "600").json()["job_id"]
        self.executing("one")
        self.one.client("kill", "--job", job)
        self.assertEqual(self.one.wait_ended("one")["state"], "killed")

    def test_cancel_ends_waiting_executing_and_defined_jobs(self):
        self.one.submit("--task-id", "waits", "--at", "+1h", "--", "true")
        self.one.client("cancel", "waits")
        self.assertEqual([(r["state"], r["attempt"]) for r in self.one.history("waits")], [("cancelled", 0)])
        self.one.submit("--task-id", "runs", "--every", "1s", "--retries", "5", "--", "sleep", "600")
        self.executing("runs")
        self.one.client("cancel", "runs")
        wait_for("its end", self.one.is_idle)
        self.assertIsNone(self.state_of("runs"))
        self.assertEqual({r["state"] for r in self.one.history("runs")}, {"killed", "cancelled"})
        self.assertEqual(self.one.submit("--task-id", "runs", "--", "true").json()["status"], "accepted")

    def test_a_suspended_job_never_fires_until_it_is_resumed(self):
        self.one.submit("--task-id", "often", "--cron", "* * * * * ?", "--overlap", "parallel", "--", "true")
        wait_for("a run", lambda: self.one.history("often"))
        self.one.client("suspend", "often")
        self.assertEqual(self.state_of("often"), "suspended")
        wait_for("nothing to be under way", self.one.is_idle)
        before = len(self.one.history("often"))
        time.sleep(2.5)
        self.assertEqual(len(self.one.history("often")), before)
        self.one.client("suspend", "often", status=1)
        self.one.client("resume", "often")
        self.assertEqual(self.state_of("often"), "active")
        wait_for("runs again", lambda: len(self.one.history("often")) > before + 1)

    def test_a_suspended_one_shot_job_waits_until_it_is_resumed(self):
        self.one.submit("--task-id", "once", "--at", "+1s", "--", "true")
        self.one.client("suspend", "once")
        time.sleep(2)
        self.assertEqual(self.one.history("once"), [])
        self.one.client("resume", "once")
        self.assertEqual(self.one.wait_ended("once")["state"], "succeeded")

    def test_trigger_obeys_overlap_unless_forced_and_keeps_the_next_fire(self):
        self.one.submit("--task-id", "yearly", "--cron", "0 0 1 1 *", "--tz", "UTC", "--shell", self.wait_line)
        before = self.one.rows("list")[0]["next_fire"]
        self.one.client("trigger", "yearly")
        self.executing("yearly")
        refused = self.one.client("trigger", "yearly", status=1)
        self.assertIn("--force", refused.err)
        self.one.client("trigger", "yearly", "--force")
        wait_for("two at a time", lambda: len(self.one.rows("executing")) == 2)
        self.gate.touch()
        wait_for("both ends", lambda: len(self.one.history("yearly")) == 2)
        self.assertEqual(self.one.rows("list")[0]["next_fire"], before)

    def test_a_triggered_run_precedes_all_jobs_of_its_group(self):
        self.one.submit("--task-id", "by-hand", "--manual", "--priority", "999", "--", "true")
        self.one.submit_all([{"task_id": f"block-{n}", "shell": self.wait_line} for n in range(2)])
        wait_for("both threads to be taken", lambda: len(self.one.rows("executing")) == 2)
        self.one.submit_all([{"task_id": f"first-{n}", "priority": 0, "command": ["true"]} for n in range(4)])
        self.one.client("trigger", "by-hand")
        self.gate.touch()
        wait_for("all", lambda: len(self.one.history()) == 7)
        order = sorted((r for r in self.one.history() if not r["task_id"].startswith("block")),
                       key=lambda row: (row["started_at"], row["job_id"]))
        self.assertIn("by-hand", [row["task_id"] for row in order[:2]])

    def test_a_task_id_is_taken_until_its_end_or_replacement(self):
        self.one.submit("--task-id", "mine", "--cron", "0 0 1 1 *", "--", "echo", "old")
        answer = self.one.submit("--task-id", "mine", "--", "true", status=1).json()
        self.assertEqual(answer["status"], "duplicate")
        self.one.submit("--task-id", "mine", "--replace-on-exist", "--manual", "--", "echo", "new")
        self.assertEqual([row["kind"] for row in self.one.rows("list")], ["manual"])
        self.assertEqual(self.one.client("trigger", "mine", "--wait").out, "new\n")
        # The same id in another group is another task.
        self.assertEqual(self.one.submit("--task-id", "mine", "--group", "other", "--", "true")
                         .json()["status"], "accepted")

    def test_the_replacement_of_a_suspended_job_is_suspended(self):
        self.one.submit("--task-id", "held", "--cron", "0 0 1 1 *", "--", "true")
        self.one.client("suspend", "held")
        for schedule in (["--every", "1s"], ["--now"], ["--every", "1s"]):
            answer = self.one.submit("--task-id", "held", "--replace-on-exist", *schedule, "--",
                                     "echo", "new").json()
            self.assertEqual(answer["status"], "accepted")
            self.assertIn("is suspended, like the job that it replaces", answer["warning"])
            self.assertEqual(self.one.client("-o", "json", "show", "held").json()["state"], "suspended")
        self.one.submit("--task-id", "other", "--every", "1s", "--count", "3", "--", "true")
        wait_for("fires of another job", lambda: len(self.one.history("other")) == 3)
        self.assertEqual(self.ran("held"), [])
        self.one.client("resume", "held")
        wait_for("a fire of the resumed job", lambda: self.ran("held"))

    def ran(self, task):
        return [row for row in self.one.history(task) if row["attempt"]]

    def test_a_group_without_workers_causes_a_warning_and_jobs_wait(self):
        answer = self.one.submit("--task-id", "early", "--group", "nobody", "--", "true").json()
        self.assertEqual(answer["status"], "accepted")
        self.assertIn("nobody", answer["warning"])
        self.assertEqual([row["task_id"] for row in self.one.rows("waiting", "--group", "nobody")], ["early"])
        worker = self.one.start_worker("--group", "nobody")
        row = self.one.wait_ended("early")
        self.assertEqual((row["state"], row["node"]), ("succeeded", worker.node))

    def test_jobs_of_a_group_run_only_on_its_workers(self):
        own = self.one.start_worker("--group", "own")
        tasks = [f"own-{n}" for n in range(8)]
        self.one.submit_all([{"task_id": task, "group": "own", "shell": "sleep 0.2"} for task in tasks])
        for task in tasks:
            self.assertEqual(self.one.wait_ended(task)["node"], own.node)
        # The other is free, and is handed none all the same.
        self.assertEqual(own.stop(), 0)
        self.one.submit("--task-id", "later", "--group", "own", "--", "true")
        self.one.submit("--task-id", "meanwhile", "--", "true")
        self.assertNotEqual(self.one.wait_ended("meanwhile")["node"], own.node)
        self.assertEqual([row["task_id"] for row in self.one.rows("waiting")], ["later"])
        again = self.one.start_worker("--group", "own")
        self.assertEqual(self.one.wait_ended("later")["node"], again.node)

    def test_a_second_worker_shares_the_load_at_once(self):
        self.one.submit_all([{"task_id": f"job-{n}", "shell": self.wait_line} for n in range(4)])
        wait_for("two runs", lambda: len(self.one.rows("executing")) == 2)
        second = self.one.start_worker()
        wait_for("four runs", lambda: len(self.one.rows("executing")) == 4)
        nodes = [row["node"] for row in self.one.rows("executing")]
        self.assertEqual(nodes.count(second.node), 2)
        self.gate.touch()
        wait_for("all ends", lambda: len(self.one.history()) == 4)

    def test_thousands_of_submissions_get_one_answer_each_in_order(self):
        jobs = [{"task_id": f"many-{n}", "handler": "noop", "priority": n % 7} for n in range(3000)]
        answers = self.one.submit_all(jobs)
        self.assertEqual([a["task_id"] for a in answers], [j["task_id"] for j in jobs])
        self.assertEqual({a["status"] for a in answers}, {"accepted"})
        wait_for("all to end", self.one.is_idle)
        rows = self.one.history()
        self.assertEqual(len(rows), 3000)
        self.assertEqual(len({row["task_id"] for row in rows}), 3000)
        self.assertEqual({row["state"] for row in rows}, {"succeeded"})

    def test_an_unclaimed_job_expires_at_its_start_deadline(self):
        self.one.workers[0].stop()
        self.one.submit("--task-id", "late", "--start-deadline", "300ms", "--", "true")
        self.one.submit("--task-id", "later", "--start-deadline", "2s", "--", "true")
        self.one.tracker.kill()
        self.one.start_tracker()
        for task in ("late", "later"):
            row = self.one.wait_ended(task)
            self.assertEqual((row["state"], row["attempt"], row["count"]), ("expired", 0, 1))


for kind in (Kinds, Runs, Acts):
    for name in ("sqlite", "mariadb"):
        title = f"{kind.__name__}On{name.capitalize()}"
        globals()[title] = type(title, (BothStores, kind, E2eTest), {"store_name": name})
del kind, title

if __name__ == "__main__":
    harness.main()
