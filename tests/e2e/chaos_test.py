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

import chaos_account
import harness
from chaos_account import Notes
from chaos_run import Chaos
from harness import E2eTest, Mariadb, skip


class Account(unittest.TestCase):
    def repeats(self, first_began):
        folder = tempfile.TemporaryDirectory(prefix="carillon-e2e-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "notes"
        lines = ["time 1", "frozen worker-1", "time 5", "start t 7 2 worker-2", "end t 7 2 worker-2 0",
                 "thawed worker-1", "time 6"]
        lines.insert(first_began, "start t 7 1 worker-1")
        path.write_text("\n".join(lines))
        return dict(Notes(path).repeats())

    def test_a_freeze_excuses_what_had_begun_before_it(self):
        self.assertEqual(self.repeats(first_began=1), {"frozen": 1})

    def test_a_freeze_excuses_nothing_that_begins_after_it(self):
        self.assertEqual(self.repeats(first_began=6), {"NOTHING": 1})


def noted(*lines):
    """The notes of these lines, and what the checks count."""
    with tempfile.TemporaryDirectory(prefix="carillon-e2e-") as folder:
        path = pathlib.Path(folder, "notes")
        path.write_text("\n".join(lines))
        return Notes(path), collections.Counter()


def row(task, state, job="7", **more):
    return {"task_id": task, "state": state, "job_id": job, "attempt": 1, "group": "g", "message": "",
            "trigger_time": "1970-01-01T00:01:40.000Z", **more}


class Checks(unittest.TestCase):
    """Each check finds what it is there for, and nothing where all is well."""

    def cancelled(self, lines, state, finals=1):
        notes, counts = noted(*lines)
        return chaos_account.of_cancellations(notes, [row("c", state)], {"c": "task 'c' cancelled"},
                                              collections.Counter(c=finals), counts), counts

    def test_a_run_after_a_cancellation_is_found(self):
        before = ["time 1", "start c 7 1 n", "end c 7 1 n 1", "time 2", "cancelled c"]
        wrong, counts = self.cancelled(before, "cancelled")
        self.assertEqual((wrong, counts["cancelled while retrying"]), ([], 1))
        self.assertEqual(len(self.cancelled([*before, "time 6", "start c 7 2 n"], "cancelled")[0]), 1)
        self.assertEqual(len(self.cancelled(before, "failed")[0]), 1)
        self.assertEqual(len(self.cancelled(before, "cancelled", finals=0)[0]), 1)

    def test_a_run_in_a_suspension_is_found(self):
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

    def test_a_trigger_without_its_run_or_with_two_is_found(self):
        def wrong(*lines):
            notes, counts = noted(*lines)
            return chaos_account.of_triggers(notes, [row("t", "succeeded")], {"a": "7"}, {"b"}, counts)
        self.assertEqual(wrong("token a 7"), [])
        self.assertEqual(len(wrong()), 1)
        self.assertEqual(len(wrong("token a 7", "token a 8")), 1)
        self.assertEqual(len(wrong("token a 7", "token b 8", "token b 9")), 1)

    def test_a_child_that_ran_too_seldom_or_too_often_is_found(self):
        def wrong(children):
            history = [row("p", "succeeded"), *(row("c", "succeeded", str(job)) for job in range(children))]
            return chaos_account.of_children(history, {"p": ("g", "c")}, collections.Counter())
        self.assertEqual([len(wrong(children)) for children in (0, 1, 2)], [1, 0, 1])

    def test_a_result_that_is_not_told_or_told_in_another_order_is_found(self):
        stored = [("1", "1", "7", "1", "f"), ("2", "1", "8", "1", "f")]

        def wrong(*jobs):
            return chaos_account.of_feedback([row("f", "succeeded", job) for job in jobs], stored,
                                             {"f"}.__contains__, collections.Counter())
        self.assertEqual(wrong("7", "8"), [])
        self.assertEqual(wrong("7", "7", "8", "7"), [], "at least once")
        self.assertEqual([len(wrong("7")), len(wrong("8", "7"))], [1, 1])

    def test_what_was_never_exercised_is_found(self):
        counts = collections.Counter({what: 1 for what in chaos_account.NEEDED})
        self.assertEqual(chaos_account.not_exercised(counts), [])
        counts["suspensions"] = 0
        self.assertEqual(chaos_account.not_exercised(counts), ["never exercised: suspensions"])


class Short(E2eTest):
    def test_every_acknowledged_job_ends_once_and_runs_again_only_for_a_reason(self):
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
