#include "jobclient/cli/signal_message.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace carillon::cli {
namespace {

TEST(SignalMessage, ArePrintedBeforeASignalEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          const SignalMessage words("job 7 goes on\n");
          ::raise(signal);
          ::_exit(0);
        },
        ::testing::KilledBySignal(signal), "^job 7 goes on\n$");
  }
}

TEST(SignalMessage, AreDiscardedWithTheirOwner) {
  EXPECT_EXIT(
      {
        { const SignalMessage words("job 7 goes on\n"); }
        ::raise(SIGINT);
        ::_exit(0);
      },
      ::testing::KilledBySignal(SIGINT), "^$");
}

TEST(SignalMessage, LeaveAnIgnoredSignalIgnored) {
  EXPECT_EXIT(
      {
        ::signal(SIGINT, SIG_IGN);
        const SignalMessage words("job 7 goes on\n");
        ::raise(SIGINT);
        ::_exit(9);
      },
      ::testing::ExitedWithCode(9), "^$");
}

}  // namespace
}  // namespace carillon::cli
