"""Programs of a comparison: started, asked and answered in JSON lines, measured, ended by number."""

import json
import os
import pathlib
import signal
import subprocess
import threading
import time

PATIENCE = 600.0  # seconds that any single answer may take
LOG_TAIL = 600  # bytes of a log that an error quotes


class PeerError(Exception):
    """Something that makes a figure worthless: it is printed, and that figure is left out."""


class Program:
    """A program that answers each JSON line on its stdin with one on its stdout.

    Lines of its own accord, such as {"handled": 100}, go to `on_line`. It dies with this process.
    """

    def __init__(self, argv, log, environment=None, folder=None, on_line=None):
        self.argv = [str(word) for word in argv]
        self.log = pathlib.Path(log)
        self._on_line = on_line
        self._answers = []
        self._changed = threading.Condition()
        with open(self.log, "ab") as errors:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self.argv], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder,
                env={**os.environ, **(environment or {})})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            value = json.loads(line)
            if "answer" not in value and self._on_line:
                self._on_line(value)
                continue
            with self._changed:
                self._answers.append(value.get("answer"))
                self._changed.notify_all()
        with self._changed:
            self._answers.append(None)
            self._changed.notify_all()

    def tell(self, do, **arguments):
        """Says something that has no answer."""
        try:
            self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise PeerError(f"{self.describe()} is gone: {error}: {self.tail()}") from error

    def ask(self, do, patience=PATIENCE, **arguments):
        self.tell(do, **arguments)
        return self.answer(do, patience)

    def answer(self, what, patience=PATIENCE):
        """The next answer; `what` is for the error."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._answers, patience):
                raise PeerError(f"{self.describe()} did not answer '{what}' in {patience:.0f} s")
            answer = self._answers.pop(0)
        if answer is None:
            raise PeerError(f"{self.describe()} ended at '{what}': {self.tail()}")
        return answer

    def close(self):
        """Ends it: by the end of its stdin, or by force."""
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
                self.process.wait(10)
            except (OSError, subprocess.TimeoutExpired):
                self.process.kill()
        self.process.wait()
        self._reader.join()

    def describe(self):
        return " ".join(pathlib.Path(word).name for word in self.argv[:3])

    def tail(self):
        return self.log.read_text("utf-8", "replace")[-LOG_TAIL:]


def run(argv, log, environment=None, folder=None):
    """Runs a command to its end; PeerError with what it said unless it succeeds."""
    with open(log, "ab") as output:
        done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=output,
                              stderr=output, cwd=folder, check=False,
                              env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        tail = pathlib.Path(log).read_text("utf-8", "replace")[-LOG_TAIL:]
        raise PeerError(f"{' '.join(str(word) for word in argv)} failed: {tail}")


class Server:
    """A database of our own. SIGINT ends it quickly and cleanly."""

    def __init__(self, argv, log, environment=None):
        self.log = pathlib.Path(log)
        with open(self.log, "ab") as output:
            self.process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=output,
                                            env={**os.environ, **(environment or {})})

    def await_ready(self, is_ready, patience=60.0):
        end = time.monotonic() + patience
        while not is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                tail = self.log.read_text("utf-8", "replace")[-LOG_TAIL:]
                raise PeerError(f"{self.process.args[0]} did not get ready: {tail}")
            time.sleep(0.05)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait()
