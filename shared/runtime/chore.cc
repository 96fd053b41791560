#include "shared/runtime/chore.h"

#include <utility>

namespace carillon {

Result<std::unique_ptr<Chore>> Chore::start(const std::string& name,
                                            std::function<Duration()> work) {
  std::unique_ptr<Chore> chore(new Chore);
  chore->thread_ = CARILLON_TRY(Thread::start(name, [raw = chore.get(), work = std::move(work)] {
    while (!raw->stop_.wait_for(work())) continue;
  }));
  return chore;
}

Chore::~Chore() {
  stop_.signal();
  if (thread_) thread_->join();
}

}  // namespace carillon
