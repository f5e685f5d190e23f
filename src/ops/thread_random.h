#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>

namespace plimsoll {

/// While it lives, what torch draws at random in this thread comes from a generator of its own, so that
/// threads that run at once draw the same numbers each time: bernoulli_, rand, randint and all else that
/// takes a generator and is given none. Dropout of f32 is ops/dropout.h, which keeps no mask.
///
/// What asks for torch's default generator by name does not see it: torch.get_rng_state, and operators of
/// others that have no argument for one. To be made and ended by the same thread; may be nested.
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
