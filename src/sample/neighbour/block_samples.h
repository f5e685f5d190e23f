#pragma once

#include <cstdint>
#include <span>
#include <stop_token>

#include "sample/neighbour/block_sampler.h"

namespace plimsoll {

/// Where the samples of blocks come from: made anew (SampledNow), or kept since they were (SampleFile). Not
/// thread-safe.
class BlockSamples {
 public:
  virtual ~BlockSamples() = default;
  /// The sample of each block. False, with samples of any kind: it was told to stop.
  virtual bool get(std::span<const int64_t> numbers, std::span<BlockSample> samples,
                   const std::stop_token& stop) = 0;
  /// Gives back what it keeps for the next call.
  virtual void forget() {}
};

/// Samples that are made when they are asked for. Errors of get(): those of BlockSampler::sample().
class SampledNow final : public BlockSamples {
 public:
  /// What it is made of has to outlive it. Errors: those of BlockSampler.
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
