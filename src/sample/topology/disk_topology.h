#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rows/page_cache.h"
#include "sample/topology/topology.h"

namespace plimsoll {

class GraphView;

/// Counters of a topology on disk, by column.
struct TopologyCounters {
  PageCounters lists;       ///< Column `indptr`.
  PageCounters neighbours;  ///< Column `indices`.
  PageCounters weights;     ///< Column `edge_weight`.
  PageCounters features;    ///< Column `edge_attr`.
};

/// The topology of a `graph` data set that stays on disk, except for as many pages of its columns as a budget
/// allows. It returns the same data as CsrTopology for every budget and read method.
class DiskTopology final : public Topology {
 public:
  /// Reads the graph at `folder`. `bytes` of Tag::cache is the total memory, at least min_bytes().
  /// read_edge_values() returns no columns. Errors: InputError (not a graph, or damaged), UsageError (fewer
  /// bytes; PLIMSOLL_READ), BudgetExceeded.
  DiskTopology(const std::filesystem::path& folder, int64_t bytes, const PageCache::Options& options = {});
  /// Does the same for an open graph, with min_bytes(). `values` selects the columns that read_edge_values()
  /// returns. Errors: the same, and InputError if weights are requested and the graph has none.
  explicit DiskTopology(const GraphView& graph, const PageCache::Options& options = {},
                        const EdgeColumns& values = {});

  int64_t nodes() const override { return nodes_; }
  int64_t edges() const override { return edges_; }
  bool weighted() const override { return weights_ != nullptr; }
  /// The functions below that read throw, in addition to the errors of CsrTopology, InputError (a truncated
  /// file), Failure (disk errors), BudgetExceeded (scratch memory) and Interrupted (while a whole column is
  /// read into memory).
  void read_lists(std::span<const int64_t> nodes, std::span<EdgeRange> lists) const override;
  void read_neighbours(std::span<const int64_t> edges, std::span<int64_t> neighbours) const override;
  void find(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
            std::span<uint8_t> found) const override;
  void read_weights(std::span<const int64_t> edges, std::span<float> weights) const override;
  int64_t edge_width() const override { return (values_.weight ? 1 : 0) + feature_width_; }
  void read_edge_values(std::span<const int64_t> edges, std::span<float> values) const override;

  int64_t min_bytes() const;  ///< Bytes with one page per column.
  int64_t max_bytes() const;  ///< Bytes with all pages. More bytes have no use.
  /// Changes the total memory to `bytes` and empties the caches. Other threads may be reading. Errors:
  /// UsageError for less than min_bytes(); BudgetExceeded, after which nothing is kept in memory.
  void resize(int64_t bytes);

  /// Divides the nodes into ranges whose lists each fit into a total of `bytes`, which must be more than
  /// min_bytes(). Returns the first node of each range, followed by nodes(). A list that does not fit is a
  /// range by itself. `weights` is whether weights are needed as well. If there are more than `max` ranges,
  /// it stops after the first max + 1. Errors: those of read_lists(), Interrupted.
  std::vector<int64_t> ranges(int64_t bytes, bool weights, int64_t max) const;
  /// Replaces the content of the caches with the lists of the nodes first .. end-1, and their weights if
  /// `weights` is true, in long reads. If they do not fit into `bytes`, only does resize(bytes). Errors:
  /// those of resize() and read_lists().
  void hold(int64_t first, int64_t end, int64_t bytes, bool weights);
  TopologyCounters counters() const;

 private:
  std::array<PageCache*, 4> columns() const {
    return {lists_.get(), neighbours_.get(), weights_.get(), features_.get()};
  }
  using PageRange = std::pair<int64_t, int64_t>;  // The first page, and the number of pages.
  std::array<PageRange, 4> pages_of(int64_t first, int64_t end, bool weights) const;
  int64_t bytes_for(const std::array<PageRange, 4>& pages) const;
  template <typename T>
  void find_in(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
               std::span<uint8_t> found) const;
  void read_features(std::span<const int64_t> edges, std::span<float> values) const;

  int64_t nodes_;
  int64_t edges_;
  bool wide_;  // Whether the indices are i64.
  EdgeColumns values_;
  int64_t feature_width_;  // 0 if features are not requested.
  std::unique_ptr<PageCache> lists_;
  std::unique_ptr<PageCache> neighbours_;
  std::unique_ptr<PageCache> weights_;   // Null if the graph has no weights, or they are not requested.
  std::unique_ptr<PageCache> features_;  // Null if features are not requested.
};

}  // namespace plimsoll
