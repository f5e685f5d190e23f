#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>

namespace plimsoll {

/// While it lives, random numbers that torch draws in this thread come from a generator of its own, so that
/// threads that run at once draw the same numbers each time: bernoulli_, rand, randint and every other
/// operator that takes a generator and is given none. Dropout of f32 is ops/dropout/dropout.h, which keeps no
/// mask.
///
/// Code that asks for torch's default generator by name is not affected: torch.get_rng_state, and operators
/// of others without an argument for a generator. Must be made and ended by the same thread. Can be nested.
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
