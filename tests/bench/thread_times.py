#!/usr/bin/env python3
"""What the threads of a process do with their time: run, wait for a core, wait for the disk, sleep.

  tests/bench/thread_times.py PID --seconds 10
  tests/bench/thread_times.py --name jobtracker --seconds 10     the newest process of that name

Running and waiting for a core are counted by the kernel (/proc/PID/task/TID/schedstat). What else a thread
does is seen 200 times a second by the system call that it is in: those that read, write or flush at a place in a
file are the disk's, all others are sleep. Of another user's process only root sees that. Linux on x86-64 and arm64.
"""

import argparse
import pathlib
import platform
import sys
import time

# fsync, fdatasync, pread64, pwrite64, pwritev, pwritev2, sync_file_range
DISK_CALLS = {
    "x86_64": {74, 75, 17, 18, 296, 328, 277},
    "aarch64": {82, 83, 67, 68, 70, 287, 84},
}
PERIOD = 0.005


def newest(name):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        if text[text.index("(") + 1:text.rindex(")")] == name[:15]:
            found.append((int(text.rsplit(")", 1)[1].split()[19]), int(stat.parent.name)))
    if not found:
        sys.exit(f"thread_times: no process is called '{name}'")
    return max(found)[1]


def times(task):
    ran, waited, _ = (task / "schedstat").read_text().split()
    return int(ran) / 1e9, int(waited) / 1e9


def is_at_the_disk(task, calls):
    words = (task / "syscall").read_text().split()
    return words[0] != "running" and int(words[0]) in calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pid", type=int, nargs="?")
    parser.add_argument("--name")
    parser.add_argument("--seconds", type=float, default=10)
    given = parser.parse_args()
    if (given.pid is None) == (given.name is None):
        parser.error("give PID or --name")
    calls = DISK_CALLS.get(platform.machine())
    if calls is None:
        sys.exit(f"thread_times: the numbers of the system calls of {platform.machine()} are not known")
    folder = pathlib.Path(f"/proc/{given.pid or newest(given.name)}/task")
    try:
        tasks = {task: (task / "comm").read_text().strip() for task in folder.iterdir()}
        before = {task: times(task) for task in tasks}
    except OSError as error:
        sys.exit(f"thread_times: {error}")
    seen = dict.fromkeys(tasks, 0)
    samples, began = 0, time.monotonic()
    while time.monotonic() < began + given.seconds:
        time.sleep(PERIOD)
        samples += 1
        for task in list(tasks):
            try:
                seen[task] += is_at_the_disk(task, calls)
            except OSError:
                del tasks[task]
    elapsed = time.monotonic() - began
    print(f"{'thread':18} {'runs':>7} {'waits for a core':>17} {'for the disk':>13} {'sleeps':>7}   % of {elapsed:.1f} s")
    rows = []
    for task, name in tasks.items():
        try:
            ran, waited = (100 * (now - then) / elapsed for now, then in zip(times(task), before[task]))
        except OSError:
            continue  # It has ended.
        disk = 100 * seen[task] / samples
        rows.append((ran, name, waited, disk))
    for ran, name, waited, disk in sorted(rows, reverse=True):
        print(f"{name:18} {ran:7.1f} {waited:17.1f} {disk:13.1f} {max(0.0, 100 - ran - waited - disk):7.1f}")


if __name__ == "__main__":
    main()
