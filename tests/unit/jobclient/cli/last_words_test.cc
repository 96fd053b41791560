#include "jobclient/cli/last_words.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace carillon::cli {
namespace {

TEST(LastWords, AreSaidBeforeTheSignalEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          const LastWords words("job 7 goes on\n");
          ::raise(signal);
          ::_exit(0);
        },
        ::testing::KilledBySignal(signal), "^job 7 goes on\n$");
  }
}

TEST(LastWords, AreForgottenWithTheirOwner) {
  EXPECT_EXIT(
      {
        { const LastWords words("job 7 goes on\n"); }
        ::raise(SIGINT);
        ::_exit(0);
      },
      ::testing::KilledBySignal(SIGINT), "^$");
}

TEST(LastWords, LeaveAnIgnoredSignalIgnored) {
  EXPECT_EXIT(
      {
        ::signal(SIGINT, SIG_IGN);
        const LastWords words("job 7 goes on\n");
        ::raise(SIGINT);
        ::_exit(9);
      },
      ::testing::ExitedWithCode(9), "^$");
}

}  // namespace
}  // namespace carillon::cli
