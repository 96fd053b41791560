#!/usr/bin/env python3
"""Jobs pushed to executors of xxl-job by three job trackers on one database. The executors know
one of the three only, so that most results are told to a job tracker that does not own the job."""

import pathlib
import time

import harness
from harness import BIN, E2eTest, Program, free_port, wait_for

TOKEN = "default_token"
APPS = [f"app-{number}" for number in range(4)]


class PushClusterTest(E2eTest):
    uses_mariadb = True

    def setUp(self):
        super().setUp()
        self.one = self.cluster(self.mariadb, tracker=False)
        self.ports = [free_port() for _ in range(3)]
        self.xxl_port = free_port()
        self.trackers = []
        for which, port in enumerate(self.ports):
            self.one.port = port
            xxl = self.xxl_port if which == 0 else free_port()
            self.trackers.append(self.one.start_tracker(
                "--name", f"tracker-{which}", "--xxl-listen", f"127.0.0.1:{xxl}",
                "--xxl-token", TOKEN))
            self.addCleanup(self.trackers[-1].kill)
        self.executors = {app: self.start_executor(app) for app in APPS}

    def start_executor(self, app):
        data = self.one.folder / "data" / app
        executor = Program(
            [BIN / "tasktracker", "--tracker", "off",
             "--xxl-admin", f"http://127.0.0.1:{self.xxl_port}/xxl-job-admin",
             "--xxl-appname", app, "--xxl-port", 0, "--xxl-token", TOKEN, "--data", data],
            self.one.folder / "logs" / f"{app}.log", self.one.env, "tasktracker")
        executor.data = data
        self.one.workers.append(executor)
        executor.address = executor.ready()["xxl"]
        return executor

    def client(self, *args, **kwargs):
        every = ",".join(f"tcp://127.0.0.1:{port}" for port in self.ports)
        return self.one.client(*args, env={"CARILLON_TRACKER": every}, **kwargs)

    def owners(self):
        """Which job tracker looks after each app's group, by its number here."""
        rows = self.one.sql("SELECT g.name, t.name FROM lts_node_group g "
                            "JOIN lts_partition p ON p.partition_id = g.group_id % 64 "
                            "JOIN lts_tracker t ON t.session_id = p.owner AND t.lane = 0 "
                            "WHERE t.ended = 0")
        return {group: int(name.rsplit("-", 1)[1]) for group, name in rows if group in APPS}

    def divided(self):
        """The owners, once several job trackers have groups."""
        return wait_for("the groups to be divided", lambda: (
            len(self.owners()) == len(APPS) and len(set(self.owners().values())) == 3
            and self.owners()))

    def runs(self, app):
        folder = pathlib.Path(self.executors[app].data, "xxl-job", "log")
        return len(list(folder.glob("*/*.log")))

    def push(self, app, task, handler, payload):
        self.client("submit", "--task-id", task, "--group", app, "--dispatch", "push",
                    "--handler", handler, "--payload", payload)

    def history(self, task):
        return self.client("-o", "jsonl", "history", "--limit", 0, "--task-id", task).lines()

    def check_each_succeeded_once(self, tasks):
        for task in tasks:
            rows = wait_for(f"an end of {task}", lambda: self.history(task))
            self.assertEqual([(row["state"], row["attempt"]) for row in rows], [("succeeded", 1)],
                             task)

    def test_results_reach_the_owner_through_any_job_tracker(self):
        self.divided()
        tasks = []
        for app in APPS:
            for number in range(10):
                tasks.append(f"{app}-{number}")
                self.push(app, tasks[-1], "echo", "x")
        self.check_each_succeeded_once(tasks)
        self.assertEqual([self.runs(app) for app in APPS], [10] * len(APPS))

    def test_results_are_kept_for_the_owner_after_failover(self):
        owners = self.divided()
        app = next(app for app in APPS if owners[app] != 0)
        tasks = [f"task-{number}" for number in range(10)]
        for task in tasks:
            self.push(app, task, "sleep", "3s")
        wait_for("all of them at the executor", lambda: self.runs(app) == len(tasks))
        self.trackers[owners[app]].kill()
        self.check_each_succeeded_once(tasks)
        time.sleep(2)  # Were one run again, it would begin now.
        self.assertEqual(self.runs(app), len(tasks))

    def check_nothing_fails_when_it_stops(self, app):
        self.client("submit", "--task-id", "tick", "--group", app, "--dispatch", "push",
                    "--handler", "echo", "--every", "50ms", "--overlap", "parallel")
        wait_for("some runs", lambda: len(self.history("tick")) > 20)
        self.assertEqual(self.executors[app].stop(), 0)
        at = len(self.history("tick"))
        self.executors[app] = self.start_executor(app)
        wait_for("runs at the next one", lambda: len(self.history("tick")) > at + 20)
        self.assertEqual({row["state"] for row in self.history("tick")}, {"succeeded"})

    def test_executor_unaware_of_its_owner_stops_without_failures(self):
        owners = self.divided()
        time.sleep(2)  # Until each has seen whose executors there are.
        self.check_nothing_fails_when_it_stops(next(app for app in APPS if owners[app] != 0))


if __name__ == "__main__":
    harness.main()
