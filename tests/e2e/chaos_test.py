"""A short chaos: each fault of chaos_run.py once, some more, and an account of every job.

The seed is printed, and CARILLON_SEED=N draws the same faults again; who is in the middle of what when
they strike is left to the machine. For minutes, with a report: long/chaos.py.
"""

import collections
import os
import pathlib
import random
import sys
import tempfile
import unittest

import accounts
import chaos_account
import harness
from chaos_account import FAILED, LOST, SUCCEEDED, Notes, Row
from chaos_run import Chaos
from harness import E2eTest, Mariadb, skip


def noted(*lines):
    """The notes of these lines, and what the checks count."""
    with tempfile.TemporaryDirectory(prefix="carillon-e2e-") as folder:
        path = pathlib.Path(folder, "notes")
        path.write_text("\n".join(lines))
        return Notes(path), collections.Counter()


def row(task, state, job="7", **more):
    return {"task_id": task, "state": state, "job_id": job, "attempt": 1, "group": "g", "message": "",
            "trigger_time": "1970-01-01T00:01:40.000Z", **more}


class Repeats(unittest.TestCase):
    """What excuses a second run, and what does not."""

    AGAIN = ("start t 7 2 worker-2", "end t 7 2 worker-2 0")

    def why(self, *lines):
        notes, _ = noted(*lines)
        repeats, = notes.repeats()
        self.assertEqual(len(notes.wrong), repeats == "NOTHING")
        return repeats

    def run_and_kill(self, ended, killed, again, node="worker-1", more=()):
        """A run from second 10 on, what happened when, and its second run."""
        events = [(10, "start t 7 1 worker-1"), (killed, f"killed {node}"), *more,
                  *((again, line) for line in self.AGAIN)]
        if ended:
            events.append((ended, "end t 7 1 worker-1 0"))
        return self.why(*(text for at, line in sorted(events, key=lambda event: event[0])
                          for text in (f"time {at}", line)))

    def test_killing_its_task_tracker_mid_run_justifies_a_second_run(self):
        self.assertEqual(self.run_and_kill(ended=None, killed=11, again=15), "killed")
        self.assertEqual(self.run_and_kill(ended=12, killed=11, again=15), "killed", "as an orphan")
        self.assertEqual(self.run_and_kill(ended=11, killed=12, again=16), "killed", "its result was not stored")

    def test_killing_other_programs_does_not_justify_a_second_run(self):
        for node in ("worker-3", "jobtracker", "mariadbd"):
            self.assertEqual(self.run_and_kill(ended=12, killed=11, again=15, node=node), "NOTHING")
            self.assertEqual(self.run_and_kill(ended=None, killed=11, again=15, node=node), "NOTHING")

    def test_a_kill_long_after_the_end_justifies_no_second_run(self):
        self.assertEqual(self.run_and_kill(ended=11, killed=20, again=25), "NOTHING")

    def test_a_late_kill_justifies_rerunning_if_the_result_was_unstored(self):
        def with_trouble(since, to):
            return self.run_and_kill(ended=11, killed=20, again=25,
                                     more=[(since, "trouble tracker-0"), (to, "over tracker-0")])
        self.assertEqual(with_trouble(10.5, 15), "killed")
        self.assertEqual(with_trouble(10.5, 11.5), "NOTHING", "all had settled long before the kill")
        self.assertEqual(with_trouble(15, 19), "NOTHING", "it had been stored before the trouble")

    def test_a_kill_after_the_second_start_justifies_nothing(self):
        self.assertEqual(self.run_and_kill(ended=None, killed=16, again=15), "NOTHING")
        self.assertEqual(self.run_and_kill(ended=None, killed=15, again=15.1), "NOTHING", "its lease had not ended")

    def frozen(self, first_began, ended=None, thawed=7):
        events = [(2, "frozen worker-1"), (thawed, "thawed worker-1"), (first_began, "start t 7 1 worker-1"),
                  *((6, line) for line in self.AGAIN)]
        if ended:
            events.append((ended, "end t 7 1 worker-1 0"))
        return self.why(*(text for at, line in sorted(events, key=lambda event: event[0])
                          for text in (f"time {at}", line)))

    def test_a_long_freeze_justifies_rerunning_runs_started_before_it(self):
        self.assertEqual(self.frozen(first_began=1), "frozen")
        self.assertEqual(self.frozen(first_began=1, ended=3), "frozen")
        self.assertEqual(self.frozen(first_began=1, thawed=3), "NOTHING")

    def test_a_freeze_justifies_no_rerun_of_runs_outside_it(self):
        self.assertEqual(self.frozen(first_began=7), "NOTHING")
        self.assertEqual(self.frozen(first_began=-9, ended=-8), "NOTHING")

    def test_an_orderly_stop_justifies_no_second_run(self):
        self.assertEqual(self.why("time 1", "start t 7 1 worker-1", "time 2", "stopped worker-1", "time 9",
                                  *self.AGAIN), "NOTHING")

    def test_a_failure_justifies_only_later_runs(self):
        first, end = "start t 7 1 worker-1", "end t 7 1 worker-1 1"
        self.assertEqual(self.why("time 1", first, end, "time 9", *self.AGAIN), "failed")
        self.assertEqual(self.why("time 1", first, "time 9", *self.AGAIN, "time 10", end), "NOTHING")


