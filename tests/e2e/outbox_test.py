"""What is to be delivered while the other side is away waits on disk: submissions of jobclient, and
results and output of a task tracker. Nothing is lost, and nothing happens twice."""

import collections
import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import time

import accounts
import harness
from harness import BIN, E2eTest, Program, wait_for


def entries(folder):
    """How many entries lie in an outbox's slots."""
    count = 0
    for path in sorted(folder.glob("*.db")):
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as db:
            with contextlib.suppress(sqlite3.OperationalError):  # It is just being made.
                count += db.execute("SELECT COUNT(*) FROM lts_outbox_entry").fetchone()[0]
    return count


class Submissions(E2eTest):
    AWAY = {"CARILLON_CONNECT_TIMEOUT": "300ms"}

    def setUp(self):
        super().setUp()
        # Nobody is there yet, but the port is known.
        self.c = self.cluster(tracker=False)
        self.c.port = harness.free_port()
        self.outbox = self.c.folder / "home/.local/state/carillon/jobclient/outbox/submissions"

    def store(self, task_id, *more, **kwargs):
        return self.c.submit("--offline", "--task-id", task_id, *more, "--handler", "noop",
                             env=self.AWAY, **kwargs)

    def started(self):
        self.c.start_tracker()
        self.c.start_worker()

    def test_undeliverable_job_is_stored_and_delivered_by_the_next_call(self):
        answer = self.store("kept").json()
        self.assertEqual((answer["task_id"], answer["group"], answer["status"]),
                         ("kept", "default", "stored"))
        self.assertIn("no job tracker reachable", answer["reason"])
        self.assertEqual(entries(self.outbox), 1)
        self.started()
        listed = self.c.client("list")
        self.assertIn("stored jobs delivered: 1", listed.err)
        self.assertEqual(self.c.wait_ended("kept")["state"], "succeeded")
        self.assertEqual(list(self.outbox.glob("*.db")), [])

    def test_nothing_is_stored_without_the_offline_flag(self):
        self.c.submit("--task-id", "refused", "--handler", "noop", env=self.AWAY, status=3)
        self.assertFalse(self.outbox.exists())

    def test_flush_delivers_everything_in_order_and_prints_each_answer(self):
        lines = [{"task_id": f"line-{number}", "handler": "noop"} for number in range(250)]
        first = self.store("first").json()
        self.assertEqual(first["status"], "stored")
        stored = self.c.client("-o", "jsonl", "submit", "--offline", "--stdin", env=self.AWAY,
                               stdin="".join(json.dumps(line) + "\n" for line in lines)).lines()
        self.assertEqual({answer["status"] for answer in stored}, {"stored"})
        self.store("last")
        refused = self.c.client("flush", env=self.AWAY, status=3)
        self.assertIn("no job tracker reachable", refused.err)
        self.started()
        answers = self.c.client("-o", "jsonl", "flush").lines()
        self.assertEqual([answer["task_id"] for answer in answers],
                         ["first", *(line["task_id"] for line in lines), "last"])
        self.assertEqual({answer["status"] for answer in answers}, {"accepted"})
        ids = [int(answer["job_id"]) for answer in answers]
        self.assertEqual(ids, sorted(ids))
        self.assertEqual(self.c.client("-o", "jsonl", "flush").lines(), [])
        wait_for("all to end", self.c.is_idle)
        ended = [row["task_id"] for row in self.c.history()]
        self.assertEqual(len(ended), 252)
        self.assertEqual(len(set(ended)), 252)

    def test_last_stored_change_wins_across_processes(self):
        def started(task_id, *more):
            return Program([BIN / "jobclient", "submit", "--offline", "--task-id", task_id, "--manual", *more,
                            "--handler", "noop"], self.folder / f"store-{task_id}.log",
                           {**self.c.client_env(), **self.AWAY}, "jobclient")

        for round_ in range(3):
            changed, other = f"changed-{round_}", f"other-{round_}"
            self.store(changed, "--manual", "--description", "v1", "--replace-on-exist")
            # The first adopts what is stored and writes behind it, the second beside it.
            for one in [started(other),
                        started(changed, "--description", "v2", "--replace-on-exist")]:
                self.assertEqual(one.wait(), 0)
        self.c.start_tracker()
        answers = self.c.client("-o", "jsonl", "flush").lines()
        self.assertEqual({answer["status"] for answer in answers}, {"accepted"})
        self.assertEqual(len(answers), 9)
        for round_ in range(3):
            self.assertEqual(self.c.client("-o", "json", "show", f"changed-{round_}").json()["description"],
                             "v2")

    def test_rejected_stored_job_does_not_block_others_and_is_reported(self):
        self.store("before")
        for _ in range(2):
            self.store("taken", "--at", "+10h")
        self.store("after")
        self.started()
        flushed = self.c.client("-o", "jsonl", "flush", status=1)
        self.assertEqual([(answer["task_id"], answer["status"]) for answer in flushed.lines()],
                         [("before", "accepted"), ("taken", "accepted"), ("taken", "duplicate"),
                          ("after", "accepted")])
        self.assertIn("'taken' is taken", flushed.lines()[2]["reason"])
        self.assertEqual(self.c.client("-o", "jsonl", "flush").lines(), [])

    def test_rejections_of_adopted_jobs_are_kept_until_flush(self):
        waiting = Program([BIN / "jobclient", "submit", "--wait", "--connect-timeout", "60s",
                           "--", "true"],
                          self.folder / "waiting.log", self.c.client_env(), "jobclient")
        for _ in range(2):
            self.store("taken", "--at", "+10h")
        self.store("misplaced", "--cron", "* * * * *", "--tz", "Mars/X")
        self.c.start_tracker()
        wait_for("the waiting call to deliver them", lambda: entries(self.outbox) == 0)
        self.c.start_worker()
        self.assertEqual(waiting.wait(), 0)
        for task in ("taken", "misplaced"):
            self.assertIn(f"stored job '{task}' of group 'default' was not accepted: ", waiting.log())
        self.assertIn("stored jobs that were not accepted: 2", self.c.client("list").err)
        shown = self.c.client("-o", "json", "flush", status=1).json()
        self.assertEqual([(answer["task_id"], answer["status"]) for answer in shown],
                         [("taken", "duplicate"), ("misplaced", "rejected")])
        self.assertIn("Mars/X", shown[1]["reason"])
        self.assertEqual(self.c.client("-o", "jsonl", "flush").lines(), [])
        self.assertNotIn("not accepted", self.c.client("list").err)
        self.assertEqual(list(self.outbox.glob("*.db")), [])

    def test_flush_shows_every_one_of_many_rejections(self):
        lines = [{"task_id": f"misplaced-{number}", "cron": "* * * * *", "tz": "Mars/X", "handler": "noop"}
                 for number in range(1500)]
        self.c.client("submit", "--offline", "--stdin", env=self.AWAY,
                      stdin="".join(json.dumps(line) + "\n" for line in lines))
        self.c.start_tracker()
        self.assertEqual(self.c.client("list").err.count("kept until `jobclient flush` shows it"), 1500)
        self.assertIn("stored jobs that were not accepted: 1500", self.c.client("list").err)
        shown = self.c.client("-o", "jsonl", "flush", status=1).lines()
        self.assertEqual([(answer["task_id"], answer["status"]) for answer in shown],
                         [(line["task_id"], "rejected") for line in lines])
        self.assertEqual(self.c.client("-o", "jsonl", "flush").lines(), [])
        self.assertEqual(list(self.outbox.glob("*.db")), [])

    def test_the_same_task_id_in_two_groups_is_two_jobs(self):
        self.store("same", "--group", "one")
        self.store("same", "--group", "two")
        self.c.start_tracker()
        answers = self.c.client("-o", "jsonl", "flush").lines()
        self.assertEqual([(answer["group"], answer["status"]) for answer in answers],
                         [("one", "accepted"), ("two", "accepted")])

    def test_stored_jobs_are_delivered_before_the_next_request(self):
        self.store("task", "--cron", "0 0 3 * * ?")
        self.c.start_tracker()
        self.assertIn("cancelled", self.c.client("cancel", "task").out)
        self.assertEqual(self.c.rows("list"), [])

    def test_job_stored_for_one_tracker_is_not_delivered_to_another(self):
        self.store("ours")
        other = self.cluster()
        other.env["HOME"] = self.c.env["HOME"]
        flushed = other.client("-o", "jsonl", "flush")
        self.assertEqual(flushed.lines(), [])
        ours = f"tcp://127.0.0.1:{self.c.port}"
        self.assertIn(f"jobclient: flush: submissions stored for {ours} are not delivered: 1 (", flushed.err)
        self.assertIn(f"jobclient: submit: submissions stored for {ours} are not delivered: 1 (",
                      other.client("submit", "--task-id", "theirs", "--manual", "--", "true").err)
        self.assertEqual(other.client("list").err, "")
        self.assertEqual(entries(self.outbox), 1)
        self.c.start_tracker()
        self.assertEqual([answer["task_id"] for answer in self.c.client("-o", "jsonl", "flush").lines()],
                         ["ours"])

    def test_flush_discard_removes_only_jobs_stored_for_the_given_address(self):
        self.store("never")
        self.store("never-either")
        nowhere = "tcp://127.0.0.1:1"
        self.c.client("submit", "--offline", "--task-id", "kept", "--", "true",
                      env={**self.AWAY, "CARILLON_TRACKER": nowhere})
        ours = f"tcp://localhost:{self.c.port}"
        both = self.c.client("-o", "json", "flush", "--discard", f"{ours},{nowhere}", status=4)
        self.assertEqual((both.out, both.err),
                         ("", f'{{"error":"no job is stored for exactly {ours},{nowhere}, but for {nowhere} and for '
                              f'tcp://127.0.0.1:{self.c.port}","verb":"flush","exit_status":4}}\n'))
        self.assertEqual(self.c.client("flush", "--discard", ours).out,
                         f"removed stored jobs for {ours}: 2\n")
        self.assertEqual(self.c.client("flush", "--discard", ours, status=4).err,
                         f"jobclient: flush: no job is stored for exactly {ours}, but for {nowhere}\n")
        self.assertEqual(entries(self.outbox), 1)
        self.c.start_tracker()
        flushed = self.c.client("flush")
        self.assertEqual(flushed.out, "")
        self.assertIn("no job is stored for this job tracker", flushed.err)
        self.assertIn(f"submissions stored for {nowhere} are not delivered: 1", flushed.err)

    def test_flush_discard_reports_when_nothing_is_stored(self):
        self.assertIn("no job is stored for exactly tcp://a:1 or any other address",
                      self.c.client("flush", "--discard", "tcp://a:1", status=4).err)

    def test_jobs_stored_for_localhost_match_127_0_0_1(self):
        self.store("ours")
        self.c.start_tracker()
        flushed = self.c.client("-o", "jsonl", "flush",
                                env={"CARILLON_TRACKER": f"tcp://localhost:{self.c.port}"})
        self.assertEqual([answer["task_id"] for answer in flushed.lines()], ["ours"])

    def test_killed_deliveries_submit_each_job_once(self):
        seed = int(os.environ.get("CARILLON_SEED", random.randrange(1_000_000)))
        print(f"CARILLON_SEED={seed}", flush=True)
        chance = random.Random(seed)
        text = "".join(json.dumps({"task_id": f"task-{number}", "handler": "noop"}) + "\n"
                       for number in range(5000))
        self.c.client("submit", "--offline", "--stdin", env=self.AWAY, stdin=text)
        self.c.start_tracker()
        for life in range(12):
            flush = harness.Program([harness.BIN / "jobclient", "flush"],
                                    self.c.folder / "logs" / f"flush-{life}.log",
                                    self.c.client_env(), "jobclient")
            time.sleep(chance.uniform(0.005, 0.05))
            flush.kill()
            if life % 4 == 3:
                self.c.tracker.kill()
                self.c.start_tracker()
        self.c.client("flush")
        self.assertEqual(entries(self.outbox), 0)
        self.c.start_worker(threads=4)
        wait_for("all to end", self.c.is_idle)
        ended = collections.Counter(row["task_id"] for row in self.c.history())
        self.assertEqual(len(ended), 5000)
        self.assertEqual(set(ended.values()), {1})

    def test_offline_and_wait_contradict_each_other(self):
        self.assertIn("--wait and --offline",
                      self.c.client("submit", "--offline", "--wait", "--", "true", status=2).err)

    def test_full_disk_and_blocked_outbox_folder_are_reported(self):
        self.outbox.parent.mkdir(parents=True)
        self.outbox.write_text("in the way")
        answer = self.c.client("submit", "--offline", "--", "true", env=self.AWAY, status=3)
        self.assertIn("could not be stored", answer.err)
        self.assertIn(str(self.outbox), answer.err)
        self.outbox.unlink()
        # Where no file may grow, every write fails, as on a full disk.
        full = subprocess.run(
            ["sh", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "sh", str(BIN / "jobclient"),
             "submit", "--offline", "--", "true"], capture_output=True, text=True,
            timeout=harness.PATIENCE, env={**self.c.client_env(), **self.AWAY})
        self.assertEqual(full.returncode, 3)
        self.assertIn("could not be stored", full.stderr)
        self.assertNotIn("stored as", full.stdout)
        self.assertEqual(entries(self.outbox), 0)


