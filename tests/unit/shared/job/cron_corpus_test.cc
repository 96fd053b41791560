#include "tests/support/corpus.h"

namespace carillon {
namespace {

TEST(CronCorpus, PassesEveryInputThatWasEverKept) { replay_corpus("cron", 20); }

}  // namespace
}  // namespace carillon
