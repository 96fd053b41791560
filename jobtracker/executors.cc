// Messages of executors to a job tracker.
#include <utility>

#include "jobtracker/job_tracker.h"

namespace carillon::jobtracker {

// The executor groups with an access token.
std::vector<std::string> JobTracker::apps_with_token() const {
  std::vector<std::string> apps;
  for (const GroupId group : executors_.groups()) {
    if (!executors_.token(group).empty()) apps.push_back(catalog_.group(group)->name);
  }
  return apps;
}

std::string JobTracker::executor_token(const std::string& app_name) const {
  const Group* group = catalog_.group(app_name);
  return group == nullptr ? std::string{} : executors_.token(group->id);
}

std::vector<std::string> JobTracker::apps_of_run(std::int64_t log_id) const {
  std::vector<std::string> names;
  for (const GroupId group : pusher_.groups_of_run(log_id)) {
    const Group* known = catalog_.group(group);
    if (known != nullptr) names.push_back(known->name);
  }
  return names;
}

void JobTracker::on_executor(ExecutorRequest request, OnStored done) {
  if (Status may = may_take(); !may.ok()) return done(std::move(may));
  if (auto* registration = std::get_if<ExecutorRegistration>(&request)) {
    const Group* group = catalog_.group(registration->app_name);
    if (registration->removes && !(group != nullptr && ownership_.has(group->id)))
      done = once_others_know(std::move(done));
    const bool is_known =
        group != nullptr && (ownership_.has(group->id) || executors_.has(group->id));
    if (!is_known && !ownership_.has_all())
      return on_registration(std::move(*registration), std::move(done));
    if (group == nullptr) return register_new_group(std::move(*registration), std::move(done));
    if (Status may = may_have_executors(*group); !may.ok()) return done(std::move(may));
    registry_.take(std::move(*registration), std::move(done));
  } else {
    pusher_.results(std::get<ExecutorResults>(std::move(request)), std::move(done));
  }
}

void JobTracker::register_new_group(ExecutorRegistration registration, OnStored done) {
  if (registration.removes) return done({});
  const bool is_counted = groups_to_come_.contains(registration.app_name);
  Status may = is_counted ? Status{} : new_groups_.take(registration.peer, clock_.steady_now());
  if (!may.ok()) return done(std::move(may));
  registry_.take(std::move(registration), std::move(done));
}

// The owner of a group calls an executor until it has read the removal from the store. The executor
// rejects calls after its removal was confirmed. So the confirmation waits.
OnStored JobTracker::once_others_know(OnStored done) {
  if (!ownership_.are_several()) return done;
  return [this, done = std::move(done)](Status stored) mutable {
    if (!stored.ok()) return done(std::move(stored));
    (void)task_runner_.post_at(others_know_at(), [done = std::move(done)] { done({}); });
  };
}

// When all job trackers have read the current state of the store.
SteadyTime JobTracker::others_know_at() const {
  return clock_.steady_now() + 2 * config_.executors.look;
}

// The owner's data about an executor of its group is in the store.
void JobTracker::on_registration(ExecutorRegistration registration, OnStored done) {
  if (Status room = batcher_.check_room(); !room.ok()) return done(std::move(room));
  FindGroup question{.name = registration.app_name};
  batcher_.ask(std::move(question), [this, registration = std::move(registration),
                                     done = std::move(done)](Result<ReadAnswer> answer) mutable {
    if (stopping_) return done(may_take());
    const bool is_new = !answer.ok() && answer.error().code == ErrorCode::kNotFound;
    if (!answer.ok() && !is_new) return done(answer.error());
    if (is_new) return register_new_group(std::move(registration), std::move(done));
    const Group& group = std::get<GroupAnswer>(answer.value()).group;
    know(group);
    if (Status may = may_have_executors(group); !may.ok()) {
      // The group may have become an executor group just now.
      return (void)task_runner_.post_at(
          others_know_at(),
          [this, id = group.id, may = std::move(may), registration = std::move(registration),
           done = std::move(done)]() mutable {
            if (stopping_) return done(may_take());
            if (!executors_.has(id)) return done(std::move(may));
            registry_.take(std::move(registration), std::move(done));
          });
    }
    registry_.take(std::move(registration), std::move(done));
  });
}

}  // namespace carillon::jobtracker
