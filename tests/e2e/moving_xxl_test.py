#!/usr/bin/env python3
"""A team moves from xxl-job: its executor gets another admin address, its jobs are imported, and the
fires are compared (docs/guide/moving-from-xxl-job.md)."""

import datetime
import re

import executors
import harness
import xxl_tables
from harness import E2eTest, free_port, wait_for

TOKEN = "default_token"


class Moving(E2eTest):
    uses_mariadb = True

    def database(self):
        name = self.mariadb.new_database()
        rows = xxl_tables.create("2.4")
        rows += xxl_tables.insert("xxl_job_group", id=1, app_name="billing", title="Billing", address_type=0)
        for number, values in {
                12: {"schedule_conf": "0/2 * * * * ?", "executor_handler": "echo", "executor_param": "cron"},
                14: {"schedule_type": "FIX_RATE", "schedule_conf": "1", "executor_handler": "echo",
                     "executor_param": "rate"},
                15: {"schedule_conf": "1/2 * * * * ?", "glue_type": "GLUE_SHELL", "executor_param": "a b",
                     "glue_source": 'echo "script got $1 $2 $3"'},
                17: {"schedule_conf": "0/2 * * * * ?", "executor_handler": "echo",
                     "executor_param": "shard", "executor_route_strategy": "SHARDING_BROADCAST"},
                18: {"schedule_conf": "* * * * * ?", "executor_handler": "echo", "executor_param": "stopped",
                     "trigger_status": 0}}.items():
            rows += xxl_tables.insert_job("2.4", id=number, job_group=1, **values)
        self.mariadb.run(rows, name)
        return self.mariadb.url(name)

    def test_imported_jobs_fire_at_their_executor(self):
        url = self.database()
        listen = f"127.0.0.1:{free_port()}"
        one = self.cluster(flags=["--xxl-listen", listen, "--xxl-token", TOKEN])
        started = [executors.JAVA_2_4_1.start(one.folder / name, f"http://{listen}/xxl-job-admin", "billing", TOKEN)
                   for name in ("first", "second")]
        one.workers.extend(started)
        wait_for("the registrations",
                 lambda: sum(row["kind"] == "executor" for row in one.rows("nodes")) == len(started))
        one.client("import", "xxl-job", "-", "--tz", "UTC", "--apply", stdin=url)
        self.assertEqual({row["task_id"]: row["state"] for row in one.rows("list")},
                         {"xxl-12": "active", "xxl-14": "active", "xxl-15": "active", "xxl-17": "active",
                          "xxl-18": "suspended"})
        tasks = {"xxl-12": 2, "xxl-14": 1, "xxl-15": 2, "xxl-17": 2}  # and their seconds between fires
        wait_for("some fires", lambda: all(len(one.history(task)) >= 4 for task in tasks))
        for task in tasks:
            one.client("suspend", task, "--group", "billing")
        wait_for("the last ends", one.is_idle)
        # A fire that was claimed ahead of its time and called off with the suspend has a row, and no attempt.
        # Nor is a broadcast's own row counted: xxl-job has those of the shards only.
        runs = {task: [row for row in one.history(task)
                       if row["attempt"] > 0 and not re.search(" of [0-9]+ shards succeeded", row["message"])]
                for task in tasks}
        for task, seconds in tasks.items():
            rows = sorted(runs[task], key=lambda row: row["trigger_time"])
            self.assertEqual({row["state"] for row in rows}, {"succeeded"}, rows)
            times = [datetime.datetime.fromisoformat(row["trigger_time"]) for row in rows]
            if task == "xxl-17":
                self.assertEqual(times[::2], times[1::2], "a row for each of two shards")
                times = times[::2]
            self.assertEqual({(later - earlier).total_seconds() for earlier, later in zip(times, times[1:])},
                             {seconds}, times)
        ran = [line.split()[2] for executor in started for line in executor.lines() if line.startswith("runs ")]
        for task, param in (("xxl-12", "cron"), ("xxl-14", "rate"), ("xxl-17", "shard")):
            self.assertEqual(ran.count(param), len(runs[task]))
        self.assertNotIn("stopped", ran)
        self.assertIn("script got a b 0 1", one.client("logs", "xxl-15", "--group", "billing").out)


if __name__ == "__main__":
    harness.main()
