#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace carillon::sql {

// A cache of prepared statements by their text, with least-recently-used eviction.
//
// Invariant: it keeps at most `entries_max` statements with together at most `bytes_max` of text,
// so that a program with thousands of tables does not exhaust the server's memory. The newest one
// stays even if it is longer.
//
// Thread: the connection's.
template <class Statement>
class StatementCache {
 public:
  StatementCache(std::size_t entries_max, std::size_t bytes_max)
      : entries_max_(entries_max), bytes_max_(bytes_max) {}
  StatementCache(const StatementCache&) = delete;
  StatementCache& operator=(const StatementCache&) = delete;

  // The statement for `text`, or null. Valid until the next insert(), erase() or clear().
  Statement* find(std::string_view text) {
    const auto found = by_text_.find(text);
    if (found == by_text_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->statement.get();
  }

  // Requires: there is no statement for `text`.
  Statement* insert(std::string_view text, std::unique_ptr<Statement> statement) {
    entries_.push_front({std::string{text}, std::move(statement)});
    by_text_.emplace(entries_.front().text, entries_.begin());
    bytes_ += text.size();
    while (entries_.size() > 1 && (entries_.size() > entries_max_ || bytes_ > bytes_max_)) {
      erase_entry(std::prev(entries_.end()));
    }
    return entries_.front().statement.get();
  }

  void erase(std::string_view text) {
    const auto found = by_text_.find(text);
    if (found != by_text_.end()) erase_entry(found->second);
  }

  void clear() {
    by_text_.clear();
    entries_.clear();
    bytes_ = 0;
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string text{};
    std::unique_ptr<Statement> statement{};
  };
  using Position = typename std::list<Entry>::iterator;

  void erase_entry(Position entry) {
    bytes_ -= entry->text.size();
    by_text_.erase(entry->text);
    entries_.erase(entry);
  }

  std::size_t entries_max_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_{};                                // most recently used first
  std::unordered_map<std::string_view, Position> by_text_{};  // views of the entries' texts
};

}  // namespace carillon::sql
