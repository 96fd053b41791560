#!/usr/bin/env python3
"""Measures Carillon and its rivals side by side on this machine, in one run, taking turns.

  compare.py --jobs 200000 --repeat 3
  compare.py --peers river --workloads drain,latency --json

Needs Debian 12, a network, and carillon-bench built. Rivals are fetched from their registries into
a folder that is removed at the end (or kept, with --install DIR). They get new databases of their
own, on free ports. Every workload fails unless each job was run exactly once.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left behind in the sources

from carillon import Carillon
from figures import Results
from installation import Installation
from program import PeerError
from rivals import RIVALS

SOURCE = pathlib.Path(__file__).resolve().parents[3]
WORKLOADS = ("submit", "drain", "latency", "flow", "burst")
STORES = ("sqlite", "mysql", "mysql-stock")  # as carillon-bench has them


def names(text, allowed):
    chosen = text.split(",") if text else []
    for name in chosen:
        if name not in allowed:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(allowed)}")
    return chosen


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200_000, help="of submit and drain")
    parser.add_argument("--singles", type=int, default=20_000, help="jobs submitted one by one")
    parser.add_argument("--latency-jobs", type=int, default=300, help="of latency")
    parser.add_argument("--seconds", type=int, default=30, help="of flow")
    parser.add_argument("--burst-jobs", type=int, default=10_000, help="of burst")
    parser.add_argument("--repeat", type=int, default=1, help="rounds, in which all take turns")
    parser.add_argument("--workloads", type=lambda text: names(text, WORKLOADS),
                        default=",".join(WORKLOADS), help="which, separated by commas")
    parser.add_argument("--peers", type=lambda text: names(text, RIVALS), default=",".join(RIVALS),
                        help="which rivals, separated by commas")
    parser.add_argument("--stores", type=lambda text: names(text, STORES),
                        default="sqlite,mysql",
                        help="Carillon's stores, of " + ", ".join(STORES))
    parser.add_argument("--bin", type=pathlib.Path, default=SOURCE / "build/release/bin",
                        help="the folder of carillon-bench")
    parser.add_argument("--install", type=pathlib.Path,
                        help="where rivals are installed, and stay for the next run")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    return parser.parse_args()


def say(text):
    print(text, file=sys.stderr, flush=True)


def open_systems(arguments, installation):
    """The systems that can be measured, and how many cannot."""
    missing = 0
    systems = [Carillon(arguments.bin, store) for store in arguments.stores]
    for name in arguments.peers:
        say(f"installing {name} ...")
        try:
            systems.append(RIVALS[name](installation))
        except (PeerError, OSError) as error:
            say(f"left out {name}: {error}")
            missing += 1
    if not systems:
        raise PeerError("there is nothing to measure")
    return systems, missing


def measure_all(arguments, systems, folder, results):
    """Returns how many measurements failed."""
    failed = 0
    for turn in range(arguments.repeat):
        for workload in arguments.workloads:
            # Whoever begins has the coldest machine: not always the same one.
            for system in systems[turn % len(systems):] + systems[:turn % len(systems)]:
                if workload not in system.workloads:
                    continue
                place = folder / f"{turn}-{workload}-{system.name.replace(' ', '-')}"
                place.mkdir()
                place.chmod(0o755)
                try:
                    figures = system.measure(workload, arguments, place)
                except (PeerError, OSError) as error:
                    failed += 1
                    say(f"{system.name}, {workload}: FAILED: {error}")
                    continue
                results.add(system.name, figures)
                text = ", ".join(f"{name} {value:.6g}" for name, value in figures.items())
                say(f"{system.name}, {workload}: {text}")
                shutil.rmtree(place, ignore_errors=True)
    return failed


def run(arguments, folder):
    installation = Installation(arguments.install or folder / "install")
    systems, missing = open_systems(arguments, installation)
    ours = [system.name for system in systems if isinstance(system, Carillon)]
    results = Results(ours, [system.name for system in systems if system.name not in ours])
    failed = measure_all(arguments, systems, folder, results)
    durability = {system.name: system.durability for system in systems}
    machine = f"{os.cpu_count()} cores, {os.uname().sysname} {os.uname().release}"
    if arguments.json:
        print(json.dumps({"machine": machine, "jobs": arguments.jobs, "rounds": arguments.repeat,
                          "durability": durability, "others_cpu_percent": results.others,
                          "figures": results.to_json()}, indent=2))
    else:
        print(results.to_table())
        noise = (f"; other programs had up to {max(results.others):.0f} % of the CPU during the drains"
                 if results.others else "")
        print(f"\n{machine}; {arguments.jobs} jobs, {arguments.repeat} rounds{noise}.")
        for name, level in durability.items():
            print(f"{name}: {level}")
    return 1 if failed or missing else 0


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="carillon-peers-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # the databases run as another user
        try:
            return run(arguments, folder)
        except (PeerError, OSError) as error:
            say(f"compare: {error}")
            return 2


if __name__ == "__main__":
    sys.exit(main())
