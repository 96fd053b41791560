#include "tests/support/corpus.h"

namespace carillon::wire {
namespace {

TEST(CodecCorpus, PassesEveryInputThatWasEverKept) { replay_corpus("codec", 20); }

}  // namespace
}  // namespace carillon::wire
