#include "shared/sql/mysql/mysql_error.h"

#include <gtest/gtest.h>

namespace carillon::sql {
namespace {

struct Case {
  int number;
  const char* text;
  ErrorCode code;
  bool connection_lost;
};

class MysqlErrorTable : public ::testing::TestWithParam<Case> {};

TEST_P(MysqlErrorTable, MapsErrorNumbersToErrorCodes) {
  const auto failure = mysql_failure(GetParam().number, GetParam().text);
  EXPECT_EQ(failure.code, GetParam().code);
  EXPECT_EQ(failure.connection_lost, GetParam().connection_lost);
}

INSTANTIATE_TEST_SUITE_P(
    Numbers, MysqlErrorTable,
    ::testing::Values(
        Case{0, "value not set", ErrorCode::kInvalidArgument, false},
        Case{1040, "", ErrorCode::kUnavailable, true}, Case{1044, "", ErrorCode::kDenied, false},
        Case{1045, "", ErrorCode::kDenied, false}, Case{1047, "", ErrorCode::kUnavailable, true},
        Case{1049, "", ErrorCode::kInvalidArgument, false},
        Case{1062, "", ErrorCode::kInvalidArgument, false},
        Case{1114, "", ErrorCode::kLimit, false}, Case{1021, "", ErrorCode::kLimit, false},
        Case{1030, "Got error 28 \"No space left on device\" from storage engine",
             ErrorCode::kLimit, false},
        Case{1030, "Got error 122 \"Internal error\" from storage engine", ErrorCode::kCorrupt,
             false},
        Case{1153, "", ErrorCode::kInvalidArgument, true},
        Case{1180, "", ErrorCode::kUnavailable, true}, Case{1197, "", ErrorCode::kLimit, false},
        Case{1206, "", ErrorCode::kLimit, false}, Case{1792, "", ErrorCode::kUnavailable, true},
        Case{1194, "", ErrorCode::kCorrupt, false}, Case{1205, "", ErrorCode::kConflict, false},
        Case{1213, "", ErrorCode::kConflict, false}, Case{3100, "", ErrorCode::kConflict, false},
        Case{3101, "", ErrorCode::kConflict, false}, Case{2002, "", ErrorCode::kUnavailable, true},
        Case{2003, "", ErrorCode::kUnavailable, true},
        Case{2006, "", ErrorCode::kUnavailable, true},
        Case{2013, "", ErrorCode::kUnavailable, true}));

}  // namespace
}  // namespace carillon::sql
