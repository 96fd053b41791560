#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/api/api_server.h"

namespace carillon::jobtracker::api {
namespace {

// "| `GET /jobs` | read |" of each line of the table, without its scope.
std::vector<std::string> calls_of_page() {
  std::ifstream page(CARILLON_SOURCE_DIR "/docs/reference/access.md");
  std::vector<std::string> calls;
  bool is_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| call ")) is_table = true;
    if (line.empty()) is_table = false;
    if (is_table && line.starts_with("| `")) calls.push_back(line.substr(0, line.rfind(" | ") + 2));
  }
  return calls;
}

TEST(AccessPage, ListsEachCallOfTheApi) {
  std::vector<std::string> expected;
  for (const Route& one : all_routes()) {
    expected.push_back("| `" + std::string{one.method} + " " + std::string{one.path} + "` | " +
                       to_string(one.right) + " |");
  }
  EXPECT_EQ(calls_of_page(), expected);
}

}  // namespace
}  // namespace carillon::jobtracker::api
