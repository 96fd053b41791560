#include "tests/support/corpus.h"

namespace carillon::wire {
namespace {

TEST(CodecCorpus, SurvivesEverySavedFuzzInput) { replay_corpus("codec", 20); }

}  // namespace
}  // namespace carillon::wire
