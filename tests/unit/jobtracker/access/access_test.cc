#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/access/access_registry.h"
#include "jobtracker/access/rights.h"
#include "shared/base/crypto.h"
#include "shared/wire/codec.h"
#include "tests/support/tracker_bundle.h"

namespace carillon::jobtracker {
namespace {

using carillon::testing::job_cron;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PrincipalRow row(const std::string& kind, const std::string& name, const std::string& secret) {
  return {.principal = {.kind = kind, .name = name, .role = Role::kEditor, .groups = {"ops"}},
          .secret = secret};
}

std::vector<std::string> names(const std::vector<PrincipalRow>& rows) {
  std::vector<std::string> found;
  for (const PrincipalRow& one : rows) found.push_back(one.principal.name);
  return found;
}

TEST(AccessRegistry, FindsPrincipalsByKeyAndTokenUntilTheyExpire) {
  WallTime now{seconds{1000}};
  AccessRegistry registry([&now] { return now; });
  EXPECT_FALSE(registry.is_known());
  PrincipalRow token = row(kTokenKind, "ci", sha256_hex("crl_x"));
  token.expires_at = now + seconds{10};

  EXPECT_THAT(registry.put_all({row(kKeyKind, "anna", "public"), token}), IsEmpty());

  EXPECT_TRUE(registry.is_known());
  EXPECT_EQ(registry.with_key("public")->name, "anna");
  EXPECT_FALSE(registry.with_key("other").has_value());
  EXPECT_FALSE(registry.with_token("public").has_value()) << "a key is no token";
  EXPECT_EQ(registry.with_token("crl_x")->name, "ci");
  now += seconds{10};
  EXPECT_FALSE(registry.with_token("crl_x").has_value());
  EXPECT_THAT(names(registry.take_expired()), ElementsAre("ci"));
  EXPECT_THAT(registry.take_expired(), IsEmpty());
}

TEST(AccessRegistry, NamesThePrincipalsThatLostRights) {
  AccessRegistry registry([] { return WallTime{}; });
  const PrincipalRow anna = row(kKeyKind, "anna", "a");
  PrincipalRow bert = row(kKeyKind, "bert", "b");
  (void)registry.put_all({anna, bert, row(kKeyKind, "carl", "c")});
  const auto version = registry.version();

  EXPECT_THAT(registry.put_all({anna, bert, row(kKeyKind, "carl", "c")}), IsEmpty());
  EXPECT_EQ(registry.version(), version);

  bert.principal.role = Role::kViewer;
  EXPECT_THAT(names(registry.put_all({anna, bert})), ElementsAre("bert", "carl"));
  EXPECT_GT(registry.version(), version);
}

TEST(Rights, ThePageListsEachRequest) {
  std::ifstream page(CARILLON_SOURCE_DIR "/docs/reference/access.md");
  std::vector<std::string> lines;
  bool is_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| request ")) is_table = true;
    if (line.empty()) is_table = false;
    if (is_table && line.starts_with("| `")) lines.push_back(line);
  }
  std::vector<std::string> expected;
  for (const RequestRight& one : request_rights()) {
    expected.push_back("| `" + std::string{one.request} + "` | " + to_string(one.right) + " | " +
                       to_string(one.scope) + " |");
  }
  EXPECT_EQ(lines, expected);
}

// A job tracker, and a client that passes on requests of others.
class Scoped : public ::testing::Test {
 protected:
  Scoped() {
    peer_ = bundle_.network.connect({.on_frame = [this](std::string_view frame) {
      auto decoded = wire::decode(frame);
      if (decoded.ok()) answer_ = std::move(decoded.value().message);
    }});
    JobSpec mine = job_cron("mine", "0 3 * * *");
    mine.group = "billing-eu";
    JobSpec theirs = job_cron("theirs", "0 3 * * *");
    theirs.group = "payroll";
    (void)bundle_.submit({mine, theirs});
  }

  wire::Message ask(Role role, std::vector<std::string> groups, wire::Message message) {
    answer_.reset();
    bundle_.network.send_to_server(
        peer_, wire::encode({.correlation = ++correlation_,
                             .message = std::move(message),
                             .on_behalf = wire::OnBehalf{.kind = "key",
                                                         .name = "anna",
                                                         .role = to_string(role),
                                                         .groups = std::move(groups),
                                                         .address = "10.0.0.7"}}));
    EXPECT_TRUE(bundle_.run_until([this] { return answer_.has_value(); }));
    return answer_.value_or(wire::Gone{});
  }
  std::string error(const wire::Message& message) {
    const auto* reply = std::get_if<wire::ErrorReply>(&message);
    return reply == nullptr
               ? ""
               : std::string{to_string(reply->error.code)} + ": " + reply->error.message;
  }
  std::size_t rows(const wire::Message& message) {
    const auto* reply = std::get_if<wire::Rows>(&message);
    return reply == nullptr ? 999 : reply->rows.size();
  }

