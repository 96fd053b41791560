#!/usr/bin/env python3
"""Checks the house rules that a compiler does not: see rules.toml beside this file.

  tidy.py ROOT              reports what breaks a rule below ROOT as path:line: rule: what; exits 1
  tidy.py --format ROOT     checks the format of all C++ files with clang-format-14
  tidy.py --self-test       every rule must report its bad sample in samples/, and nothing else
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED_FOLDERS = {".git", ".cache", "build", "node_modules"}
SKIPPED_PATHS = ("tests/tidy", "tests/data", "tests/fuzz/corpus")
CODE = (".h", ".cc")
TEXTS = CODE + (".md", ".txt", ".cmake", ".sql", ".sh", ".py", ".toml", ".json", ".service", ".in",
                ".html", ".js", ".css", ".yml", ".yaml", "")
PUBLIC_ROOTS = ("shared/include", "jobclient/include", "tasktracker/include")


def is_below(path, prefix):
    """Whether `path` is `prefix`, lies in that folder, or is that file with some extension."""
    return path == prefix or path.startswith((prefix + "/", prefix + "."))


def is_below_any(path, prefixes):
    return any(is_below(path, prefix) for prefix in prefixes)


def blank_out(match):
    return re.sub(r"[^\n]", " ", match.group())


def without_comments(text):
    """The code alone, line by line as before: comments and what stands in quotes are blank."""
    return re.sub(
        r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
        blank_out, text, flags=re.DOTALL)


def starts_initializer(bare, brace):
    """Whether this { begins the value of something, and not a block; by how clang-format sets it."""
    before = bare[:brace].rstrip()
    if len(before) == brace:  # Type{, f({, {{
        return True
    return before.endswith(("=", ",", "(", "{")) or re.search(r"\breturn$", before) is not None


def is_in_initializer(bare, at):
    """Whether what stands at `at` is part of a braced initializer."""
    closed = 0
    for place in range(at - 1, -1, -1):
        letter = bare[place]
        if letter in ")}]":
            closed += 1
        elif letter in "({[" and closed > 0:
            closed -= 1
        elif letter == ";" and closed == 0:
            return False
        elif letter == "{":
            # One block ends the search, and so does the first initializer.
            return starts_initializer(bare, place)
    return False


class Tree:
    """The files below a root, read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.texts = {}
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
            for name in sorted(set(files) - SKIPPED_FOLDERS):  # In a work tree .git is a file.
                path = pathlib.Path(folder, name)
                relative = path.relative_to(self.root).as_posix()
                if path.suffix not in TEXTS or is_below_any(relative, SKIPPED_PATHS):
                    continue
                try:
                    self.texts[relative] = path.read_text(encoding="utf-8")
                except (UnicodeDecodeError, FileNotFoundError):
                    continue  # Not a text, or gone since it was listed.

    def code(self):
        return {path: text for path, text in self.texts.items() if path.endswith(CODE)}


class Tidy:
    def __init__(self, rules, tree):
        self.rules = rules
        self.tree = tree
        self.errors = []
        self.warnings = []

    def report(self, path, line, rule, what):
        self.errors.append((path, line, rule, what))

    def run(self):
        for path, text in self.tree.code().items():
            bare = without_comments(text)
            self.check_includes(path, text)
            self.check_forbidden(path, bare)
            self.check_initializers(path, bare)
            self.check_header(path, text)
            self.check_size(path, text)
        for path, text in self.tree.texts.items():
            self.check_text(path, text)
        self.check_sources_are_listed()
        self.check_architecture()
        self.check_shown_by()

    # Includes.

    def layer_of(self, path):
        fitting = [layer for layer in self.rules["layers"] if is_below(path, layer)]
        return max(fitting, key=len, default=None)

    def allowed_layers(self, layer):
        """`layer`, what it may include, what that may include, and so on."""
        seen, left = set(), [layer]
        while left:
            current = left.pop()
            if current not in seen:
                seen.add(current)
                left += self.rules["layers"].get(current, [])
        return seen

    def resolve(self, name):
        for root in PUBLIC_ROOTS:
            if name.startswith("carillon/") and f"{root}/{name}" in self.tree.texts:
                return f"{root}/{name}"
        return name

    def check_includes(self, path, text):
        for number, line in enumerate(text.splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if match is None:
                continue
            self.check_third_party(path, number, match[2])
            if match[1] == '"':
                self.check_own(path, number, self.resolve(match[2]))

    def check_third_party(self, path, line, name):
        for pattern, homes in self.rules["third_party"].items():
            if not re.match(pattern, name) or path.startswith("tests/"):
                continue
            if not is_below_any(path, homes):
                places = ", ".join(homes) or "tests"
                self.report(path, line, "third-party", f"<{name}> belongs to {places}")
            elif "/include/" in path:
                self.report(path, line, "third-party", f"<{name}> in a header that is promised")

    def check_own(self, path, line, name):
        layer = self.layer_of(path)
        if layer is None:
            self.report(path, line, "layer", f"no entry of [layers] fits {path}")
            return
        if name.startswith("carillon/") or "/" not in name:
            self.report(path, line, "layer", f'"{name}" is no path from the root of the repository')
            return
        if not is_below_any(name, self.allowed_layers(layer)):
            self.report(path, line, "layer", f"{layer} may not include {name}")
        adapters = self.rules["adapters"]
        for folder in adapters["folders"]:
            if is_below(name, folder) and not is_below(path, folder) and not is_below_any(
                    path, adapters["named_by"] + adapters["folders"]):
                self.report(path, line, "adapter",
                            f"{name} is an adapter: include its port, let main name the adapter")

    # Single files.

    def check_forbidden(self, path, bare):
        for rule in self.rules["forbidden"]:
            if is_below_any(path, rule["homes"]):
                continue
            if "only" in rule and not is_below_any(path, rule["only"]):
                continue
            for match in re.finditer(rule["pattern"], bare):
                line = bare.count("\n", 0, match.start()) + 1
                self.report(path, line, rule["name"], f"'{match[0].strip()}': {rule['instead']}")

    def check_initializers(self, path, bare):
        """g++ 12 forgets what a braced initializer has made already when it is left by return."""
        for match in re.finditer(r"\bCARILLON_TRY\(", bare):
            if is_in_initializer(bare, match.start()):
                line = bare.count("\n", 0, match.start()) + 1
                self.report(path, line, "try-in-braces",
                            "CARILLON_TRY in a braced initializer leaks in g++ 12: take the value first")

    def check_text(self, path, text):
        for rule in self.rules["text"]:
            for match in re.finditer(rule["pattern"], text):
                line = text.count("\n", 0, match.start()) + 1
                self.report(path, line, rule["name"], f"'{match[0].strip()}': {rule['instead']}")

    def check_header(self, path, text):
        if path.endswith(".h") and not text.startswith("#pragma once\n"):
            self.report(path, 1, "pragma-once", "a header begins with #pragma once")

    def check_size(self, path, text):
        lines = text.count("\n")
        for rule in self.rules["size"]:
            if not re.fullmatch(rule["files"], path):
                continue
            if lines > rule["limit"]:
                self.report(path, lines, "size", f"{lines} lines, the limit is {rule['limit']}")
            elif lines > rule["aim"]:
                self.warnings.append(f"{path}: {lines} lines, the aim is {rule['aim']}")
            return

    # The tree as a whole.

    def check_sources_are_listed(self):
        """A source that nobody compiles rots."""
        listed = set()
        for path, text in self.tree.texts.items():
            folder = os.path.dirname(path)
            if not path.endswith("CMakeLists.txt"):
                continue
            for name in re.findall(r"[\w./-]+\.cc(?![\w.-])", text):
                listed.add(os.path.normpath(os.path.join(folder, name)))
        for path in self.tree.code():
            if path.endswith(".cc") and path not in listed:
                self.report(path, 1, "listed", "no CMakeLists.txt names this file")

    def check_architecture(self):
        """The map may not show what is not there."""
        text = self.tree.texts.get("ARCHITECTURE.md", "")
        tests = self.test_names()
        for number, line in enumerate(text.splitlines(), 1):
            for name in re.findall(r"`([\w.-]+(?:/[\w.{},*-]+)*/?)`", line):
                if "/" in name and not any(self.exists(variant) for variant in variants(name)):
                    self.report("ARCHITECTURE.md", number, "architecture", f"{name} is not there")
            for name in re.findall(r"`([A-Z]\w*\.[A-Z]\w*|test_\w+)`", line):
                if name not in tests:
                    self.report("ARCHITECTURE.md", number, "test-name", f"there is no test {name}")

    def check_shown_by(self):
        """Each row of a table "shown by" tests names tests that are there, or says that none is."""
        tests = self.test_names()
        for path, text in self.tree.texts.items():
            shows = False
            for number, line in enumerate(text.splitlines() if path.endswith(".md") else [], 1):
                cell = line.rstrip("| ").rpartition("|")[2].strip() if line.startswith("|") else None
                if cell is None or cell == "shown by":
                    shows = cell is not None
                elif shows and not re.fullmatch(r"-+|–|not yet|`[\w.]+`(, `[\w.]+`)*", cell):
                    self.report(path, number, "shown-by", f"no test, – or 'not yet': {cell}")
                elif shows:
                    for name in re.findall(r"`([\w.]+)`", cell):
                        if name not in tests:
                            self.report(path, number, "shown-by", f"there is no test {name}")

    def test_names(self):
        """"Suite.Name" of each C++ test, the functions of the Python tests, sim_… of the simulation, and
        bench_… of the workloads that are compared by ratio."""
        names = set()
        for path, text in self.tree.texts.items():
            if workload := re.fullmatch(r"tests/bench/workloads/(\w+)\.cc", path):
                names.add(f"bench_{workload[1]}")
            if path.startswith("tests/"):
                names |= {f"{suite}.{name}" for suite, name in
                          re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", text, re.MULTILINE)}
                names |= set(re.findall(r"^ +def (test_\w+)\(", text, re.MULTILINE))
                names |= {f"sim_{name}" for name in re.findall(r"^sim_test\((\w+) \d", text, re.MULTILINE)}
        return names

    def exists(self, name):
        if "*" in name:
            return any(self.tree.root.glob(name))
        return (self.tree.root / name).exists() or any(
            (self.tree.root / root / name).exists() for root in PUBLIC_ROOTS)


def variants(name):
    """store.{h,cc} stands for two files."""
    match = re.search(r"\{([^}]*)\}", name)
    if match is None:
        return [name]
    return [name[:match.start()] + part + name[match.end():] for part in match[1].split(",")]


def check(root, rules):
    tidy = Tidy(rules, Tree(root))
    tidy.run()
    return tidy


def check_format(root):
    program = shutil.which("clang-format-14")
    if program is None:
        if os.environ.get("CARILLON_CI") == "1":
            print("tidy: clang-format-14 is missing (apt-get install clang-format-14)")
            return 1
        print("tidy: skipped, clang-format-14 is not installed")
        return 77
    files = sorted(Tree(root).code())
    return subprocess.run([program, "--dry-run", "-Werror", *files], cwd=root, check=False).returncode


def write_sample(sample, folder):
    """A sample is several files: lines after "=== path" are that file."""
    for part in re.split(r"^=== ", sample, flags=re.MULTILINE)[1:]:
        name, text = part.split("\n", 1)
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def self_test(rules):
    names = {"layer", "adapter", "third-party", "pragma-once", "size", "listed", "architecture",
             "test-name", "shown-by", "try-in-braces"}
    names |= {rule["name"] for rule in rules["forbidden"] + rules["text"]}
    samples = {path.stem: path.read_text(encoding="utf-8")
               for path in sorted((HERE / "samples").glob("*.sample"))}
    problems = [f"rule {name} has no samples/{name}.sample" for name in sorted(names - set(samples))]
    problems += [f"samples/{name}.sample belongs to no rule"
                 for name in sorted(set(samples) - names - {"good"})]
    for name, sample in samples.items():
        with tempfile.TemporaryDirectory() as folder:
            write_sample(sample, folder)
            if name == "size":
                path = pathlib.Path(folder, "shared/base/long.h")
                path.write_text("#pragma once\n" + "\n" * 350, encoding="utf-8")
            found = {rule for _, _, rule, _ in check(folder, rules).errors}
        wanted = set() if name == "good" else {name}
        if found != wanted:
            problems.append(f"samples/{name}.sample: reported {sorted(found)}, not {sorted(wanted)}")
    for problem in problems:
        print(f"tidy: {problem}")
    print(f"tidy: {len(samples)} samples, {len(problems)} problems")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description="Checks the house rules.")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--format", action="store_true")
    parser.add_argument("root", nargs="?", default=HERE.parent.parent)
    arguments = parser.parse_args()
    rules = tomllib.loads((HERE / "rules.toml").read_text(encoding="utf-8"))
    if arguments.self_test:
        return self_test(rules)
    if arguments.format:
        return check_format(arguments.root)
    tidy = check(arguments.root, rules)
    for warning in sorted(tidy.warnings):
        print(f"note: {warning}")
    for path, line, rule, what in sorted(tidy.errors):
        print(f"{path}:{line}: {rule}: {what}")
    print(f"tidy: {len(tidy.errors)} errors, {len(tidy.warnings)} notes")
    return 1 if tidy.errors else 0


if __name__ == "__main__":
    sys.exit(main())
