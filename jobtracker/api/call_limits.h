#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "shared/base/mutex.h"
#include "shared/base/principal.h"

namespace carillon::jobtracker::api {

// How much memory a call may need while it is in progress.
enum class CallSize : int {
  kSmall = 0,     // a change, or one row
  kOrdinary = 1,  // a page of a list
  kLarge = 2,     // many rows at once
  kStream = 3     // what a client has not read yet, for long
};
inline constexpr int kCallSizes = 4;

// Most calls in progress, so that neither one principal nor all fill the memory.
struct CallLimit {
  int all = 0;
  int of_principal = 0;
};
inline constexpr std::array<CallLimit, kCallSizes> kCallLimits{{{.all = 256, .of_principal = 128},
                                                                {.all = 64, .of_principal = 16},
                                                                {.all = 4, .of_principal = 2},
                                                                {.all = 128, .of_principal = 32}}};

// The place of a call among those in progress, until it is destroyed.
//
// Thread: any.
class CallPlace {
 public:
  ~CallPlace();
  CallPlace(const CallPlace&) = delete;
  CallPlace& operator=(const CallPlace&) = delete;

  // Exchanges it for one of another size. False: there is none, and it stays as it is.
  bool change_to(CallSize size);

 private:
  friend class CallLimits;
  struct Counts {
    // Calls begin and end on different threads.
    Mutex mutex{};
    std::array<int, kCallSizes> all CARILLON_GUARDED_BY(mutex){};
    std::map<std::pair<int, std::string>, int> of_principal CARILLON_GUARDED_BY(mutex){};
  };

  CallPlace(std::shared_ptr<Counts> counts, std::string principal)
      : counts_(std::move(counts)), principal_(std::move(principal)) {}
  static bool take(Counts& counts, int size, const std::string& principal);
  static void release(Counts& counts, int size, const std::string& principal);

  const std::shared_ptr<Counts> counts_;
  const std::string principal_;
  int size_ = -1;  // none yet
};

// Counts the calls in progress.
//
// Thread: any.
class CallLimits {
 public:
  // A place of a small call. nullptr: there is none.
  std::shared_ptr<CallPlace> take(const Principal& principal) const;

 private:
  const std::shared_ptr<CallPlace::Counts> counts_ = std::make_shared<CallPlace::Counts>();
};

}  // namespace carillon::jobtracker::api
