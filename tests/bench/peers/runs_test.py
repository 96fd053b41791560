#!/usr/bin/env python3
"""Tests of runs.py."""

import base64
import sys
import unittest

sys.dont_write_bytecode = True  # nothing is left behind in the sources

from program import PeerError
from runs import check_each_once


def report(*ran, twice=()):
    def bitmap(numbers):
        value = sum(1 << number for number in numbers)
        # Longer than it needs to be, as some languages have it.
        return base64.b64encode(value.to_bytes(8, "little")).decode()
    return {"ran": bitmap(ran), "twice": bitmap(twice)}


class RunsTest(unittest.TestCase):
    def refused(self, jobs, *reports):
        with self.assertRaises(PeerError) as caught:
            check_each_once(jobs, reports)
        return str(caught.exception)

    def test_takes_each_job_once_from_any_worker(self):
        check_each_once(5, [report(0, 3), report(1, 2, 4)])
        check_each_once(2, [report(0, 1), {"ran": "", "twice": ""}])

    def test_names_what_was_lost_although_count_and_sum_are_right(self):
        self.assertEqual(self.refused(5, report(0, 2), report(2, 4), report(1, twice=[1])),
                         "of 5 jobs 1 were never run (3), 2 were run twice (1, 2)")

    def test_names_what_was_not_submitted(self):
        self.assertEqual(self.refused(2, report(0, 1, 7)),
                         "of 2 jobs 1 were run that were not submitted (7)")

    def test_names_a_few_of_many(self):
        self.assertEqual(self.refused(9, report(8)),
                         "of 9 jobs 8 were never run (0, 1, 2, 3, 4, ...)")


if __name__ == "__main__":
    unittest.main()
