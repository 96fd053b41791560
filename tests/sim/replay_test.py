"""A seed of carillon-sim always gives the same simulation, and wrong usage is refused."""
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()


def simulate(*flags):
    return subprocess.run([PROGRAM, *flags], capture_output=True, text=True, check=False)


class Replay(unittest.TestCase):
    def test_same_seed_gives_the_same_simulation(self):
        first = simulate("--seed", "11")
        self.assertEqual(first.returncode, 0, first.stdout)
        self.assertRegex(first.stdout, r"seed 11: .* digest [0-9a-f]{16}, every promise was kept")
        self.assertEqual(simulate("--seed", "11").stdout, first.stdout)

    def test_different_seeds_give_different_simulations(self):
        lines = simulate("--seed", "12", "--seeds", "2").stdout.splitlines()
        digests = {line.split("digest ")[1][:16] for line in lines if "digest" in line}
        self.assertEqual(len(digests), 2)

    def test_simulated_hours_have_enough_jobs_and_faults(self):
        self.assertIn("2 of 2 hours count", simulate("--seed", "14", "--hours", "2").stdout)

    def test_wrong_usage_is_refused(self):
        for flags in (["--seed"], ["--seed", "0"], ["--seed", "x"], ["--hours", "1.5"], ["--sed", "1"]):
            with self.subTest(flags=flags):
                answer = simulate(*flags)
                self.assertEqual(answer.returncode, 2)
                self.assertIn("usage: carillon-sim", answer.stderr)


if __name__ == "__main__":
    unittest.main()
