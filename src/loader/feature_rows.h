#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "io/row_reader.h"
#include "rows/row_cache.h"
#include "store/graph.h"

namespace plimsoll {

/// The features of nodes of one giant graph, for the batches of one loader: from the map or, with a cache,
/// read into memory of a given size. The cache keeps its rows from one epoch to the next. It knows what
/// comes from one plan at a time, the one begun last; an epoch with another goes without. Thread-safe. A
/// child of fork() may destroy what its parent made.
class FeatureRows {
 public:
  /// Of the rest that the cache has, this part is for rows that are read ahead.
  static constexpr int64_t kAheadPart = 8;

  /// `cache_bytes` 0: from the map. Errors: UsageError (no row fits), BudgetExceeded (Tag::cache), and
  /// those of RowReader.
  FeatureRows(std::shared_ptr<const GraphView> graph, int64_t cache_bytes);
  ~FeatureRows();
  FeatureRows(const FeatureRows&) = delete;
  FeatureRows& operator=(const FeatureRows&) = delete;

  bool cached() const { return cache_ != nullptr; }
  /// Begins a plan, which ends the one before. Gives its number.
  int64_t begin_plan();
  /// Appends a batch of nodes that differ. Whether the plan is still this one, and memory had room for it.
  bool plan(int64_t number, std::span<const int64_t> nodes);
  /// Rows of nodes of the graph, [nodes, F]: the next batch of this plan, or without one where it has ended.
  /// Errors: those of RowReader::read(); the planned batch is over then.
  void gather_planned(int64_t number, std::span<const int64_t> nodes, float* out);
  void gather(std::span<const int64_t> nodes, float* out);

  RowCounters counters();

 private:
  template <typename Gather>
  void widened(std::span<const int64_t> nodes, float* out, const Gather& gather) const;
  void copy(std::span<const int64_t> nodes, float* out) const;

  const std::shared_ptr<const GraphView> graph_;
  const pid_t process_;
  std::mutex mutex_;
  std::unique_ptr<RowReader> reader_;
  std::unique_ptr<RowCache> cache_;  // its rows and plan guarded by mutex_
  int64_t plan_ = 0;                 // guarded by mutex_
};

}  // namespace plimsoll
