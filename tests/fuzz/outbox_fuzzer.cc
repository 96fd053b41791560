#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/assert.h"
#include "shared/base/log.h"
#include "shared/outbox/outbox.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

namespace carillon::outbox {
namespace {

constexpr const char* kAddress = "tcp://127.0.0.1:1";

// A folder of an outbox with one file.
class Folder {
 public:
  Folder() { set_log_level(LogLevel::kOff); }

  void fill(std::string_view bytes) const {
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      std::filesystem::remove(file.path());
    }
    std::ofstream(folder_.file("0.db"), std::ios::binary) << bytes;
  }
  std::string path() const { return folder_.path().string(); }
  OutboxConfig config() const { return {.folder = path(), .addresses = {kAddress}}; }
  const Clock& clock() const { return clock_; }

 private:
  testing::TempFolder folder_;
  ManualClock clock_;
};

void check(const WorkDone& done) {
  CARILLON_ASSERT(done.status.ok() || !done.status.error().message.empty(),
                  "every failure has a reason");
  CARILLON_ASSERT(done.room.ok() || !done.room.error().message.empty(),
                  "every refusal has a reason");
  CARILLON_ASSERT(done.left >= 0 && done.loaded.size() <= Load{}.entries_max,
                  "no more is loaded than was asked for");
  for (std::size_t i = 1; i < done.loaded.size(); ++i) {
    CARILLON_ASSERT(done.loaded[i - 1].id < done.loaded[i].id, "entries keep their order");
  }
}

// Says what a damaged file has, page by page.
void show_all(const Folder& folder) {
  visit_set_aside(folder.path(), folder.clock(), [](const std::vector<SetAside>& page) {
    CARILLON_ASSERT(!page.empty(), "a page has an entry");
    return page.front().id % 2 == 0;
  });
  (void)stored_for_others(folder.path(), {kAddress}, folder.clock());
}

// Numbers, refuses and delivers what there is, as a client does, until nothing is left.
void deliver(Outbox& outbox) {
  while (outbox.entries() > 0) {
    WorkDone done = outbox.run({.load = true});
    check(done);
    if (!done.status.ok()) return;
    CARILLON_ASSERT(!done.loaded.empty() || outbox.entries() == 0,
                    "what is counted can be delivered");
    Work work;
    for (const Entry& entry : done.loaded) {
      work.number.push_back({.id = entry.id, .client = 7, .sequence = 1});
      if (entry.id.id % 3 == 0) {
        work.set_aside.push_back({.id = entry.id, .reason = "no"});
      } else {
        work.remove.push_back(entry.id);
      }
    }
    const std::int64_t before = outbox.entries();
    done = outbox.run(std::move(work));
    check(done);
    if (!done.status.ok()) return;
    CARILLON_ASSERT(done.left < before || before == 0, "what was delivered is gone");
  }
}

void add(Outbox& outbox) {
  const std::int64_t last = outbox.last_id();
  if (last == std::numeric_limits<std::int64_t>::max()) return;
  Work work;
  work.add.push_back({.id = {kOwnSlot, last + 1}, .body = "body"});
  const WorkDone done = outbox.run(std::move(work));
  check(done);
  CARILLON_ASSERT(done.added == 1 || !done.status.ok() || !done.room.ok(),
                  "what was not added has a reason");
}

}  // namespace
}  // namespace carillon::outbox

// Opens any bytes as a file of an outbox: its entries are delivered, or an error says why not, and
// new entries find room. NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer
// calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon::outbox;  // NOLINT(google-build-using-namespace): one function
  static const Folder folder;
  folder.fill({reinterpret_cast<const char*>(data), size});
  show_all(folder);
  {
    Outbox outbox(folder.config(), folder.clock());
    CARILLON_ASSERT(outbox.entries() >= 0, "nothing is counted twice");
    add(outbox);
    deliver(outbox);
  }
  (void)discard(folder.path(), {kAddress}, folder.clock(), [](const Entry&) {});
  return 0;
}
