"""Client groups are told how their jobs have ended, on both stores."""

import signal

import harness
from harness import BIN, BothStores, E2eTest, Program, slowness, wait_for


class Feedback:
    def listener(self, one, name):
        """A jobclient that listens until it is told to end."""
        return Program([BIN / "jobclient", "-o", "jsonl", "feedback", "--client-group", "billing"],
                       one.folder / "logs" / f"{name}.log", one.client_env(), "jobclient")

    def submit(self, one, task_id, shell="true"):
        one.client("submit", "--task-id", task_id, "--need-feedback", "--client-group", "billing",
                   "--shell", shell)

    def told(self, one, limit):
        rows = one.client("-o", "jsonl", "feedback", "--client-group", "Billing", "--limit",
                          limit).lines()
        return [(row["task_id"], row["state"], row["exit_code"]) for row in rows]

    def test_a_returning_client_gets_each_result_once(self):
        one = self.cluster(self.store, workers=1)
        for task_id, shell in (("a", "true"), ("b", "exit 76"), ("c", "echo said; exit 0")):
            self.submit(one, task_id, shell)
            one.wait_ended(task_id)
        one.client("submit", "--task-id", "untold", "--wait", "--", "true")
        one.tracker.kill()
        one.start_tracker()
        self.assertEqual(self.told(one, 3),
                         [("a", "succeeded", 0), ("b", "failed", 76), ("c", "succeeded", 0)])
        self.submit(one, "d")
        self.assertEqual(self.told(one, 1), [("d", "succeeded", 0)], "and none of the others again")
        self.assertEqual(one.stats()["feedback_waiting"], 0)
        self.assertEqual(one.number("SELECT COUNT(*) FROM lts_feedback_queue"), 0)

    def test_a_listener_survives_a_restart_and_gets_each_result_once(self):
        one = self.cluster(self.store)
        one.start_worker(threads=1)  # so that they end in the order in which they were submitted
        listener = self.listener(one, "listener")
        self.submit(one, "before")
        wait_for("the first result", lambda: len(listener.lines()) >= 1)
        one.tracker.kill()
        one.start_tracker()
        for i in range(20):
            self.submit(one, f"after-{i}")
        wait_for("all results", lambda: len(listener.lines()) >= 21)
        wait_for("the last to be acknowledged", lambda: one.stats()["feedback_waiting"] == 0)
        listener.send(signal.SIGINT)
        listener.process.wait(harness.PATIENCE)
        self.submit(one, "last")
        self.assertEqual(self.told(one, 1), [("last", "succeeded", 0)])
        told = [line.split('"task_id":"')[1].split('"')[0] for line in listener.lines()]
        self.assertEqual(told, ["before", *(f"after-{i}" for i in range(20))])

    def test_a_waiting_trigger_reports_a_cancelled_or_replaced_run(self):
        one = self.cluster(self.store, workers=1)
        gate = self.folder / "gate"
        define = ("submit", "--task-id", "a", "--manual", "--overlap", "queue", "--need-feedback",
                  "--client-group", "billing", "--shell", f"until [ -e {gate} ]; do sleep 0.1; done")
        for round_number, act in enumerate((("cancel", "a"), (*define, "--replace-on-exist"))):
            one.client(*define, *(["--replace-on-exist"] if round_number else []))
            one.client("trigger", "a")
            wait_for("the first to run", lambda: len(one.rows("executing")) == 1)
            waiting = [Program([BIN / "jobclient", "trigger", "a", "--wait"],
                               one.folder / "logs" / f"trigger-{round_number}-{i}.log",
                               one.client_env(), "jobclient") for i in range(2)]
            wait_for("both to wait", lambda: len(one.rows("waiting")) == 2)
            jobs = {row["job_id"] for row in one.rows("waiting")}
            # A suspension holds the schedule, and nothing that was asked for.
            one.client("suspend", "a")
            one.client("resume", "a")
            self.assertEqual({row["job_id"] for row in one.rows("waiting")}, jobs)
            one.client(*act)
            for program in waiting:
                self.assertEqual(program.process.wait(harness.PATIENCE), 125)
                self.assertRegex(program.log(), r"job \d+ ended as cancelled: (the job was cancelled|replaced)")
            rows = [row for row in one.history("a") if row["job_id"] in jobs]
            self.assertEqual([(row["state"], row["attempt"]) for row in rows], [("cancelled", 0)] * 2)
            told = one.client("-o", "jsonl", "feedback", "--client-group", "billing", "--limit", 2).lines()
            self.assertEqual({row["job_id"] for row in told}, jobs)
            gate.touch()
            wait_for("the first to end", lambda: not one.rows("executing"))
            one.client("-o", "jsonl", "feedback", "--client-group", "billing", "--limit", 1)
            gate.unlink()


