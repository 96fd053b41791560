#pragma once

#include "carillon/result.h"
#include "jobtracker/store/batch.h"
#include "jobtracker/store/reads.h"

namespace carillon::jobtracker {

// Where jobs are kept. The loop decides which rows move; the store moves them, all or none.
//
// Invariant: a job is in exactly one of delayed, executable and executing, or it has ended. A
// batch that would break it commits nothing. The first thing a commit does is to prove that this
// tracker's session was not fenced.
//
// Thread: each instance belongs to one store thread (a lane) and has one connection. A lost
// connection is opened again by the next call.
class Store {
 public:
  virtual ~Store() = default;

  // Committed: on disk, with one outcome an operation, in order.
  // RolledBack: nothing happened. kUnavailable, kConflict: commit the same batch again.
  // kInvalidArgument: the operation `culprit` can never succeed; without one, halve the batch.
  // Unknown: the connection broke inside COMMIT; settle() tells.
  virtual CommitResult commit(const Batch& batch) = 0;

  // After Unknown: was that batch committed? Errors: kUnavailable, ask again; kDenied: this session
  // was fenced, and must stop deciding.
  virtual Result<bool> settle(std::int64_t batch_number) = 0;

  // Errors: kUnavailable, ask again; kNotFound: no such group.
  virtual Result<ReadAnswer> read(const Read& question) = 0;
};

// Only reads; each query thread has one.
class ReadOnlyStore {
 public:
  virtual ~ReadOnlyStore() = default;
  virtual Result<ReadAnswer> read(const Read& question) = 0;
};

}  // namespace carillon::jobtracker