class Checks(unittest.TestCase):
    """Each check finds what it is there for, and nothing where all is well."""

    RAN = ("time 1", "start job-1 7 1 n", "end job-1 7 1 n 1", "time 4", "start job-1 7 2 n", "end job-1 7 2 n 0")
    LOG = (Row("7", "job-1", 1, FAILED, "n", False, 1, 2), Row("7", "job-1", 2, SUCCEEDED, "n", True, 4, 5))

    def jobs(self, *log, lines=RAN, job="7", silent=()):
        notes, counts = noted(*lines)
        return len(chaos_account.of_jobs(notes, log, {"job-1"}, {("job-1", job)}, silent, counts))

    def test_a_job_with_exactly_one_end_is_accepted(self):
        self.assertEqual(self.jobs(*self.LOG), 0)
        self.assertEqual(self.jobs(self.LOG[1]._replace(attempt=1), lines=["time 1"], silent={"job-1"}), 0)

    def test_an_acknowledged_job_without_exactly_one_end_is_detected(self):
        failed, succeeded = self.LOG
        third = [*self.RAN, "start job-1 7 3 n", "end job-1 7 3 n 0"]
        self.assertEqual(self.jobs(lines=["time 1"]), 2, "by its task, and by its number")
        self.assertEqual(self.jobs(failed, succeeded._replace(final=False)), 1)
        self.assertEqual(self.jobs(failed, succeeded, succeeded._replace(attempt=3), lines=third), 1)
        self.assertEqual(self.jobs(failed, succeeded, succeeded._replace(attempt=3, final=False), lines=third), 1,
                         "it went on after its end")
        self.assertEqual(self.jobs(failed, failed, succeeded), 1, "an attempt ended twice")

    def test_a_task_with_a_second_or_wrong_job_is_detected(self):
        twin = [row._replace(job="8") for row in self.LOG]
        lines = [*self.RAN, *(line.replace(" 7 ", " 8 ") for line in self.RAN)]
        self.assertEqual(self.jobs(*self.LOG, *twin, lines=lines), 1)
        self.assertEqual(self.jobs(*self.LOG, job="9"), 1)

    def test_a_history_row_that_contradicts_its_run_is_detected(self):
        failed, succeeded = self.LOG
        self.assertEqual(self.jobs(failed._replace(state=SUCCEEDED), succeeded), 1)
        self.assertEqual(self.jobs(failed, succeeded._replace(state=FAILED)), 1)
        self.assertEqual(self.jobs(failed, succeeded._replace(node="m")), 2, "no such run, and a run without a row")
        self.assertEqual(self.jobs(succeeded), 1, "a run without a row")

    def test_an_attempt_lost_without_cause_is_detected(self):
        lost = self.LOG[0]._replace(state=LOST, ended_at=5)
        self.assertEqual(self.jobs(lost, self.LOG[1]), 1)
        for at, wrong in ((2, 0), (6, 1)):
            self.assertEqual(self.jobs(lost, self.LOG[1], lines=[*self.RAN, f"time {at}", "killed n"]), wrong)
        self.assertEqual(self.jobs(lost, self.LOG[1], lines=[*self.RAN, "time 2", "killed m"]), 1)
        self.assertEqual(self.jobs(lost, self.LOG[1], lines=[
            *self.RAN, "time 2", "frozen n", "time 3", "thawed n"]), 1, "it was too short")

    def test_an_unexcused_attempt_lost_in_an_orderly_stop_is_detected(self):
        lost = self.LOG[0]._replace(state=LOST, ended_at=5)
        stop, trouble = ["time 2", "stopped n", "time 3", "left n"], ["time 2", "trouble t", "time 4", "over t"]
        for began, troubled, wrong in ((0, 1, 0), (1, 1, 1), (0, 0, 1)):
            lines = [*self.RAN[:3 * began], *self.RAN[3:], *(trouble * troubled), *stop]
            self.assertEqual(self.jobs(lost, self.LOG[1], lines=lines), wrong, (began, troubled))

    def cancelled(self, lines, state, finals=1):
        notes, counts = noted(*lines)
        return chaos_account.of_cancellations(notes, [row("c", state)], {"c": "task 'c' cancelled"},
                                              collections.Counter(c=finals), counts), counts

    def test_a_run_after_a_cancellation_is_detected(self):
        before = ["time 1", "start c 7 1 n", "end c 7 1 n 1", "time 2", "cancelled c"]
        wrong, counts = self.cancelled(before, "cancelled")
        self.assertEqual((wrong, counts["cancelled while retrying"]), ([], 1))
        self.assertEqual(len(self.cancelled([*before, "time 6", "start c 7 2 n"], "cancelled")[0]), 1)
        self.assertEqual(len(self.cancelled(before, "failed")[0]), 1)
        self.assertEqual(len(self.cancelled(before, "cancelled", finals=0)[0]), 1)

    def test_a_run_during_a_suspension_is_detected(self):
        lines = ["time 10", "start s 6 1 n", "time 20", "suspended s", "time 29", "start s 7 1 n", "time 30",
                 "resuming s"]

        def wrong(lines, last):
            notes, counts = noted(*lines)
            history = [row("s", "succeeded"), row("s", "succeeded", "6", trigger_time="1970-01-01T00:00:10Z"),
                       row("s", "succeeded", "8", trigger_time=last)]
            return chaos_account.of_suspensions(notes, history, {"s": [(90, 110)]}, counts)
        self.assertEqual(len(wrong(lines, "1970-01-01T00:02:00Z")), 2, "by its time, and by its fire")
        self.assertEqual(wrong(lines[:4] + lines[6:], "1970-01-01T00:02:00Z"), [])
        self.assertEqual(len(wrong(lines[:4] + lines[6:], "1970-01-01T00:01:40Z")), 1, "it never fired again")

    def test_a_trigger_without_exactly_one_run_is_detected(self):
        def wrong(*lines):
            notes, counts = noted(*lines)
            return chaos_account.of_triggers(notes, [row("t", "succeeded")], {"a": "7"}, {"b"}, counts)
        self.assertEqual(wrong("token a 7"), [])
        self.assertEqual(len(wrong()), 1)
        self.assertEqual(len(wrong("token a 7", "token a 8")), 1)
        self.assertEqual(len(wrong("token a 7", "token b 8", "token b 9")), 1)

    def test_a_child_run_too_seldom_or_too_often_is_detected(self):
        def wrong(children):
            history = [row("p", "succeeded"), *(row("c", "succeeded", str(job)) for job in range(children))]
            return chaos_account.of_children(history, {"p": ("g", "c")}, collections.Counter())
        self.assertEqual([len(wrong(children)) for children in (0, 1, 2)], [1, 0, 1])

    def test_missing_or_reordered_feedback_is_detected(self):
        stored = [("1", "1", "7", "1", "f"), ("2", "1", "8", "1", "f")]

        def wrong(*jobs):
            return chaos_account.of_feedback([row("f", "succeeded", job) for job in jobs], stored,
                                             {"f"}.__contains__, collections.Counter())
        self.assertEqual(wrong("7", "8"), [])
        self.assertEqual(wrong("7", "7", "8", "7"), [], "at least once")
        self.assertEqual([len(wrong("7")), len(wrong("8", "7"))], [1, 1])

    def test_a_fire_without_exactly_one_outcome_is_detected(self):
        def wrong(*ranges, ran=(0, 1)):
            def at(second):
                return f"2026-11-27T10:00:{second:02}.000Z"
            rows = [{"state": "succeeded", "job_id": str(second), "trigger_time": at(second)} for second in ran]
            rows += [{"state": state, "job_id": "", "trigger_time": at(first), "count": count}
                     for state, first, count in ranges]
            return len(accounts.account([accounts.instant(at(second)) for second in range(10)], rows))
        self.assertEqual(wrong(("missed", 4, 2), ("cancelled", 2, 6)), 0, "one passes over the other")
        self.assertEqual(wrong(("missed", 2, 3), ("cancelled", 5, 5)), 0)
        self.assertEqual(wrong(("missed", 2, 3), ("cancelled", 6, 4)), 1, "5 was lost")
        self.assertEqual(wrong(("missed", 2, 3), ("cancelled", 4, 6)), 1, "4 has two ends")
        self.assertEqual(wrong(("missed", 4, 2), ("cancelled", 2, 7)), 1, "more than there are")
        self.assertEqual(wrong(("cancelled", 2, 8), ran=(0, 1, 2)), 1, "2 was run and called off")

    def test_a_scenario_that_was_never_exercised_is_detected(self):
        counts = collections.Counter({what: 1 for what in chaos_account.NEEDED})
        self.assertEqual(chaos_account.not_exercised(counts), [])
        counts["suspensions"] = 0
        self.assertEqual(chaos_account.not_exercised(counts), ["never exercised: suspensions"])


class Short(E2eTest):
    def test_acknowledged_jobs_end_once_and_rerun_only_with_cause(self):
        if not Mariadb.is_installed():
            skip("mariadbd is not installed (apt-get install mariadb-server-core)")
        seed = int(os.environ.get("CARILLON_SEED", random.randrange(1_000_000)))
        print(f"CARILLON_SEED={seed}", flush=True)
        chaos = Chaos(self.folder, seed)
        self.addCleanup(chaos.close)
        try:
            chaos.start()
            chaos.strike(30)
            chaos.settle()
            wrong = chaos.account()
            self.assertFalse(wrong, "\n".join(wrong))
        except BaseException:
            for log in sorted(self.folder.glob("*.log")):
                print(f"---- {log.name}\n{log.read_text('utf-8', 'replace')[-harness.LOG_TAIL:]}",
                      file=sys.stderr)
            raise


if __name__ == "__main__":
    harness.main()
