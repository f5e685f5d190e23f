#include "ops/dropout/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/dropout/dropout.h"
#include "memory/slab.h"
#include "ops/check.h"
#include "ops/numbers.h"
#include "ops/operator.h"

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;

constexpr int64_t kNumbersATime = 1 << 15;  // Count of numbers that one thread draws at a time.

void check_dropout(const Tensor& x, double p, const Tensor& seed) {
  require(x.scalar_type() == at::kFloat, "x f32", x);
  require(seed.scalar_type() == at::kLong && seed.numel() == 3 && seed.is_contiguous(), "seed i64 [3]", seed);
  if (!(p >= 0 && p < 1)) throw UsageError(fmt::format("dropout: p is {}, expected 0 to below 1", p));
  if (x.numel() >> 34 != 0)
    throw UsageError(fmt::format("dropout: x has {} numbers, expected fewer than 2^34", x.numel()));
}

Tensor dropout_cpu(const Tensor& input, double p, const Tensor& seed) {
  check_dropout(input, p, seed);
  Tensor out = at::empty(input.sizes(), input.options());
  if (out.numel() == 0) return out;
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  const int64_t channels = x.dim() == 0 ? 1 : x.size(-1);
  const int64_t* const words = seed.const_data_ptr<int64_t>();
  const auto key = static_cast<uint64_t>(words[0]);
  const auto layer = static_cast<uint32_t>(words[1]) & 0xFFFF;
  const auto epoch = static_cast<uint32_t>(words[2]);
  const int64_t grain = std::max<int64_t>(1, kNumbersATime / channels);
  at::parallel_for(0, x.numel() / channels, grain, [&](int64_t begin, int64_t end) {
    dropout(kernel_level(), key, layer, epoch, p, begin, end, channels, read<float>(x), write<float>(out));
  });
  return out;
}

Tensor dropout_meta(const Tensor& x, double, const Tensor&) {
  return at::empty_symint(x.sym_sizes(), x.options());
}

class DropoutFunction : public torch::autograd::Function<DropoutFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, double p, const Tensor& seed) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<decltype(dropout_cpu)>("plimsoll::dropout");
    context->saved_data["p"] = p;
    context->save_for_backward({seed});
    return op.call(x, p, seed);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    static const auto op = find_operator<decltype(dropout_cpu)>("plimsoll::dropout");
    // Dropout is linear in x: the same factors apply to the gradient.
    return {op.call(grads[0], context->saved_data["p"].toDouble(), context->get_saved_variables()[0]),
            Tensor(), Tensor()};
  }
};

Tensor dropout_autograd(const Tensor& x, double p, const Tensor& seed) {
  return DropoutFunction::apply(x, p, seed);
}

}  // namespace

Tensor dropout(const Tensor& x, double p, const Tensor& seed) {
  static const auto op = find_operator<decltype(dropout_cpu)>("plimsoll::dropout");
  return op.call(x, p, seed);
}

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def("dropout(Tensor x, float p, Tensor seed) -> Tensor");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("dropout", dropout_cpu);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("dropout", dropout_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("dropout", dropout_autograd);
}

}  // namespace plimsoll
