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

/// What to sample around which seeds of a graph with types.
struct TypedLoading {
  TypedOptions sampling;
  SeedBatching batching;
  size_t seed_type = 0;
  /// Seeds, and a time for each or none. Without a value of `seeds` all nodes of their type.
  std::optional<GraphList> seeds = {};
  GraphList times = {};
};

/// Data that the epochs of one loader share. Immutable.
class LoadedTypes {
 public:
  /// Errors: UsageError for a node that is not in the graph, and for times that are not one for each seed;
  /// those of TypedSampler. What the topology borrows must outlive this.
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

/// Copies a sample around the seeds with these numbers to the tensors of a batch. Errors: BudgetExceeded.
CollatedBatch collate(const TypedSample& sample, const TypedFields& fields, std::span<const int64_t> numbers,
                      BatchMemory& memory);

/// The batches of an epoch: seeds of a list and the sample of TypedSampler for them. In disjoint subgraphs
/// what is sampled for a seed depends only on the random seed, the epoch, and the seed node and its time.
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
