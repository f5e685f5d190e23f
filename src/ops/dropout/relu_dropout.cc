#include "ops/dropout/relu_dropout.h"

#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/cuda.h"
#include "kernels/dropout/dropout.h"
#include "memory/slab.h"
#include "ops/autocast_scope.h"
#include "ops/check.h"
#include "ops/device_layer.h"
#include "ops/numbers.h"
#include "ops/operator.h"

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;

class ReluDropoutFunction : public torch::autograd::Function<ReluDropoutFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& input, double p, int64_t seed, int64_t layer,
                        int64_t epoch, const Tensor& item, const Tensor& local) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    Tensor out = at::empty(input.sizes(), input.options());
    context->saved_data["p"] = p;
    context->save_for_backward({out});
    if (input.is_meta()) return out;
    const WorkspaceScope workspace;
    const Tensor x = input.contiguous();
    if (!x.is_cpu()) {
      relu_dropout_cuda(static_cast<uint64_t>(seed), static_cast<uint32_t>(layer),
                        static_cast<uint32_t>(epoch), p, x.size(0), x.size(1), item.const_data_ptr<int64_t>(),
                        local.const_data_ptr<int64_t>(), read<float>(x), write<float>(out),
                        CurrentDeviceScope(x).stream());
      return out;
    }
    relu_dropout(kernel_level(), static_cast<uint64_t>(seed), static_cast<uint32_t>(layer),
                 static_cast<uint32_t>(epoch), p, x.size(0), x.size(1), item.const_data_ptr<int64_t>(),
                 local.const_data_ptr<int64_t>(), read<float>(x), write<float>(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Tensor out = context->get_saved_variables()[0];
    const double p = context->saved_data["p"].toDouble();
    auto made = std::make_tuple([&] {
      const at::AutoDispatchBelowADInplaceOrView guard;
      const Tensor& given = grads[0];
      // If the gradient has no other owner, the gradient of x overwrites it.
      const bool ours = !at::GradMode::is_enabled() && given.is_contiguous() && given.use_count() == 1 &&
                        given.storage().use_count() == 1;
      Tensor dx = ours ? given : at::empty(out.sizes(), out.options());
      const WorkspaceScope workspace;
      const Tensor dout = given.contiguous();
      if (dx.is_cpu())
        relu_dropout_backward(kernel_level(), p, out.numel(), read<float>(dout), read<float>(out),
                              write<float>(dx));
      else if (!dx.is_meta())
        relu_dropout_backward_cuda(p, out.numel(), read<float>(dout), read<float>(out), write<float>(dx),
                                   CurrentDeviceScope(dx).stream());
      return dx;
    }());
    refuse_second_derivatives(made, {grads[0], out});
    variable_list all(7);
    all[0] = std::get<0>(made);
    return all;
  }
};

}  // namespace

Tensor relu_dropout(const Tensor& given, double p, uint64_t seed, uint32_t layer, uint32_t epoch,
                    const Tensor& item, const Tensor& local) {
  // The operator computes in float32 under autocast.
  const Tensor x = AutocastScope::dtype(given.device().type()) ? given.to(at::kFloat) : given;
  require(x.dim() == 2 && x.scalar_type() == at::kFloat, "x f32 [rows, channels]", x);
  for (const Tensor* rows : {&item, &local})
    require(rows->scalar_type() == at::kLong && rows->sizes() == at::IntArrayRef{x.size(0)} &&
                rows->is_contiguous(),
            "item and local i64 [rows]", *rows);
  return ReluDropoutFunction::apply(x, p, static_cast<int64_t>(seed), static_cast<int64_t>(layer),
                                    static_cast<int64_t>(epoch), item, local);
}

}  // namespace plimsoll
