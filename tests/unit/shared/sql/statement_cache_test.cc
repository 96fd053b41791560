#include "shared/sql/statement_cache.h"

#include <gtest/gtest.h>

namespace carillon::sql {
namespace {

// Counts how many of its kind are alive.
struct Counted {
  explicit Counted(int& counter) : alive(counter) { ++alive; }
  ~Counted() { --alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int& alive;
};

struct Bundle {
  int alive = 0;
  StatementCache<Counted> cache{3, 100};

  Counted* insert(const std::string& text) {
    return cache.insert(text, std::make_unique<Counted>(alive));
  }
};

TEST(StatementCache, FindsAnInsertedStatement) {
  Bundle bundle;
  auto* statement = bundle.insert("a");
  EXPECT_EQ(bundle.cache.find("a"), statement);
  EXPECT_EQ(bundle.cache.find("b"), nullptr);
}

TEST(StatementCache, EvictsTheLeastRecentlyUsedStatement) {
  Bundle bundle;
  bundle.insert("a");
  bundle.insert("b");
  bundle.insert("c");
  bundle.cache.find("a");
  bundle.insert("d");
  EXPECT_EQ(bundle.cache.find("b"), nullptr);
  EXPECT_NE(bundle.cache.find("a"), nullptr);
  EXPECT_EQ(bundle.alive, 3);
}

TEST(StatementCache, LimitsTheTotalTextLength) {
  Bundle bundle;
  bundle.insert(std::string(60, 'a'));
  bundle.insert(std::string(60, 'b'));
  EXPECT_EQ(bundle.cache.size(), 1U);
  EXPECT_NE(bundle.cache.find(std::string(60, 'b')), nullptr);
}

TEST(StatementCache, KeepsTheNewestStatementHoweverLong) {
  Bundle bundle;
  bundle.insert("a");
  auto* statement = bundle.insert(std::string(1000, 'b'));
  EXPECT_EQ(bundle.cache.find(std::string(1000, 'b')), statement);
  EXPECT_EQ(bundle.cache.size(), 1U);
  bundle.insert("c");
  EXPECT_EQ(bundle.cache.size(), 1U) << "the long one went";
}

TEST(StatementCache, ErasesOneOrAllStatements) {
  Bundle bundle;
  bundle.insert("a");
  bundle.insert("b");
  bundle.cache.erase("a");
  bundle.cache.erase("never there");
  EXPECT_EQ(bundle.cache.find("a"), nullptr);
  EXPECT_EQ(bundle.alive, 1);
  bundle.cache.clear();
  EXPECT_EQ(bundle.alive, 0);
  EXPECT_NE(bundle.insert("a"), nullptr);
}

}  // namespace
}  // namespace carillon::sql
