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
// and the others go on; a blank line is none, and gets no answer. When a job may have been taken,
// or was not, because nobody answered, no more is read, and what was read is answered to the end.
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
  struct JobLine {
    std::int64_t number = 0;
    std::string task_id{};
    std::string group{};
    std::optional<SubmitAnswer> answer{};  // known here already; otherwise the tracker's
  };
  struct Batch {
    std::vector<JobLine> lines{};
    // Of the lines without an answer, in their order.
    std::vector<JobSpec> jobs{};
    std::size_t bytes = 0;
    std::shared_ptr<Arrival> arrival{};
  };

  void take_line(LineReader::Line line);
  void reject(const LineReader::Line& line, const std::string& why);
  void send_batch();
  void print_oldest();
  void print_all();
  void answer_unsent();
  int end();
  void print(const SubmitAnswer& answer);
  void show_progress(bool at_end);

  Context& context_;
  JobClient& client_;
  Batch filling_;
  std::deque<Batch> on_the_way_;
  RowOutput output_;
  std::int64_t printed_ = 0;
  std::int64_t refused_ = 0;
  std::int64_t stored_ = 0;
  std::int64_t last_line_ = 0;      // that was answered
  std::optional<Error> failure_{};  // the first
  SteadyTime started_{};
  SteadyTime progress_at_{};
  bool showed_progress_ = false;
};

}  // namespace carillon::cli
