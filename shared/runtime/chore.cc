#include "shared/runtime/chore.h"

#include <utility>

namespace carillon {

Result<std::unique_ptr<Chore>> Chore::start(const std::string& name, Duration period,
                                            std::function<void()> work) {
  std::unique_ptr<Chore> chore(new Chore);
  chore->thread_ =
      CARILLON_TRY(Thread::start(name, [raw = chore.get(), period, work = std::move(work)] {
        do {
          work();
        } while (!raw->stop_.wait_for(period));
      }));
  return chore;
}

Chore::~Chore() {
  stop_.signal();
  if (thread_) thread_->join();
}

}  // namespace carillon
