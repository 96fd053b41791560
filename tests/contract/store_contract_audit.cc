#include "tests/contract/store_contract.h"

// Rows about changes, and who made them.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AuditRow audit(std::int64_t id, std::string task_id, std::string by = "anna") {
  return {.id = id,
          .at = kNow,
          .by = std::move(by),
          .kind = "key",
          .address = "10.0.0.7",
          .action = "cancel",
          .group = "ops",
          .task_id = std::move(task_id),
          .outcome = "done",
          .before = R"({"priority":5})"};
}

std::vector<std::int64_t> ids(const AuditAnswer& answer) {
  std::vector<std::int64_t> found;
  for (const AuditRow& row : answer.rows) found.push_back(row.id);
  return found;
}

TEST_P(StoreContract, StoresTheAuditRowOfARequestOnceWithItsChange) {
  const WaitingJob job = new_job();
  NumberedRequest request{.client = 7,
                          .sequence = 1,
                          .answer = "answer",
                          .operation_count = 1,
                          .audit = audit(1, "nightly")};
  committed({AddJob{job}}, {request});
  EXPECT_THAT(ask<AuditAnswer>(ListAudit{.limit = 10}).rows, ElementsAre(audit(1, "nightly")));

  request.audit->id = 2;
  committed({AddJob{new_job()}}, {request});
  EXPECT_THAT(ids(ask<AuditAnswer>(ListAudit{.limit = 10})), ElementsAre(1)) << "a resend";

  const NumberedRequest other{.client = 7,
                              .sequence = 2,
                              .answer = "answer",
                              .operation_count = 1,
                              .audit = audit(3, "nightly")};
  committed({CancelExecuting{.id = job.id, .attempt = 1}}, {other});
  const AuditAnswer both = ask<AuditAnswer>(ListAudit{.limit = 10});
  ASSERT_THAT(ids(both), ElementsAre(3, 1));
  EXPECT_EQ(both.rows.front().outcome, "conflict") << "nothing was changed";
}

TEST_P(StoreContract, FindsAuditRowsByTaskPrincipalAndTime) {
  committed({AddAudit{audit(1, "a")}, AddAudit{audit(2, "b", "bert")}, AddAudit{audit(3, "a")},
             AddAudit{audit(4, "a", "bert")}});
  const auto found = [&](const ListAudit& question) { return ids(ask<AuditAnswer>(question)); };
  EXPECT_THAT(found({.limit = 10}), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(found({.group = "ops", .task_id = "a", .limit = 10}), ElementsAre(4, 3, 1));
  EXPECT_THAT(found({.group = "ops", .task_id = "a", .by = "anna", .limit = 1}), ElementsAre(3));
  EXPECT_THAT(found({.group = "other", .limit = 10}), IsEmpty());
  EXPECT_THAT(found({.by = "bert", .limit = 10}), ElementsAre(4, 2));
  EXPECT_THAT(found({.from_id = 2, .before_id = 4, .limit = 10}), ElementsAre(3, 2));
}

TEST_P(StoreContract, PurgesOldAuditRowsInSteps) {
  committed({AddAudit{audit(1, "a")}, AddAudit{audit(2, "a")}, AddAudit{audit(3, "a")}});
  const auto purged = [&](const Purge& purge) { return committed({purge}).outcomes.front().count; };
  EXPECT_EQ(purged({.audit_before = 3, .limit = 1}), 1);
  EXPECT_EQ(purged({.audit_before = 3, .limit = 10}), 1);
  EXPECT_THAT(ids(ask<AuditAnswer>(ListAudit{.limit = 10})), ElementsAre(3));
}

}  // namespace
}  // namespace carillon::jobtracker
