#pragma once

#include "carillon/result.h"
#include "jobtracker/store/batch.h"
#include "jobtracker/store/reads.h"

namespace carillon::jobtracker {

// The store of jobs. The loop decides which rows move; the store moves all or none.
//
// Invariant: a job is in exactly one of delayed, executable and executing, or has ended. A batch
// that would violate this commits nothing. A commit first checks that this job tracker's session
// was not fenced.
//
// Thread: each instance belongs to one store thread and has one connection. The next call reopens a
// lost connection.
class Store {
 public:
  virtual ~Store() = default;

  // Committed: on disk, with one outcome per operation, in order. RolledBack: nothing happened.
  // kUnavailable, kConflict: commit the same batch again. kInvalidArgument: the operation `culprit`
  // can never succeed; without one, halve the batch. Unknown: the connection broke during COMMIT;
  // call settle().
  virtual CommitResult commit(const Batch& batch) = 0;

  // After Unknown: whether the batch was committed. Errors: kUnavailable, ask again; kDenied: this
  // session was fenced, and must stop deciding.
  virtual Result<bool> settle(std::int64_t batch_number) = 0;

  // Errors: kUnavailable, ask again; kNotFound: the group does not exist.
  virtual Result<ReadAnswer> read(const Read& question) = 0;
};

// A store for reads; each query thread has one.
class ReadOnlyStore {
 public:
  virtual ~ReadOnlyStore() = default;
  virtual Result<ReadAnswer> read(const Read& question) = 0;
};

}  // namespace carillon::jobtracker
