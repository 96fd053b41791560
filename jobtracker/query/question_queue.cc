#include "jobtracker/query/question_queue.h"

namespace carillon::jobtracker {
namespace {

// Below this number, a query that never gets an answer costs nothing.
constexpr std::size_t kMany = 64;

}  // namespace

bool QuestionQueue::begin(const Asker& asker) {
  if (begun_.size() >= kMany) forget_gone();
  return begun_.insert_or_assign(asker, now_()).second;
}

void QuestionQueue::read(const Asker& asker, Read question, OnRead on_read) {
  if (waiting_.size() >= kWaitingMax)
    return on_read(Error{ErrorCode::kLimit, "too many queries are waiting, try again"});
  waiting_.push_back({asker, std::move(question), std::move(on_read)});
  ask_next();
}

void QuestionQueue::ask_next() {
  while (asked_ < kAsked && !waiting_.empty()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    const auto begun = begun_.find(next.asker);
    if (begun == begun_.end()) continue;
    if (begun->second + kGone < now_()) {
      begun_.erase(begun);
      continue;
    }
    ++asked_;
    questions_.ask(std::move(next.question),
                   [this, on_read = std::move(next.on_read)](Result<ReadAnswer> answer) {
                     --asked_;
                     on_read(std::move(answer));
                     ask_next();
                   });
  }
}

bool QuestionQueue::deliver(const Asker& asker, wire::Message message) {
  begun_.erase(asker);
  return clients_.deliver(asker, std::move(message));
}

void QuestionQueue::forget_gone() {
  const SteadyTime now = now_();
  std::erase_if(begun_, [now](const auto& one) { return one.second + kGone < now; });
}

}  // namespace carillon::jobtracker
