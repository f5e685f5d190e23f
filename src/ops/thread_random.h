#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>

namespace plimsoll {

/// For its lifetime, random numbers that torch draws on this thread come from a separate generator, so that
/// they do not depend on what other threads draw. This holds for bernoulli_, rand, randint and every other
/// operator that accepts a generator and is called without one. Dropout of f32 uses ops/dropout/dropout.h,
/// which keeps no mask.
///
/// Code that uses torch's default generator explicitly is not affected, such as torch.get_rng_state and
/// third-party operators without an argument for a generator. Must be constructed and destroyed on the same
/// thread. Can be nested.
class ThreadRandom {
 public:
  explicit ThreadRandom(uint64_t seed);
  ~ThreadRandom();
  ThreadRandom(const ThreadRandom&) = delete;
  ThreadRandom& operator=(const ThreadRandom&) = delete;

 private:
  at::Generator generator_;
  at::Generator* const outer_;
};

}  // namespace plimsoll
