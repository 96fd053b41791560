"""Carillon in a comparison: what carillon-bench measures, under the names used here."""

import json
import subprocess

from program import PeerError

# Of each workload, which figure of carillon-bench is which of ours.
NAMES = {
    # Rivals' 50 callers share a client too; 50 clients of their own are slower, and in its report.
    "submit": {"batches of 1000": "submit", "50 threads of one client": "singles",
               "50 threads of one client, answered p99": "singles p99"},
    "drain": {"drained": "drain", "others had of the cpu": "others"},
    "latency": {"submit to start p50": "latency p50", "submit to start p99": "latency p99"},
    "flow": {"flow, maximum": "flow"},
    "burst": {"first started": "burst first", "last started": "burst last"},
}
CPU = ("jobtracker cpu", "tasktrackers cpu, all", "mariadb cpu")


def flags_of(workload, options):
    return {
        "submit": ["--jobs", options.jobs, "--singles", options.singles, "--clients", 50],
        "drain": ["--jobs", options.jobs, "--workers", 2],
        "latency": ["--jobs", options.latency_jobs],
        "flow": ["--seconds", options.seconds, "--loads", "none"],
        "burst": ["--jobs", options.burst_jobs],
    }[workload]


def bench_program(bin_folder):
    """carillon-bench of that folder."""
    program = bin_folder.resolve() / "carillon-bench"
    if not program.exists():
        raise PeerError(f"{program} is not there: build the target carillon-bench (see "
                        "docs/internals/performance.md), or say --bin DIR")
    return program


class Carillon:
    workloads = tuple(NAMES)

    def __init__(self, bin_folder, store):
        self.program = bench_program(bin_folder)
        self.store = store
        self.name = f"carillon {store}"
        self.durability = ""

    def measure(self, workload, options, _folder):
        words = [self.program, workload, "--store", self.store, "--json",
                 "--warm-up", 0,  # rivals have none
                 *flags_of(workload, options)]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise PeerError(done.stderr.strip())
        report = json.loads(done.stdout)
        self.durability = report["durability"]
        values = {figure["name"]: figure["median"] for figure in report["figures"]}
        figures = {ours: values[theirs] for theirs, ours in NAMES[workload].items()}
        if workload == "drain":
            figures["drain cpu"] = sum(values.get(name, 0) for name in CPU)
        return figures
