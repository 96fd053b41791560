#include "tests/support/query_pages.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace carillon::testing {

std::string text_of(const wire::Row& row, const std::string& name) {
  const auto found = std::find_if(row.begin(), row.end(),
                                  [&name](const auto& field) { return field.first == name; });
  if (found == row.end() || !std::holds_alternative<std::string>(found->second)) return {};
  return std::get<std::string>(found->second);
}

std::int64_t number_of(const wire::Row& row, const std::string& name) {
  const auto found = std::find_if(row.begin(), row.end(),
                                  [&name](const auto& field) { return field.first == name; });
  if (found == row.end() || !std::holds_alternative<std::int64_t>(found->second)) return -999;
  return std::get<std::int64_t>(found->second);
}

std::vector<std::string> texts_of(const std::vector<wire::Row>& rows, const std::string& name) {
  std::vector<std::string> texts;
  for (const wire::Row& row : rows) texts.push_back(text_of(row, name));
  return texts;
}

std::vector<wire::Row> every_page(TrackerBundle& bundle, wire::Query query) {
  std::vector<wire::Row> rows;
  do {
    const auto correlation = bundle.client.query(query);
    bundle.run_until([&] { return bundle.client.answer_to_query(correlation) != nullptr; });
    const auto* page = std::get_if<wire::Rows>(bundle.client.answer_to_query(correlation));
    if (page == nullptr) {
      ADD_FAILURE() << query.what << " was refused";
      break;
    }
    rows.insert(rows.end(), page->rows.begin(), page->rows.end());
    query.after = page->next;
  } while (!query.after.empty());
  return rows;
}

}  // namespace carillon::testing
