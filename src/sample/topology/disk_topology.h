#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "rows/page_cache.h"
#include "sample/topology/topology.h"

namespace plimsoll {

class GraphView;

/// What a topology on disk has done so far, column by column.
struct TopologyCounters {
  PageCounters lists;       ///< of `indptr`
  PageCounters neighbours;  ///< of `indices`
  PageCounters weights;     ///< of `edge_weight`
  PageCounters features;    ///< of `edge_attr`
};

/// The topology of a `graph` data set that stays on disk, but for as many pages of its columns as a budget
/// allows. What it gives is what CsrTopology gives, for every budget and way of reading.
class DiskTopology final : public Topology {
 public:
  /// Reads the graph at `folder`, with `bytes` of Tag::cache for everything: min_bytes() or more.
  /// Errors: InputError (no graph, or damaged), UsageError (fewer bytes; PLIMSOLL_READ), BudgetExceeded.
  DiskTopology(const std::filesystem::path& folder, int64_t bytes, const PageCache::Options& options = {});
  /// The same of an open graph, with min_bytes(). Gives these columns as edge values. Errors: those,
  /// and InputError where the graph has no weights and they are asked for.
  explicit DiskTopology(const GraphView& graph, const PageCache::Options& options = {},
                        const EdgeColumns& values = {});

  int64_t nodes() const override { return nodes_; }
  int64_t edges() const override { return edges_; }
  bool weighted() const override { return weights_ != nullptr; }
  /// Errors of these, beside those of CsrTopology: InputError (a file has been cut short), Failure (the
  /// disk's).
  void read_lists(std::span<const int64_t> nodes, std::span<EdgeRange> lists) const override;
  void read_neighbours(std::span<const int64_t> edges, std::span<int64_t> neighbours) const override;
  void find(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
            std::span<uint8_t> found) const override;
  void read_weights(std::span<const int64_t> edges, std::span<float> weights) const override;
  int64_t edge_width() const override { return (values_.weight ? 1 : 0) + feature_width_; }
  void read_edge_values(std::span<const int64_t> edges, std::span<float> values) const override;

  int64_t min_bytes() const;  ///< with one page of each column
  int64_t max_bytes() const;  ///< with all of them: more is of no use
  /// Goes on with so many bytes, and begins with empty caches. Other threads may be reading.
  /// Errors: UsageError for less than min_bytes(); BudgetExceeded: nothing is kept in memory then.
  void resize(int64_t bytes);
  TopologyCounters counters() const;

 private:
  std::array<PageCache*, 4> columns() const {
    return {lists_.get(), neighbours_.get(), weights_.get(), features_.get()};
  }
  template <typename T>
  void find_in(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
               std::span<uint8_t> found) const;
  void read_features(std::span<const int64_t> edges, std::span<float> values) const;

  int64_t nodes_;
  int64_t edges_;
  bool wide_;  // indices of i64
  EdgeColumns values_;
  int64_t feature_width_;  // 0: features are not asked for
  std::unique_ptr<PageCache> lists_;
  std::unique_ptr<PageCache> neighbours_;
  std::unique_ptr<PageCache> weights_;   // where there are any
  std::unique_ptr<PageCache> features_;  // where they are asked for
};

}  // namespace plimsoll
