#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobclient/cli/context.h"
#include "jobclient/cli/line_reader.h"
#include "shared/base/mutex.h"

// Jobs from JSON lines, in batches, several on the way at a time; one answer a line, in order.
//
// Memory is bounded, however many lines there are. When the lines come slowly, each is answered
// before the next is waited for. A line that is no job is answered as rejected, with its number,
// and the others go on.
//
// Thread: the owner's.
namespace carillon::cli {

class SubmitLines {
 public:
  SubmitLines(Context& context, JobClient& client);
  // The exit status.
  int run();

 private:
  using Answers = Result<std::vector<SubmitAnswer>>;
  // A batch's answers, put there by the client's thread. A mutex, because a Mailbox would need a
  // descriptor a batch.
  struct Arrival {
    Mutex mutex;
    Condition condition;
    std::optional<Answers> answers CARILLON_GUARDED_BY(mutex){};
  };
  // The lines of a batch: answered here, or the next of the batch's jobs.
  struct Batch {
    std::int64_t first_line = 0;
    std::vector<std::optional<SubmitAnswer>> lines{};
    std::vector<JobSpec> jobs{};
    std::size_t bytes = 0;
    std::shared_ptr<Arrival> arrival{};
  };

  void take_line(LineReader::Line line);
  void send_batch();
  Status print_oldest();
  Status print_all();
  void print(const SubmitAnswer& answer);
  void show_progress(bool at_end);

  Context& context_;
  JobClient& client_;
  Batch filling_;
  std::deque<Batch> on_the_way_;
  RowOutput output_;
  std::int64_t printed_ = 0;
  std::int64_t refused_ = 0;
  SteadyTime started_{};
  SteadyTime progress_at_{};
  bool showed_progress_ = false;
};

}  // namespace carillon::cli
