#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "sample/block/block.h"
#include "sample/typed/history_ends.h"
#include "sample/typed/history_numbers.h"
#include "sample/typed/node_inputs.h"
#include "sample/typed/sample_layout.h"
#include "sample/typed/task_seeds.h"
#include "sample/typed/typed_sampler.h"

namespace plimsoll {

/// Options of TypedSource.
struct TypedSourceOptions {
  std::string task;               ///< Name of the task whose seeds are the graphs.
  std::vector<int64_t> fan_outs;  ///< [hops] Neighbours per node and edge type; -1: all.
  TemporalStrategy strategy = TemporalStrategy::uniform;
  /// Whether seeds after the `test_timestamp` of the data set see rows up to their own time. If not, they see
  /// rows up to that timestamp, which is RelBench's rule. The seeds of a task that completes a column are
  /// rows themselves, and always see rows up to their own time.
  bool rolling = false;
  bool lagged = false;  ///< Whether histories of training seeds end as early as those of other seeds.
  std::vector<int64_t> history_days = {};  ///< Spans of HistoryNumbers of the seeds; empty: no numbers.
  uint64_t seed = 0;                       ///< Seed of the draws.
  int64_t samples = 1;  ///< Number of samples of each training seed, at least 1. shapes() bounds them all.
};

/// Blocks of the seeds of a task in a graph with node types. A graph of the source is one seed with its
/// sample. The sample is a separate tree without nodes or edges later than the end of the seed's history
/// (HistoryEnds). A block merges the samples of its seeds (GraphBlock::parts). Columns and lists of
/// neighbours are read from mapped files.
///
/// Each training seed has TypedSourceOptions::samples samples: graph `seed + s * graphs()` is sample s. Its
/// draws are those of epoch s of TypedSampler. The shape and counts of a seed are the maximum over its
/// samples, so the plan of a run bounds every block. With TemporalStrategy::last, all samples of a seed are
/// the same unless they have lags.
///
/// Nodes of the type of the seeds have more numbers after those of NodeInputs: HistoryNumbers, then, if
/// training seeds are lagged, log(1 + days) of the seed's lag; then all times are relative to the end of the
/// seed's history, otherwise to the seed.
///
/// Statistics and vocabularies come from rows known at the training cut (NodeInputs). Each reading thread
/// uses a separate sampler, which shapes() makes.
class TypedSource final : public BlockSource {
 public:
  /// Errors: those of TypedGraphView, TaskSeeds, TypedTopology and NodeInputs; InputError for a graph without
  /// edge types or with an invalid test_timestamp; UsageError for an edge type whose `time` is not a word of
  /// EdgeTime; Json::exception for a manifest that lacks a key.
  TypedSource(const std::filesystem::path& folder, const TypedSourceOptions& options);
  ~TypedSource() override;

  int64_t graphs() const override { return seeds_.seeds(); }
  int64_t node_features() const override { return widths_.node_features; }
  int64_t edge_features() const override { return 0; }
  RowWidths widths() const override { return widths_; }
  const GraphSetTables& tables() const override { return tables_; }
  /// Called by shapes() with the number of seeds sampled so far and the total, on one thread at a time.
  using SamplingProgress = std::function<void(int64_t done, int64_t total)>;
  /// Sets the function that shapes() calls. No thread may be in shapes().
  void report_sampling(SamplingProgress progress) const { progress_ = std::move(progress); }
  /// Call it only after shapes(). As many calls run at once as shapes() had threads; others wait.
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  /// Samples every seed. No other thread may be in shapes() or read(). Errors: UsageError for fan-outs that
  /// TypedSampler refuses, and for a seed whose node does not exist or whose time is missing.
  Vector<GraphShape, Tag::columns> shapes(int threads) const override;
  std::span<const int32_t> part_counts() const override { return counts_; }
  BoundedGraphs bounded() const override { return {.period = graphs()}; }
  /// Returns TypedSourceOptions::samples.
  int64_t samples() const { return options_.samples; }

  const TypedGraphView& graph() const { return graph_; }
  const SampleLayout& layout() const { return layout_; }
  const TaskSeeds& seeds() const { return seeds_; }
  /// Returns whether there is a time after which no seed sees a row.
  bool has_last_time() const { return last_time_ != std::numeric_limits<int64_t>::max(); }
  /// Returns the columns that models do not read, each with the reason.
  std::vector<std::string> left_out() const;

 private:
  struct Largest;
  struct Reader;
  class BorrowedReader;

  void find_destinations();
  void make_inputs();
  void make_readers(int threads) const;
  void sample(int64_t graph, Reader& reader) const;
  void count(const TypedSample& sample, std::span<int32_t> counts) const;
  int64_t samples_of(int64_t seed) const;
  void count_samples(int64_t seed, Reader& reader) const;
  void grow_readers() const;
  void size_block(std::span<const int64_t> graphs, Reader& reader, GraphBlock& block) const;
  void append(int64_t graph, Reader& reader, GraphBlock& block) const;
  int64_t end_of(int64_t graph) const;
  void write_history(int64_t node, int64_t end, int64_t seed_time, float* numbers) const;
  void write_nodes(int64_t graph, const Reader& reader, GraphBlock& block) const;
  void write_edges(const Reader& reader, GraphBlock& block) const;
  void clear_padding(GraphBlock& block) const;
  std::span<const int32_t> counts_of(int64_t graph) const;

  const TypedGraphView graph_;
  const TaskSeeds seeds_;
  const TypedTopology topology_;
  SampleLayout layout_;
  std::vector<NodeInputs> inputs_;  // One entry per node type of the layout.
  const TypedSourceOptions options_;
  int64_t last_time_;  // No seed sees a row after this time.
  const HistoryEnds ends_;
  const HistoryNumbers history_;  // For nodes of the seeds' type.
  RowWidths widths_;
  GraphSetTables tables_;
  mutable SamplingProgress progress_;
  mutable Vector<int32_t, Tag::columns> counts_;  // [graphs, layout_.counts]

  mutable Mutex mutex_;
  mutable ConditionVariable returned_;
  mutable std::vector<std::unique_ptr<Reader>> free_ PLIMSOLL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
