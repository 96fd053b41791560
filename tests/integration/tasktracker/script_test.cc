#include "tasktracker/run/script.h"

#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/tasktracker/worker_bundle.h"

namespace carillon::tasktracker {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::RunOutcome;

// A fresh folder that is removed at the end.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "script-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
};

std::size_t files_below(const fs::path& path) {
  return static_cast<std::size_t>(
      std::distance(fs::recursive_directory_iterator(path), fs::recursive_directory_iterator{}));
}

struct Language {
  const char* name;
  const char* source;
};

class Script : public ::testing::TestWithParam<Language> {};

TEST_P(Script, RunsWithItsPayloadAndItsEnvironment) {
  WorkerBundle b;
  b.start();
  JobSpec spec = WorkerBundle::script(GetParam().name, GetParam().source);
  spec.params["who"] = "ann";
  spec.payload = "payload";
  const auto result = b.run(spec);
  EXPECT_EQ(result.message, "exit status 76") << b.output();
  EXPECT_EQ(result.outcome, RunOutcome::kFailed);
  EXPECT_EQ(b.output(), "ann payload\n");
}

INSTANTIATE_TEST_SUITE_P(
    Languages, Script,
    ::testing::Values(
        Language{"sh", "echo $CARILLON_PARAM_WHO $(cat)\nexit 76\n"},
        Language{"bash", "[[ a == a ]] && echo $CARILLON_PARAM_WHO $(cat)\nexit 76\n"},
        Language{"python",
                 "import os, sys\n"
                 "print(os.environ['CARILLON_PARAM_WHO'], sys.stdin.read())\n"
                 "sys.exit(76)\n"},
        Language{"node",
                 "const text = require('fs').readFileSync(0, 'utf8');\n"
                 "console.log(process.env.CARILLON_PARAM_WHO, text);\n"
                 "process.exitCode = 76;\n"},
        Language{"perl", "print \"$ENV{CARILLON_PARAM_WHO} \", <STDIN>, \"\\n\"; exit 76;\n"}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(ScriptRun, NamesTheMissingInterpreter) {
  const Folder empty;
  WorkerBundle b(
      WorkerBundle::Options{.environment = Environment{{{"PATH", empty.path.string()}}}});
  b.start();
  const auto result = b.run(WorkerBundle::script("powershell", "exit"));
  EXPECT_EQ(result.outcome, RunOutcome::kException);
  EXPECT_EQ(result.message,
            "no interpreter for powershell on this worker: pwsh, powershell not found in PATH "
            "(install it, or give the job to a group with this interpreter)");
}

TEST(ScriptRun, UsesPythonAsPython2OnlyIfItsVersionMatches) {
  const Folder folder;
  const std::string python = folder.path / "python";
  const Environment environment{{{"PATH", folder.path.string()}}};
  const auto answer_with = [&](const std::string& status) {
    std::ofstream(python) << "#!/bin/sh\nexit " << status << '\n';
    fs::permissions(python, fs::perms::owner_all);
    return find_interpreter("python2", environment);
  };
  const auto python3 = answer_with("1");
  ASSERT_FALSE(python3.ok());
  EXPECT_EQ(
      python3.error().message,
      "no interpreter for python2 on this worker: python2, python2.7 not found in PATH, and " +
          python +
          " is not Python 2 (install it, or give the job to a group with this interpreter)");
  const auto python2 = answer_with("0");
  ASSERT_TRUE(python2.ok()) << python2.error().message;
  EXPECT_THAT(python2.value().command, ElementsAre(python));
}

TEST(ScriptRun, NamesTheKnownLanguages) {
  WorkerBundle b;
  b.start();
  const auto result = b.run(WorkerBundle::script("cobol", "STOP RUN."));
  EXPECT_THAT(result.message, HasSubstr("'cobol'"));
  EXPECT_THAT(result.message,
              HasSubstr("sh bash python python2 node php perl ruby lua powershell"));
}

TEST(ScriptRun, LeavesNoFileBehind) {
  const Folder folder;
  std::map<std::string, std::string> variables = Environment::of_process().all();
  variables["TMPDIR"] = folder.path.string();
  {
    WorkerBundle b(WorkerBundle::Options{.environment = Environment{variables}});
    b.start();
    (void)b.run(WorkerBundle::script("sh", "echo $0; ls -l $0"));
    EXPECT_THAT(b.output(), HasSubstr(folder.path.string()));
    EXPECT_THAT(b.output(), HasSubstr("-rw-------")) << "nobody else reads it";
    EXPECT_EQ(files_below(folder.path), 1U) << "the worker's own folder";
  }
  EXPECT_EQ(files_below(folder.path), 0U);
}

TEST(ScriptFolder, RecreatesItselfAfterDeletion) {
  const Folder folder;
  ScriptFolder scripts(folder.path / "data");
  ASSERT_TRUE(scripts.write("a", ".sh").ok());
  fs::remove_all(folder.path / "data");
  EXPECT_TRUE(scripts.write("b", ".sh").ok());
}

TEST(ScriptFolder, NamesTheFolderThatItCannotWrite) {
  ScriptFolder scripts("/proc/nowhere");
  const auto written = scripts.write("a", ".sh");
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace carillon::tasktracker
