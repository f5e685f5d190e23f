#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "loader/batch_maker.h"
#include "loader/seed_list.h"
#include "loader/typed_fields.h"
#include "sample/typed/typed_sampler.h"

namespace plimsoll {

/// How to sample a graph with types, and the seeds around which to sample.
struct TypedLoading {
  TypedOptions sampling;
  SeedBatching batching;
  size_t seed_type = 0;  ///< Index of the node type of the seeds.
  /// The seeds; nullopt: all nodes of the seeds' type. `times` has one time per seed, or is empty.
  std::optional<GraphList> seeds = {};
  GraphList times = {};
};

/// The data that all epochs of one loader share. Immutable.
class LoadedTypes {
 public:
  /// The memory to which the topology refers must outlive this object. Errors: UsageError for a node that is
  /// not in the graph, and if the number of times is not the number of seeds; those of TypedSampler.
  LoadedTypes(TypedTopology topology, TypedLoading loading);

  const TypedTopology& topology() const { return topology_; }
  const TypedLoading& loading() const { return loading_; }
  const TypedFields& fields() const { return fields_; }
  /// Number of seeds in an epoch.
  int64_t items() const;
  int64_t seed(int64_t i) const { return loading_.seeds ? (*loading_.seeds)[static_cast<size_t>(i)] : i; }

 private:
  const TypedTopology topology_;
  const TypedLoading loading_;
  const TypedFields fields_;
};

/// Copies a sample around the seeds with the indices `numbers` to the tensors of a batch. Errors:
/// BudgetExceeded.
CollatedBatch collate(const TypedSample& sample, const TypedFields& fields, std::span<const int64_t> numbers,
                      BatchMemory& memory);

/// Makes the batches of an epoch from a list of seeds, using TypedSampler. If subgraphs are disjoint, the
/// sample of a seed depends only on the random seed, the epoch, the seed node and its time.
class TypedBatches final : public BatchMaker {
 public:
  TypedBatches(std::shared_ptr<const LoadedTypes> source, uint32_t epoch, const Share& share,
               std::shared_ptr<BatchMemory> memory);

  int64_t size() const override { return list_.size(); }
  CollatedBatch make(int64_t batch) override;
  const char* limits() const override { return "batch_size, num_neighbors"; }

 private:
  void sample(std::span<const int64_t> numbers);

  const std::shared_ptr<const LoadedTypes> source_;
  const uint32_t epoch_;
  const BatchList list_;
  const std::shared_ptr<BatchMemory> memory_;
  TypedSampler sampler_;
  TypedSample sample_;
  TypedSample::Column seeds_, times_;
};

}  // namespace plimsoll
