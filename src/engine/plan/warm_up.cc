#include "engine/plan/warm_up.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/autograd.h>

#include <barrier>

#include "base/workers.h"
#include "engine/plan/blas_memory.h"
#include "memory/c_heap.h"
#include "memory/meter.h"

namespace plimsoll {
namespace {

int64_t warm_blas = 0;

// MKL prepares its vector functions at their first call. If two threads make that call at the same time, one
// may get numbers that are right to only four digits, so the results would differ from those of any other
// run.
void begin_vector_functions() {
  const at::Tensor some = at::zeros({64});
  at::erf(some);
  at::exp(some);
  at::tanh(some);
}

}  // namespace

FloorParts warm_up_torch(int threads) {
  watch_blas_memory();
  FloorParts parts{.program = process_memory().anonymous};
  at::set_num_threads(1);  // Each worker has one thread, so that the order of every sum is fixed.
  begin_vector_functions();
  std::barrier everyone(threads);  // Prevents one thread from processing two items.
  Workers workers(threads);
  workers.run_ordered(threads, [&](int64_t, Turn&) { everyone.arrive_and_wait(); });
  parts.threads = process_memory().anonymous - parts.program;
  workers.run_ordered(threads, [&](int64_t, Turn&) {
    everyone.arrive_and_wait();
    at::init_num_threads();
    const at::Tensor weight = at::ones({96, 96}).set_requires_grad(true);
    const at::Tensor index = at::zeros({256}, at::kLong);
    const at::Tensor sums = at::zeros({256, 96}).index_add(0, index, at::mm(at::ones({256, 96}), weight));
    torch::autograd::grad({at::log_softmax(sums, 1).sum()}, {weight});
  });
  // Memory that the operations freed must not be part of the floor: blocks would use it, and the plan would
  // count it twice.
  give_back_freed_memory();
  parts.blas = process_memory().anonymous - parts.program - parts.threads;
  warm_blas = blas_bytes().value_or(0);
  return parts;
}

int64_t warm_blas_bytes() {
  return warm_blas;
}

}  // namespace plimsoll
