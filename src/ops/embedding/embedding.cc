#include "ops/embedding/embedding.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "memory/slab.h"
#include "ops/device_bytes.h"
#include "ops/meta_tensors.h"
#include "ops/operator.h"

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;
using Signature = Tensor(const Tensor&, const Tensor&);
using BackwardSignature = Tensor(const Tensor&, const Tensor&, int64_t);

Tensor rows_of(const Tensor& weight, const Tensor& ids) {
  return at::embedding(weight, ids);
}

Tensor backward_cpu(const Tensor& grad, const Tensor& ids, int64_t rows) {
  return at::embedding_dense_backward(grad, ids, rows, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false);
}

Tensor backward_meta(const Tensor& grad, const Tensor& ids, int64_t rows) {
  if (!MetaTensors::on_cuda()) return backward_cpu(grad, ids, rows);
  Tensor dweight = at::empty({rows, grad.size(1)}, grad.options());
  const WorkspaceScope workspace;
  ask_for_workspace(grad,
                    grad.numel() * static_cast<int64_t>(grad.element_size()) +
                        embedding_backward_device_workspace(rows, ids.numel()),
                    0);
  return dweight;
}

class EmbeddingFunction : public torch::autograd::Function<EmbeddingFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& weight, const Tensor& ids) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<Signature>("plimsoll::embedding");
    context->save_for_backward({ids});
    context->saved_data["rows"] = weight.size(0);
    return op.call(weight, ids);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    static const auto op = find_operator<BackwardSignature>("plimsoll::embedding_backward");
    return {op.call(grads[0], context->get_saved_variables()[0], context->saved_data["rows"].toInt()),
            Tensor()};
  }
};

Tensor embedding_autograd(const Tensor& weight, const Tensor& ids) {
  return EmbeddingFunction::apply(weight, ids);
}

Tensor backward_autograd(const Tensor& grad, const Tensor& ids, int64_t rows) {
  const auto made = [&] {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<BackwardSignature>("plimsoll::embedding_backward");
    return op.call(grad, ids, rows);
  };
  Tensor dweight = made();
  auto list = std::tie(dweight);
  refuse_second_derivatives(list, {grad});
  return dweight;
}

}  // namespace

Tensor embedding_rows(const Tensor& weight, const Tensor& ids) {
  static const auto op = find_operator<Signature>("plimsoll::embedding");
  return op.call(weight, ids);
}

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def("embedding(Tensor weight, Tensor ids) -> Tensor");
  m.def("embedding_backward(Tensor grad, Tensor ids, int rows) -> Tensor");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("embedding", rows_of);
  m.impl("embedding_backward", backward_cpu);
}
TORCH_LIBRARY_IMPL(plimsoll, CUDA, m) {
  m.impl("embedding", rows_of);
  m.impl("embedding_backward", embedding_backward_on_device);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("embedding", rows_of);
  m.impl("embedding_backward", backward_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("embedding", embedding_autograd);
  m.impl("embedding_backward", backward_autograd);
}

}  // namespace plimsoll
