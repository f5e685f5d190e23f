#pragma once

#include <cstdint>
#include <span>
#include <stop_token>

#include "sample/neighbour/block_sampler.h"

namespace plimsoll {

/// A source of block samples: made on request (SampledNow), or stored (SampleFile). Not thread-safe.
class BlockSamples {
 public:
  virtual ~BlockSamples() = default;
  /// Writes the sample of each block in `numbers` to `samples`. Returns false if it was stopped; `samples`
  /// are then undefined.
  virtual bool get(std::span<const int64_t> numbers, std::span<BlockSample> samples,
                   const std::stop_token& stop) = 0;
  /// Frees memory that get() keeps for its next call.
  virtual void forget() {}
};

/// Samples that are made on request. Errors of get(): those of BlockSampler::sample().
class SampledNow final : public BlockSamples {
 public:
  /// The objects in `from` must outlive this one. Errors: those of BlockSampler.
  explicit SampledNow(const BlockSampler::From& from) : sampler_(from) {}
  bool get(std::span<const int64_t> numbers, std::span<BlockSample> samples,
           const std::stop_token& stop) override {
    return sampler_.sample(numbers, samples, stop);
  }
  void forget() override { sampler_.forget(); }

 private:
  BlockSampler sampler_;
};

}  // namespace plimsoll