  TrackerBundle bundle_;
  net::Peer peer_{};
  std::uint64_t correlation_ = 0;
  std::optional<wire::Message> answer_{};
};

TEST_F(Scoped, AnswersDoNotTellWhatExistsElsewhere) {
  const auto show = [&](const std::string& group, const std::string& task) {
    return error(ask(Role::kViewer, {"billing-*"},
                     wire::Query{.what = "show", .group = group, .task_id = task}));
  };
  EXPECT_EQ(show("billing-eu", "mine"), "");
  EXPECT_THAT(show("payroll", "theirs"), HasSubstr("denied: node group 'payroll' is not one of"));
  EXPECT_EQ(show("payroll", "theirs"), show("payroll", "nothing"));

  EXPECT_EQ(rows(ask(Role::kViewer, {"billing-*"}, wire::Query{.what = "list"})), 1u);
  EXPECT_EQ(rows(ask(Role::kViewer, {"*"}, wire::Query{.what = "list"})), 2u);
  EXPECT_EQ(rows(ask(Role::kViewer, {"other"}, wire::Query{.what = "list"})), 0u);
}

TEST_F(Scoped, AJobOfAnotherGroupIsUnknown) {
  JobSpec waiting = job_now("secret");
  waiting.group = "payroll";
  const JobId job = bundle_.submit(waiting).job_id;
  const auto told = [&](JobId id) {
    std::string text =
        error(ask(Role::kEditor, {"billing-*"}, wire::Query{.what = "job", .job_id = id}));
    const auto at = text.find(std::to_string(id.value));
    return at == std::string::npos ? text : text.erase(at, std::to_string(id.value).size());
  };
  EXPECT_THAT(told(job), HasSubstr("is unknown"));
  EXPECT_EQ(told(job), told(JobId{job.value + 1}));

  const auto kill = ask(
      Role::kOperator, {"billing-*"},
      wire::Act{.request = {.client = 9, .sequence = 1}, .verb = wire::Verb::kKill, .job_id = job});
  EXPECT_THAT(error(kill), HasSubstr("is not waiting, executing or defined"));
  EXPECT_THAT(bundle_.waiting("secret"), SizeIs(1));
}

TEST_F(Scoped, RolesLimitWhatMayBeDone) {
  JobSpec job = job_now("new");
  job.group = "billing-eu";
  const auto submit = [&](Role role, std::int64_t sequence, JobSpec spec) {
    return error(ask(
        role, {"billing-*"},
        wire::Submit{.request = {.client = 11, .sequence = sequence}, .jobs = {std::move(spec)}}));
  };
  EXPECT_THAT(submit(Role::kOperator, 1, job), HasSubstr("it needs the role editor"));
  EXPECT_THAT(submit(Role::kWorker, 1, job), HasSubstr("denied"));
  EXPECT_EQ(submit(Role::kEditor, 1, job), "");
  job.children = {{.group = "payroll", .task_id = "theirs"}};
  EXPECT_THAT(submit(Role::kEditor, 2, job), HasSubstr("node group 'payroll'"));
  EXPECT_THAT(error(ask(Role::kAdmin, {"billing-*"},
                        wire::PutPrincipal{.kind = "token",
                                           .name = "all",
                                           .role = "admin",
                                           .groups = {"*"},
                                           .secret = sha256_hex("x")})),
              HasSubstr("it needs all node groups"));
  bundle_.run_for(seconds{2});
  const auto rows = bundle_.query({.what = "audit", .by = "anna"});
  EXPECT_THAT(rows, SizeIs(5)) << "refusals are recorded";
}

TEST_F(Scoped, StoredPrincipalsAreListedWithoutSecrets) {
  const wire::PutPrincipal put{.kind = "token",
                               .name = "ci",
                               .role = "editor",
                               .groups = {"billing-*"},
                               .secret = sha256_hex("crl_x")};
  EXPECT_EQ(error(ask(Role::kAdmin, {"*"}, put)), "");
  EXPECT_EQ(error(ask(Role::kAdmin, {"*"}, put)), "") << "a repetition";
  wire::PutPrincipal other = put;
  other.secret = sha256_hex("other");
  EXPECT_THAT(error(ask(Role::kAdmin, {"*"}, other)), HasSubstr("conflict: token 'ci' exists"));

  const auto rows = bundle_.query({.what = "principals"});
  ASSERT_THAT(rows, SizeIs(1));
  for (const auto& [name, value] : rows.front()) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) continue;
    EXPECT_EQ(text->find(put.secret), std::string::npos) << name;
  }
  EXPECT_EQ(error(ask(Role::kAdmin, {"*"}, wire::RemovePrincipal{.kind = "token", .name = "ci"})),
            "");
  EXPECT_THAT(error(ask(Role::kAdmin, {"*"}, wire::RemovePrincipal{.kind = "token", .name = "ci"})),
              HasSubstr("not_found"));
  EXPECT_THAT(bundle_.query({.what = "principals"}), IsEmpty());
}

}  // namespace
}  // namespace carillon::jobtracker
