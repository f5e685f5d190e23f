#include "loader/feature_rows.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "memory/ledger.h"
#include "rows/feature_file.h"

namespace plimsoll {
namespace {

constexpr size_t kAhead = 8;  // rows of the map whose begin is on its way from memory

}  // namespace

FeatureRows::FeatureRows(std::shared_ptr<const GraphView> graph, int64_t cache_bytes)
    : graph_(std::move(graph)), process_(getpid()) {
  if (cache_bytes == 0 || graph_->node_features() == 0) return;
  const FeatureFile file = FeatureFile::column(graph_->set(), "x");
  reader_ = std::make_unique<RowReader>(file.path, file.layout());
  cache_ = std::make_unique<RowCache>(
      *reader_, RowCache::Options{.bytes = cache_bytes, .ahead_bytes = cache_bytes / kAheadPart});
}

FeatureRows::~FeatureRows() {
  if (getpid() == process_) return;
  // The cache would wait for its thread, which the child has not.
  static_cast<void>(cache_.release());
  static_cast<void>(reader_.release());
}

int64_t FeatureRows::begin_plan() {
  const std::lock_guard lock(mutex_);
  if (cache_) cache_->forget_plan();
  return ++plan_;
}

bool FeatureRows::plan(int64_t number, std::span<const int64_t> nodes) {
  const std::lock_guard lock(mutex_);
  if (!cache_ || number != plan_) return false;
  try {
    cache_->plan(nodes);
  } catch (const BudgetExceeded&) {
    return false;
  }
  return true;
}

void FeatureRows::gather_planned(int64_t number, std::span<const int64_t> nodes, float* out) {
  widened(nodes, out, [&](std::byte* packed) {
    const std::lock_guard lock(mutex_);
    if (number == plan_)
      cache_->gather_planned(packed);
    else
      cache_->gather(nodes, packed);
  });
}

void FeatureRows::gather(std::span<const int64_t> nodes, float* out) {
  if (!cache_) return copy(nodes, out);
  widened(nodes, out, [&](std::byte* packed) {
    const std::lock_guard lock(mutex_);
    cache_->gather(nodes, packed);
  });
}

// Rows as they are stored, which `gather` puts into the memory that they fill when they are f32.
template <typename Gather>
void FeatureRows::widened(std::span<const int64_t> nodes, float* out, const Gather& gather) const {
  const RowValues& stored = graph_->x_values();
  const std::span rows(out, nodes.size() * static_cast<size_t>(stored.width));
  gather(stored.packed_in(rows));
  stored.widen_in_place(rows);
}

void FeatureRows::copy(std::span<const int64_t> nodes, float* out) const {
  const int64_t width = graph_->node_features();
  const int64_t row_bytes = graph_->x_values().row_bytes();
  const std::byte* const x = graph_->x_bytes().data();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + kAhead < nodes.size()) __builtin_prefetch(x + nodes[i + kAhead] * row_bytes);
    graph_->copy_x(nodes[i], std::span(out, static_cast<size_t>(width)));
    out += width;
  }
}

RowCounters FeatureRows::counters() {
  const std::lock_guard lock(mutex_);
  return cache_ ? cache_->counters() : RowCounters{};
}

}  // namespace plimsoll
