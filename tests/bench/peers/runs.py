"""Whether each job was run once, from what the workers say: a bit for each job's number."""

import base64

from program import PeerError

NAMED = 5  # jobs that an error names


def bits(text):
    """A bitmap that a worker has sent, as an integer: job 0 is its lowest bit."""
    return int.from_bytes(base64.b64decode(text), "little")


def describe(what, found):
    """A list of such as '2 were run twice (3, 17)', or an empty one."""
    if not found:
        return []
    count, names = found.bit_count(), []
    while found and len(names) < NAMED:
        names.append(str((found & -found).bit_length() - 1))
        found &= found - 1
    return [f"{count} {what} ({', '.join(names)}{', ...' if found else ''})"]


def check_each_once(jobs, reports):
    """PeerError unless each of the jobs 0 to `jobs` - 1, and no other, was run once.

    A report has the bitmaps `ran` and, of what that worker has run again, `twice`.
    """
    ran = twice = 0
    for report in reports:
        here = bits(report["ran"])
        twice |= bits(report["twice"]) | (ran & here)
        ran |= here
    every = (1 << jobs) - 1
    faults = [*describe("were never run", every & ~ran), *describe("were run twice", twice),
              *describe("were run that were not submitted", ran & ~every)]
    if faults:
        raise PeerError(f"of {jobs} jobs " + ", ".join(faults))
