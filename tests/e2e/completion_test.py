"""Completion in a real bash: keys are typed at a terminal, and what bash made of the line is read."""

import os
import pty
import re
import select
import shutil
import signal
import time

import harness
from harness import BIN, E2eTest

PROMPT = "prompt> "
START = f"""PS1='{PROMPT}'
PATH={BIN}:$PATH
bind 'set show-all-if-ambiguous on'
bind 'set enable-bracketed-paste off'
bind 'set page-completions off'
bind 'set completion-query-items 0'
bind 'set bell-style none'
for program in jobclient jobtracker tasktracker; do
  source <($program --completion bash)
  eval "$program() {{ printf '<%s>' \\"\\$@\\"; echo; }}"
done
"""


class Terminal:
    """A bash at a pseudo terminal. The programs only show what arguments they would get."""

    def __init__(self, folder):
        start = folder / "bashrc"
        start.write_text(START)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(shutil.which("bash"), ["bash", "--noprofile", "--rcfile", str(start), "-i"],
                      {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb"})
        self._read()

    def _read(self):
        text, limit = "", time.monotonic() + harness.PATIENCE
        while not text.endswith(PROMPT):
            if not select.select([self.fd], [], [], max(0, limit - time.monotonic()))[0]:
                raise AssertionError(f"bash gave no prompt: {text!r}")
            text += os.read(self.fd, 4096).decode("utf-8", "replace")
        return text

    def type(self, keys):
        """Everything that was shown, and the arguments that came of it."""
        os.write(self.fd, keys.encode() + b"\r")
        shown = self._read()
        # A list of what is possible is followed by the prompt and the line again.
        while "<" not in shown:
            shown += self._read()
        return shown, re.findall(r"<(.*?)>", shown.splitlines()[-2])

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class Bash(E2eTest):
    def setUp(self):
        super().setUp()
        (self.folder / "two words.sh").touch()
        self.terminal = Terminal(self.folder)
        self.addCleanup(self.terminal.close)

    def test_verbs_flags_and_values_are_completed(self):
        for keys, arguments in (
                ("jobclient exec\t", ["executing"]),
                ("jobclient imp\tcr\t --ap\t", ["import", "crontab", "--apply"]),
                ("jobclient import l\t - --app\t", ["import", "lts", "-", "--apply"]),
                ("jobclient submit --repl\t --overlap par\t", ["submit", "--replace-on-exist", "--overlap", "parallel"]),
                ("jobclient submit --overlap=par\t --prio\t", ["submit", "--overlap=parallel", "--priority"]),
                ("jobclient submit --shell 'echo hi' --time\t", ["submit", "--shell", "echo hi", "--timeout"]),
                ("jobclient --tracker tcp://a:1,tcp://b:2 -o wi\t hist\t --sin\t",
                 ["--tracker", "tcp://a:1,tcp://b:2", "-o", "wide", "history", "--since"]),
                ("jobclient list --output jsonl\t --tas\t", ["list", "--output", "jsonl", "--task-id"]),
                ("jobclient help imp\tcr\t", ["help", "import", "crontab"]),
                ("jobclient completion z\t", ["completion", "zsh"]),
                ("jobclient keys n\tkeys", ["keys", "new", "keys"]),
                ("jobtracker --lis\t", ["--listen"]),
                ("jobtracker --log-level de\t", ["--log-level", "debug"]),
                ("tasktracker --allow scr\t --thr\t", ["--allow", "script", "--threads"])):
            with self.subTest(keys):
                shown, got = self.terminal.type(keys)
                self.assertEqual(got, arguments, shown)

    def test_files_and_commands_are_completed_only_where_they_fit(self):
        for keys, arguments in (
                ("jobclient submit --script two\t", ["submit", "--script", "two words.sh"]),
                ("jobclient import crontab two\t", ["import", "crontab", "two words.sh"]),
                ("jobclient submit -- mkfif\t two\t", ["submit", "--", "mkfifo", "two words.sh"]),
                ("jobclient show two\t", ["show", "two"]),
                ("jobclient submit --owner two\t", ["submit", "--owner", "two"])):
            with self.subTest(keys):
                shown, got = self.terminal.type(keys)
                self.assertEqual(got, arguments, shown)

    def test_possible_completions_are_listed(self):
        shown, _ = self.terminal.type("jobclient su\t")
        self.assertRegex(shown, r"submit +suspend")
        shown, _ = self.terminal.type("jobclient submit --overlap \t")
        self.assertRegex(shown, r"cancel_running +queue +skip")
        shown, _ = self.terminal.type("jobclient kill -\t")
        self.assertIn("--job", shown)
        self.assertNotIn("--cron", shown)


if __name__ == "__main__":
    harness.main()
