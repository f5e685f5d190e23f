#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>

namespace plimsoll {

/// While it lives, random numbers that torch draws in this thread come from a separate generator, so that
/// threads that run at the same time draw the same numbers each time: bernoulli_, rand, randint and every
/// other operator that accepts a generator and is given none. Dropout of f32 uses ops/dropout/dropout.h,
/// which keeps no mask.
///
/// Code that names torch's default generator is not affected: torch.get_rng_state, and third-party operators
/// without an argument for a generator. Must be made and destroyed by the same thread. Can be nested.
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
