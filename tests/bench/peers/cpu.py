"""CPU time of process trees and of the machine, from /proc."""

import os
import pathlib

TICK = os.sysconf("SC_CLK_TCK")


def _stat(process):
    try:
        text = pathlib.Path(f"/proc/{process}/stat").read_text("ascii", "replace")
    except OSError:
        return None
    # The name in parentheses may hold anything, so count from behind it.
    return text[text.rindex(")") + 2:].split()


def of_trees(roots):
    """Seconds that these processes and all below them have used, ended children included."""
    parents, used = {}, {}
    for entry in os.listdir("/proc"):
        fields = _stat(entry) if entry.isdigit() else None
        if fields is None:
            continue
        parents[int(entry)] = int(fields[1])
        used[int(entry)] = sum(int(field) for field in fields[11:15]) / TICK
    total = 0.0
    for process, seconds in used.items():
        ancestor = process
        while ancestor and ancestor not in roots:
            ancestor = parents.get(ancestor, 0)
        total += seconds if ancestor else 0.0
    return total


def memory_peak(process):
    """The most memory that it has had, in MiB."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text("ascii", "replace").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def of_machine():
    """Seconds that all processes together have used."""
    words = pathlib.Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, words[1:9])
    return (user + nice + system + irq + softirq + steal) / TICK


def share_of_machine(seconds, elapsed):
    """In percent of all cores."""
    return max(0.0, 100 * seconds / elapsed / os.cpu_count())