class Unanswered(E2eTest):
    LISTENERS, JOBS = 70, 130

    def test_two_hundred_unanswered_messages_delay_no_other_programs(self):
        one = self.cluster(flags=["--lease", "10m"])
        frozen = one.start_worker("--group", "slow", threads=self.JOBS)
        one.start_worker(threads=2)
        groups = [f"group-{number}" for number in range(self.LISTENERS)]
        listeners = []
        for group in groups:
            listeners.append(Program([BIN / "jobclient", "-o", "jsonl", "feedback", "--client-group", group],
                                     one.folder / "logs" / f"{group}.log", one.client_env(), "jobclient"))
            self.addCleanup(listeners[-1].kill)

        def tell(what):
            one.submit_all([{"task_id": f"{what}-{group}", "handler": "noop", "need_feedback": True,
                             "client_group": group} for group in groups])

        tell("first")
        wait_for("all to listen", lambda: all(listener.lines() for listener in listeners))
        wait_for("the acknowledgements", lambda: one.stats()["feedback_waiting"] == 0)
        for program in [frozen, *listeners]:
            program.send(signal.SIGSTOP)
        # Each listener is sent a result and the task tracker all of its jobs, and none of it is answered.
        tell("second")
        one.submit_all([{"task_id": f"slow-{number}", "group": "slow", "handler": "noop"}
                        for number in range(self.JOBS)])
        wait_for("all to be handed out", lambda: len(one.rows("executing", "--group", "slow")) == self.JOBS)
        wait_for("all ends", lambda: len(one.history()) == 2 * self.LISTENERS)
        self.assertEqual(one.stats()["feedback_waiting"], self.LISTENERS)

        for number in range(20):
            self.assertEqual(one.client("submit", "--wait", "--", "echo", f"quick-{number}").out,
                             f"quick-{number}\n")
        self.submit(one, "told")
        # Long before those that do not answer are given up.
        self.assertEqual(one.client("-o", "json", "feedback", "--client-group", "billing", "--limit",
                                    1, patience=10 * slowness()).json()[0]["task_id"], "told")
        self.assertEqual(len(one.rows("executing")), self.JOBS, "nothing else is still under way")
        self.assertEqual(one.stats()["feedback_waiting"], self.LISTENERS)

        for program in [frozen, *listeners]:
            program.send(signal.SIGCONT)
        wait_for("all to end", one.is_idle)
        wait_for("all to be told", lambda: one.stats()["feedback_waiting"] == 0)
        for group, listener in zip(groups, listeners, strict=True):
            self.assertEqual([line.split('"task_id":"')[1].split('"')[0] for line in listener.lines()],
                             [f"first-{group}", f"second-{group}"])

    @staticmethod
    def submit(one, task_id):
        one.client("submit", "--task-id", task_id, "--need-feedback", "--client-group", "billing", "--", "true")


class FeedbackOnSqlite(Feedback, BothStores, E2eTest):
    store_name = "sqlite"


class FeedbackOnMariadb(Feedback, BothStores, E2eTest):
    store_name = "mariadb"


if __name__ == "__main__":
    harness.main()
