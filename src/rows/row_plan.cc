#include "rows/row_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"

namespace plimsoll {

void RowPlan::append(std::span<const int64_t> rows, const FirstUse& first_use) {
  // What may be refused comes first.
  last_use_.reserve(last_use_.size() + static_cast<int64_t>(rows.size()));
  Batch appended{appended_, {rows.begin(), rows.end()}, {}};
  appended.next_use.assign(rows.size(), kNever);
  const Batch& batch = batches_.emplace_back(std::move(appended));
  ++appended_;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Place here{batch.number, static_cast<int32_t>(i)};
    if (i + 8 < rows.size()) last_use_.prefetch(rows[i + 8]);
    Place* const last = last_use_.find(rows[i]);
    if (last == nullptr) {
      last_use_.insert_or_assign(rows[i], here);
      first_use(rows[i], batch.number);
      continue;
    }
    if (last->batch == batch.number)
      throw Failure(fmt::format("row {} is twice in a planned batch", rows[i]));
    const auto before = static_cast<size_t>(last->batch - batches_.front().number);
    batches_[before].next_use[static_cast<size_t>(last->index)] = batch.number;
    *last = here;
  }
}

void RowPlan::pop() {
  const Batch& batch = batches_.front();
  for (size_t i = 0; i < batch.rows.size(); ++i)
    if (batch.next_use[i] == kNever) last_use_.erase(batch.rows[i]);
  batches_.pop_front();
}

int64_t fewest_misses(const RowPlan& plan, int64_t slots, const std::function<int64_t(int32_t)>& held) {
  const auto& batches = plan.batches();
  const size_t count = batches.size();
  std::vector<int64_t> kept(count);  // rows in the cache, by the batch that next uses them
  int64_t taken = 0;
  int64_t misses = 0;
  for (size_t b = 0; b < count; ++b) {
    kept[b] = held(batches[b].number);
    taken += kept[b];
  }
  for (size_t b = 0; b < count; ++b) {
    misses += static_cast<int64_t>(batches[b].rows.size()) - kept[b];
    taken -= kept[b];
    for (const int32_t next : batches[b].next_use) {
      if (next == kNever) continue;
      ++kept[static_cast<size_t>(next - batches.front().number)];
      ++taken;
    }
    for (size_t farthest = count - 1; taken > slots; --farthest) {
      const int64_t given_up = std::min(kept[farthest], taken - slots);
      kept[farthest] -= given_up;
      taken -= given_up;
    }
  }
  return misses;
}

}  // namespace plimsoll
