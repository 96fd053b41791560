#!/usr/bin/env python3
"""What xxl-job executors that others wrote do under an admin: tests/executors/README.md has the table.

Our side of push relies on these facts, wrong ones included. A library that is mended, or changes,
fails here first.
"""

import harness
import executors
from harness import E2eTest, wait_for
from xxl_admin import APP, Admin


def outcome(result):
    """Code and message of a result of any dialect."""
    if "handleCode" in result:
        return result["handleCode"], result["handleMsg"]
    return result["executeResult"]["code"], result["executeResult"].get("msg")


def accepted(answer):
    return isinstance(answer, dict) and answer.get("code") == 200


class Client:
    """What they all do. The words say where they differ."""

    beats = ("", "{}", '""')  # bodies of a beat that it takes
    quotes = False            # what a handler says is in its result as JSON
    queues = True             # a second run of a job that runs waits; else it is refused
    covers = True             # likewise; else it is refused
    keeps_log_ids = True      # a run reports its own one, also beside another run of its handler
    timeout_code = 502
    kill_code = 500           # of the result of a run that is killed
    reports_again = True      # a result that got no answer
    results_sent = 1          # for it, while it gets none
    checks_token = True
    kill_of_idle = 200

    def setUp(self):
        super().setUp()
        self.one = self.cluster(tracker=False)
        self.admin = Admin(self.kind.dialect)
        self.addCleanup(self.admin.stop)
        self.executor = self.kind.start(self.one.folder / "logs", self.admin.url, APP, self.admin.token)
        self.addCleanup(self.executor.kill)
        wait_for("the registration", lambda: self.admin.addresses)
        wait_for("its port, for some register before they listen", self.executor.listens)

    def said(self, text):
        """A handler's words, as they are in its result."""
        return f'"{text}"' if self.quotes else text

    def ended(self, log_id):
        return outcome(wait_for(f"the result of {log_id}", lambda: self.admin.result(log_id)))

    def run_job(self, **call):
        """Code and message of a run that is taken."""
        log_id, answer = self.admin.run(**call)
        self.assertTrue(accepted(answer), answer)
        return self.ended(log_id)

    def begin(self, **call):
        """The log id of a run that has begun and sleeps."""
        began = len(self.executor.lines())
        log_id, answer = self.admin.run(handler="sleep", **call)
        self.assertTrue(accepted(answer), answer)
        wait_for("its begin", lambda: any(line.startswith("runs sleep")
                                          for line in self.executor.lines()[began:]))
        return log_id

    def test_executor_registers_and_deregisters(self):
        self.assertEqual(self.admin.calls[0], ("/xxl-job-admin/api/registry", {
            "registryGroup": "EXECUTOR", "registryKey": APP,
            "registryValue": self.admin.addresses[0]}))
        self.assertEqual(self.admin.addresses[0].rstrip("/"), self.executor.address)
        for body in self.beats:
            self.assertTrue(accepted(self.admin.ask("/beat", body)), body)
        self.assertIn(self.executor.stop(), (0, 143))
        self.assertEqual(self.admin.addresses, [])

    def test_handlers_get_parameter_and_shard(self):
        self.assertEqual(self.run_job(job=1, handler="echo", param="day=1, 日", broadcastIndex=2,
                                      broadcastTotal=5), (200, self.said("day=1, 日 2/5")))
        code, message = self.run_job(job=2, handler="fail", param="no luck")
        self.assertEqual(code, 500)
        self.assertIn("no luck", message)
        self.assertFalse(accepted(self.admin.run(job=3, handler="nosuch")[1]))

    def test_log_of_a_run_can_be_read(self):
        log_id, _ = self.admin.run(handler="log", param="3")
        self.assertEqual(self.ended(log_id), (200, self.said("3 lines")))
        text = wait_for("the last line", lambda: (
            lambda found: found if "line 3\n" in found else None)(self.admin.log(log_id)["logContent"]))
        for line in ("line 1\n", "line 2\n"):
            self.assertIn(line, text)
        after = self.admin.log(log_id, 999)
        self.assertEqual(after["logContent"].strip(), "")

    def test_running_job_can_be_killed(self):
        log_id = self.begin(job=7, param="60000")
        self.assertEqual(self.admin.ask("/idleBeat", {"jobId": 7})["code"], 500)
        self.assertEqual(self.admin.ask("/idleBeat", {"jobId": 8})["code"], 200)
        self.assertEqual(self.admin.ask("/kill", {"jobId": 7})["code"], 200)
        self.assertEqual(self.ended(log_id)[0], self.kill_code)
        self.assertEqual(self.admin.ask("/kill", {"jobId": 7})["code"], self.kill_of_idle)

    def test_run_ends_at_its_timeout(self):
        self.assertEqual(self.run_job(handler="sleep", param="30000", executorTimeout=1)[0],
                         self.timeout_code)

    def test_serial_execution_lets_the_first_run_end(self):
        first = self.begin(param="1000")
        second, answer = self.admin.run(handler="sleep", param="10")
        self.assertEqual(self.ended(first), (200, self.said("slept 1000")))
        self.assertEqual(accepted(answer), self.queues)
        if self.queues:
            self.assertEqual(self.ended(second), (200, self.said("slept 10")))

    def test_discard_later_refuses_a_second_run(self):
        first = self.begin(param="1000")
        _, answer = self.admin.run(handler="sleep", executorBlockStrategy="DISCARD_LATER", param="10")
        self.assertFalse(accepted(answer), answer)
        self.assertEqual(self.ended(first), (200, self.said("slept 1000")))

    def test_cover_early_replaces_the_first_run(self):
        first = self.begin(param="60000")
        second, answer = self.admin.run(handler="sleep", executorBlockStrategy="COVER_EARLY", param="10")
        self.assertEqual(accepted(answer), self.covers, answer)
        if not self.covers:
            return
        if self.keeps_log_ids:
            self.assertEqual(self.ended(first)[0], 500)
            self.assertEqual(self.ended(second), (200, self.said("slept 10")))
        else:
            results = wait_for("both results", lambda: (
                lambda all_of_it: all_of_it if len(all_of_it) == 2 else None)(
                    self.admin.results.get(second, [])))
            self.assertEqual(sorted(outcome(each)[0] for each in results), [200, 500])
            self.assertIsNone(self.admin.result(first))

    def test_unanswered_result_is_sent_again_if_supported(self):
        self.admin.mode = "hangs up"
        log_id = self.begin(param="10")
        wait_for("its result", lambda: self.admin.turned_away.count(
            "/xxl-job-admin/api/callback") >= self.results_sent)
        self.admin.mode = "takes"
        if self.reports_again:
            self.assertEqual(self.ended(log_id), (200, self.said("slept 10")))
        else:
            self.assertEqual(self.run_job(job=2, handler="echo")[0], 200)
            self.assertIsNone(self.admin.result(log_id))

    def test_wrong_token_is_refused_if_checked(self):
        call = {"jobId": 1, "executorHandler": "echo", "executorParams": "", "logId": 1,
                "executorBlockStrategy": "SERIAL_EXECUTION", "executorTimeout": 0, "logDateTime": 1,
                "glueType": "BEAN", "glueSource": "", "glueUpdatetime": 1, "broadcastIndex": 0,
                "broadcastTotal": 1}
        answer = self.admin.ask("/run", call, headers={"XXL-JOB-ACCESS-TOKEN": "wrong"})
        self.assertEqual(accepted(answer), not self.checks_token, answer)

    def test_a_hundred_concurrent_jobs_all_report(self):
        ids = [self.admin.run(job=job, handler="echo", param=str(job))[0] for job in range(1, 101)]
        wait_for("a hundred results", lambda: sum(map(len, self.admin.results.values())) >= 100)
        if self.keeps_log_ids:
            self.assertEqual(sorted(self.admin.results), ids)


class Java220(Client, E2eTest):
    kind = executors.JAVA_2_2_0


class Java241(Client, E2eTest):
    kind = executors.JAVA_2_4_1


class Java332(Client, E2eTest):
    kind = executors.JAVA_3_3_2


class Go(Client, E2eTest):
    kind = executors.GO
    queues = False
    keeps_log_ids = False
    timeout_code = 500
    reports_again = False
    checks_token = False
    kill_of_idle = 500


class Pyxxl(Client, E2eTest):
    kind = executors.PYXXL
    timeout_code = 500
    checks_token = False


class Node(Client, E2eTest):
    kind = executors.NODE
    beats = ("{}",)
    quotes = True
    queues = False
    covers = False
    timeout_code = 500
    kill_code = 200
    reports_again = False
    results_sent = 2  # the second says that the run failed


if __name__ == "__main__":
    harness.main()
