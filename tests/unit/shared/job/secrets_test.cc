#include "shared/job/secrets.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(Secrets, OfUrlsAreMasked) {
  EXPECT_EQ(masked_url("https://ann:pass@example.org:8443/x?y=a@b"),
            "https://***@example.org:8443/x?y=a@b");
  EXPECT_EQ(masked_url("http://a@b:c@example.org"), "http://***@example.org");
  EXPECT_EQ(masked_url("http://example.org/a@b"), "http://example.org/a@b");
  EXPECT_EQ(masked_url("ops@example.org"), "ops@example.org");
}

TEST(Secrets, OfAJobAreMasked) {
  JobSpec spec;
  spec.run.http.url = "http://ann:pass@example.org/";
  spec.run.http.headers = {{"authorization", "Bearer 1"},
                           {"Proxy-Authorization", "Basic 1"},
                           {"Cookie", "a=1"},
                           {"X-Api-Token", "1"},
                           {"X-API-Key", "1"},
                           {"Content-Type", "text/plain"}};
  spec.alarm = {"https://ann:pass@hooks.example.org/a", "ops@example.org"};
  const JobSpec shown = without_secrets(spec);
  EXPECT_EQ(shown.run.http.url, "http://***@example.org/");
  for (const auto& [name, value] : shown.run.http.headers) {
    EXPECT_EQ(value, name == "Content-Type" ? "text/plain" : "***") << name;
  }
  EXPECT_EQ(shown.alarm[0], "https://***@hooks.example.org/a");
  EXPECT_EQ(shown.alarm[1], "ops@example.org");
}

}  // namespace
}  // namespace carillon
