#!/usr/bin/env python3
"""Measures how late Carillon and ratch-job call executors of xxl-job, taking turns.

  compare_push.py
  compare_push.py --fires 1000,20000 --seconds 60 --json

Jobs that fire at the start of each second, on SQLite and on ratch-job's own files, call the
executor of carillon-bench. Needs a network, cargo, and carillon-bench built; installs as compare.py.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing is left behind in the sources

import cpu
from carillon import bench_program
from installation import Installation
from program import PeerError
from ratch import APP, Ratch

SOURCE = pathlib.Path(__file__).resolve().parents[3]
COLUMNS = ("fires/s", "missed", "p50 ms", "p99 ms", "max ms", "memory, peak MiB",
           "others had of the CPU, %")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--fires", type=lambda text: [int(word) for word in text.split(",")],
                        default="1000,10000", help="a second, separated by commas")
    parser.add_argument("--seconds", type=int, default=30, help="how long they are watched")
    parser.add_argument("--bin", type=pathlib.Path, default=SOURCE / "build/release/bin",
                        help="the folder of carillon-bench")
    parser.add_argument("--install", type=pathlib.Path,
                        help="where ratch-job is built, and stays for the next run")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    return parser.parse_args()


def bench(arguments, *words):
    """The figures of a workload of carillon-bench, by name, and what a commit survives."""
    argv = [bench_program(arguments.bin), *words, "--seconds", arguments.seconds, "--warm-up", 0,
            "--json"]
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerError(done.stderr.strip())
    report = json.loads(done.stdout)
    return {figure["name"]: figure["median"] for figure in report["figures"]}, report["durability"]


def row_of(values, missed, memory):
    return dict(zip(COLUMNS, (values["fires"], missed, values["lateness p50"],
                              values["lateness p99"], values["lateness max"], memory)))


def measure_carillon(arguments, fires):
    # It fails if one is missed.
    values, durability = bench(arguments, "push", "--store", "sqlite", "--fires", fires)
    return row_of(values, 0, values["jobtracker memory, peak"]), durability


def measure_ratch(arguments, fires, argv, folder):
    ratch = Ratch(argv, folder)
    try:
        ratch.add_jobs(fires)
        values, _ = bench(arguments, "executor", ratch.admin, APP, "--fires", fires)
        memory = cpu.memory_peak(ratch.process)
    finally:
        ratch.close()
    return row_of(values, values["missed"], memory), Ratch.durability


def cpu_of_others():
    return cpu.of_machine() - cpu.of_trees({os.getpid()})


def measure_all(arguments, folder):
    argv = Installation(arguments.install or folder / "install").rust_program(Ratch.name,
                                                                              Ratch.version)
    measured = []
    for turn, fires in enumerate(arguments.fires):
        place = folder / f"ratch-{turn}"
        place.mkdir()
        systems = [("carillon", lambda fires=fires: measure_carillon(arguments, fires)),
                   ("ratch-job", lambda fires=fires, place=place:
                    measure_ratch(arguments, fires, argv, place))]
        for name, measure in systems[::-1] if turn % 2 else systems:
            print(f"{name}, {fires} fires a second ...", file=sys.stderr, flush=True)
            others, began = cpu_of_others(), time.monotonic()
            row, durability = measure()
            row["others had of the CPU, %"] = cpu.share_of_machine(cpu_of_others() - others,
                                                                   time.monotonic() - began)
            measured.append({"system": name, "due": fires, **row, "durability": durability})
    return measured


def to_table(measured):
    lines = ["| | fires due/s | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 2) + "|"]
    for one in sorted(measured, key=lambda one: one["due"]):
        cells = [f"{one[name]:,.4g}" if abs(one[name]) < 1000 else f"{one[name]:,.0f}"
                 for name in COLUMNS]
        lines.append(f"| {one['system']} | {one['due']} | " + " | ".join(cells) + " |")
    for name, durability in {one["system"]: one["durability"] for one in measured}.items():
        lines.append(f"{name}: {durability}")
    return "\n".join(lines)


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="carillon-peers-", ignore_cleanup_errors=True) as name:
        try:
            measured = measure_all(arguments, pathlib.Path(name))
        except (PeerError, OSError) as error:
            print(f"compare_push: {error}", file=sys.stderr)
            return 2
    print(json.dumps(measured, indent=2) if arguments.json else to_table(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
