#include <vector>

#include "jobtracker/store/memory_batch.h"

namespace carillon::jobtracker {

Result<Outcome> MemoryBatch::apply(const PutFigures& figures) {
  put(tables_.figures, figures_key(figures.row), figures.row);
  return Outcome{};
}

// Deletes whole minutes, the oldest first, until there are `limit` rows. Returns their number.
std::int64_t MemoryBatch::purge_figures(WallTime before, std::int64_t limit) {
  std::vector<FiguresKey> keys;
  for (const auto& [key, row] : tables_.figures) {
    const bool is_full = static_cast<std::int64_t>(keys.size()) >= limit;
    if (row.minute >= before || (is_full && row.minute != std::get<0>(keys.back()))) break;
    keys.push_back(key);
  }
  for (const FiguresKey& key : keys) put(tables_.figures, key, std::nullopt);
  return static_cast<std::int64_t>(keys.size());
}

}  // namespace carillon::jobtracker