class Reports(E2eTest):
    def setUp(self):
        super().setUp()
        self.notes = self.folder / "notes"
        self.data = self.folder / "shared-data"
        self.outbox = self.data / "outbox/reports"

    def worker(self, cluster, name, **kwargs):
        return cluster.start_worker(name=name, data=self.data, threads=4,
                                    env={"NOTES": str(self.notes)}, **kwargs)

    def submit_runs(self, cluster, count, seconds):
        """Jobs that note themselves, write a line and end after so long; returns when all run."""
        tasks = [f"run-{number}" for number in range(count)]
        cluster.submit_all([{"task_id": task,
                             "shell": f"{accounts.NOTE}; sleep {seconds}; echo end of {task}"}
                            for task in tasks])
        wait_for("them to run", lambda: len(accounts.notes(self.notes)) >= count)
        return tasks

    def check_each_ran_once(self, cluster, tasks, node):
        wait_for("all to end", cluster.is_idle)
        # On a busy machine a job may have been given back before it began.
        runs = sorted((run.task_id, run.attempt) for run in accounts.notes(self.notes))
        self.assertEqual([task for task, _ in runs], tasks)
        rows = [row for row in cluster.history() if row["task_id"] in tasks]
        self.assertEqual(sorted((row["task_id"], row["attempt"], row["state"], row["node"])
                                for row in rows),
                         [(*run, "succeeded", node) for run in runs])
        for task in tasks:
            self.assertEqual(cluster.client("logs", task).out, f"end of {task}\n")

    def test_results_survive_a_worker_killed_while_the_tracker_is_down(self):
        cluster = self.cluster()
        first = self.worker(cluster, "first")
        tasks = self.submit_runs(cluster, 4, 1.5)
        cluster.tracker.kill()
        # A result and a piece of output each.
        wait_for("results on disk", lambda: entries(self.outbox) == 8)
        first.kill()
        self.worker(cluster, "second", wait=False)
        time.sleep(1)  # It has long adopted them when the tracker comes.
        cluster.start_tracker()
        self.check_each_ran_once(cluster, tasks, "first")
        self.assertEqual(cluster.stats()["late_reports_total"], 0)
        wait_for("an empty outbox", lambda: entries(self.outbox) == 0)

    def test_results_survive_a_worker_stopped_while_the_tracker_is_down(self):
        cluster = self.cluster()
        first = self.worker(cluster, "first")
        tasks = self.submit_runs(cluster, 2, 1)
        cluster.tracker.kill()
        first.send(signal.SIGTERM)
        wait_for("results on disk", lambda: entries(self.outbox) == 4)
        first.send(signal.SIGTERM)
        self.assertEqual(first.wait(), 0)
        self.assertEqual(entries(self.outbox), 4)
        self.worker(cluster, "second", wait=False)
        cluster.start_tracker()
        self.check_each_ran_once(cluster, tasks, "first")

    def test_worker_adopts_results_left_in_a_shared_data_folder(self):
        cluster = self.cluster()
        first = self.worker(cluster, "first")
        tasks = self.submit_runs(cluster, 2, 1)
        second = self.worker(cluster, "second")
        cluster.tracker.kill()
        wait_for("results on disk", lambda: entries(self.outbox) == 4)
        first.kill()
        cluster.start_tracker()
        self.check_each_ran_once(cluster, tasks, "first")
        self.assertTrue(second.is_running())

    def test_outbox_is_not_written_while_the_tracker_confirms(self):
        cluster = self.cluster()
        self.worker(cluster, "only")
        self.check_each_ran_once(cluster, self.submit_runs(cluster, 4, 0), "only")
        self.assertFalse(self.outbox.exists())


if __name__ == "__main__":
    harness.main()
