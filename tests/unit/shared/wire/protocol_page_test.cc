#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/message_layout.h"

// docs/reference/protocol.md and the code say the same: each message has its section, and the table
// in it lists the message's fields, in order, and no others.
namespace carillon::wire {
namespace {

using ::testing::ElementsAreArray;

// The first column of the table in each section: "| `key` | type | ...". A heading is "### Name",
// a message's is followed by its number: "### Submit (1)".
std::map<std::string, std::vector<std::string>> tables_of_page(std::set<std::string>& headings) {
  std::ifstream page(CARILLON_SOURCE_DIR "/docs/reference/protocol.md");
  std::map<std::string, std::vector<std::string>> tables;
  std::string heading;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("### ")) {
      headings.insert(line.substr(4));
      heading = line.substr(4, line.find(" (") - 4);
    } else if (line.starts_with("#")) {
      heading.clear();
    } else if (line.starts_with("| `") && !heading.empty()) {
      tables[heading].push_back(line.substr(3, line.find('`', 3) - 3));
    }
  }
  return tables;
}

struct Bundle {
  std::set<std::string> headings;
  std::map<std::string, std::vector<std::string>> tables = tables_of_page(headings);

  template <class T>
  void expect_section() {
    const std::string name{Layout<T>::kName};
    SCOPED_TRACE(name);
    std::vector<std::string> keys;
    std::apply([&](const auto&... slots) { (keys.emplace_back(slots.key), ...); },
               Layout<T>::kSlots);
    EXPECT_THAT(tables[name], ElementsAreArray(keys));
  }
};

template <std::size_t... kTypes>
void expect_messages(Bundle& b, std::index_sequence<kTypes...>) {
  (b.expect_section<std::variant_alternative_t<kTypes, Message>>(), ...);
  const std::vector<std::string> headings{
      std::string{Layout<std::variant_alternative_t<kTypes, Message>>::kName} + " (" +
      std::to_string(kTypes) + ")" ...};
  for (const std::string& heading : headings) EXPECT_TRUE(b.headings.contains(heading)) << heading;
}

TEST(ProtocolPage, ListsTheFieldsOfEveryMessageUnderItsNumber) {
  Bundle b;
  expect_messages(b, std::make_index_sequence<std::variant_size_v<Message>>{});
}

TEST(ProtocolPage, ListsTheFieldsOfNestedMessageTypes) {
  Bundle b;
  b.expect_section<RequestNumber>();
  b.expect_section<SubmitAnswer>();
  b.expect_section<Held>();
  b.expect_section<HandedJob>();
  b.expect_section<OwnedPartition>();
  b.expect_section<RunResult>();
  b.expect_section<OutputChunk>();
  b.expect_section<FeedbackEntry>();
  b.expect_section<OnBehalf>();
  b.expect_section<Error>();
}

TEST(ProtocolPage, ListsTheFieldsOfAJob) {
  Bundle b;
  b.expect_section<JobSpec>();
  b.expect_section<Schedule>();
  b.expect_section<carillon::Run>();
  b.expect_section<HttpRequest>();
  b.expect_section<Child>();
  b.expect_section<Misfire>();
  b.expect_section<RetryPolicy>();
}

TEST(ProtocolPage, StatesEveryLimitInTheCode) {
  std::ifstream page(CARILLON_SOURCE_DIR "/docs/reference/protocol.md");
  std::stringstream text;
  text << page.rdbuf();
  for (const std::size_t limit :
       {kFrameBytesMax, kSubmitJobsMax, kReportResultsMax, kOutputBytesMax, kListMax, kFeedbackMax,
        kPayloadBytesMax, kTaskIdBytesMax, kGroupBytesMax, kTextBytesMax, kCommandBytesMax,
        kArgumentBytesMax, kParamsMax, kChildrenMax, static_cast<std::size_t>(kRequestWindow)}) {
    EXPECT_NE(text.str().find(" " + std::to_string(limit) + " "), std::string::npos) << limit;
  }
}

}  // namespace
}  // namespace carillon::wire
