#!/usr/bin/env python3
"""Measures how fast Carillon and other libraries compile cron expressions and find next fires.

  compare_cron.py
  compare_cron.py --ms 1000 --json

Each library runs in a process of its own language, walks from fire to fire in one zone, and is
called again and again for some time. Needs what compare.py needs, and a JDK and Maven; installs in
the same way.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left behind in the sources

from carillon import bench_program
from installation import Installation
from program import PeerError

SOURCE = pathlib.Path(__file__).resolve().parents[3]
# carillon-bench cron-parse has the same, by the same names.
EXPRESSIONS = {
    "daily": "0 2 * * *",
    "every five minutes": "*/5 * * * *",
    "office hours": "0 9-17 * * 1-5",
    "once a year": "30 2 1 1 *",
    "leap days": "0 0 29 2 *",
}
PYTHON_LIBRARIES = ("cronsim==2.8", "croniter==7.0.0")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--ms", type=int, default=300, help="how long each call is repeated")
    parser.add_argument("--bin", type=pathlib.Path, default=SOURCE / "build/release/bin",
                        help="the folder of carillon-bench")
    parser.add_argument("--install", type=pathlib.Path,
                        help="where libraries are installed, and stay for the next run")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    return parser.parse_args()


def output_of(argv):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerError(f"{argv[0]}: {done.stderr[-600:]}")
    return json.loads(done.stdout)


def measure_carillon(arguments):
    report = output_of([bench_program(arguments.bin), "cron-parse", "--json",
                        "--time", f"{arguments.ms}ms"])
    values = {figure["name"]: figure["median"] for figure in report["figures"]}
    return {what: {"compile": values[f"{what}, compile"], "next": values[f"{what}, next fire"]}
            for what in EXPRESSIONS}


def measure_all(arguments, folder):
    measured = {"carillon": measure_carillon(arguments)}
    installation = Installation(arguments.install or folder / "install")
    plan = json.dumps({"expressions": EXPRESSIONS, "zone": "Europe/Berlin",
                       "start": "2026-01-01T00:00:00Z", "ms": arguments.ms})
    measured |= output_of([*installation.go_program("cron_go"), plan])
    measured |= output_of([*installation.node_program("cron_node"), plan])
    measured |= output_of([*installation.python_program("cron_python", PYTHON_LIBRARIES), plan])
    return measured | output_of([*installation.java_program("cron_java", "CronPeer"), plan])


def to_table(measured):
    lines = ["| ns | " + " | ".join(measured) + " |", "|---" * (len(measured) + 1) + "|"]
    for call in ("compile", "next"):
        for what in EXPRESSIONS:
            cells = [f"{figures[what][call]:,.0f}".replace(",", " ")
                     for figures in measured.values()]
            lines.append(f"| {call}, {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="carillon-peers-", ignore_cleanup_errors=True) as name:
        try:
            measured = measure_all(arguments, pathlib.Path(name))
        except (PeerError, OSError) as error:
            print(f"compare_cron: {error}", file=sys.stderr)
            return 2
    print(json.dumps(measured, indent=2) if arguments.json else to_table(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
