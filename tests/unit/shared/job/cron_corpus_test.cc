#include "tests/support/corpus.h"

namespace carillon {
namespace {

TEST(CronCorpus, SurvivesEverySavedFuzzInput) { replay_corpus("cron", 20); }

}  // namespace
}  // namespace carillon
