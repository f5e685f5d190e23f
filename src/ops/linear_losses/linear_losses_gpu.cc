#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <algorithm>

#include "kernels/logit_losses/logit_losses_gpu.h"
#include "memory/slab.h"
#include "ops/check.h"
#include "ops/device_layer.h"
#include "ops/linear_losses/linear_losses.h"
#include "ops/numbers.h"

// The operators of linear_losses.h on a CUDA device, one tile of logits at a time as on the CPU. A tile has
// more rows, because each operation on a device has a fixed cost. The contents of classes and ptr are not
// checked here.

namespace plimsoll {
namespace {

using Tensor = at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

constexpr int64_t kRows = kDeviceLogitRows;

void check_index(const Tensor& x, const Tensor& index, int64_t count, const char* expected) {
  require(index.dim() == 1 && index.scalar_type() == at::kLong && index.is_contiguous() &&
              index.size(0) >= count && index.device() == x.device(),
          expected, index);
}

// The target classes of a tile's rows, and the kernel of their loss.
struct Targets {
  Tensor target;

  void check(const Tensor& x) const { check_index(x, target, x.size(0), "target i64 [N] on x's device"); }

  template <typename T>
  void operator()(const LogitTile<T>& tile, int64_t first, void* stream) const {
    cross_entropy_cuda(tile, read<int64_t>(target) + first, stream);
  }
};

struct Lists {
  Tensor ptr, classes;

  void check(const Tensor& x) const {
    check_index(x, ptr, x.size(0) + 1, "ptr i64 [N + 1] on x's device");
    check_index(x, classes, 0, "classes i64 [M] on x's device");
  }

  template <typename T>
  void operator()(const LogitTile<T>& tile, int64_t first, void* stream) const {
    multilabel_bce_cuda(tile, read<int64_t>(ptr) + first, read<int64_t>(classes), stream);
  }
};

void check_layer(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(x.dim() == 2 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          "x f32 or f64 [N, D]", x);
  require(weight.dim() == 2 && weight.size(0) > 0, "weight [C, D] of at least one class", weight);
  require_like(x, weight, {weight.size(0), x.size(1)}, "weight [C, D] of x's dtype");
  require_like(x, bias, {weight.size(0)}, "bias [C] of x's dtype");
}

// Calls work(rows of x, their logits or the gradients of the logits, first row) for all tiles in order. The
// tile always has its full number of rows, even if fewer are used, so that plans are exact.
template <typename Labels, typename Work>
void over_tiles(const Tensor& x, const Tensor& weight, const Tensor& bias, const Labels& labels,
                bool gradients, const Tensor& grad, const Tensor& losses, const Work& work) {
  const CurrentDeviceScope device(x);
  const Tensor tile = at::empty({kRows, weight.size(0)}, x.options());
  for (int64_t first = 0; first < x.size(0); first += kRows) {
    const int64_t rows = std::min(kRows, x.size(0) - first);
    const Tensor part = x.narrow(0, first, rows);
    Tensor logits = tile.narrow(0, 0, rows);
    at::mm_out(logits, part, weight.t());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "linear_losses_on_device", [&] {
      labels(LogitTile<scalar_t>{.logits = write<scalar_t>(logits),
                                 .bias = read<scalar_t>(bias),
                                 .rows = rows,
                                 .classes = weight.size(0),
                                 .losses = write<scalar_t>(losses) + first,
                                 .gradients = gradients,
                                 .grad = grad.defined() ? read<scalar_t>(grad) + first : nullptr},
             first, device.stream());
    });
    work(part, logits, first);
  }
}

template <typename Labels>
Tensor only_losses(const Tensor& x, const Tensor& weight, const Tensor& bias, const Labels& labels) {
  check_layer(x, weight, bias);
  labels.check(x);
  const Tensor losses = at::empty({x.size(0)}, x.options());
  const WorkspaceScope workspace;
  over_tiles(x.contiguous(), weight, bias, labels, false, {}, losses,
             [](const Tensor&, const Tensor&, int64_t) {});
  return losses;
}

// Computes losses and gradients. `grad` has the gradients of the losses; if it is undefined, they are 1.
template <typename Labels>
LossesAndGradients losses_and_gradients(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                        const Tensor& bias, const Labels& labels) {
  check_layer(x, weight, bias);
  labels.check(x);
  if (grad.defined()) require_like(x, grad.contiguous(), {x.size(0)}, "a gradient of the losses [N]");
  const Tensor losses = at::empty({x.size(0)}, x.options());
  const Tensor dx = at::empty(x.sizes(), x.options());
  const Tensor dweight = at::zeros(weight.sizes(), x.options());
  Tensor dbias = at::zeros(bias.sizes(), x.options());
  const WorkspaceScope workspace;
  const Tensor ones = at::ones({kRows}, x.options());
  over_tiles(x.contiguous(), weight, bias, labels, true, grad.defined() ? grad.contiguous() : grad, losses,
             [&](const Tensor& part, const Tensor& gradients, int64_t first) {
               Tensor to = dx.narrow(0, first, part.size(0));
               at::mm_out(to, gradients, weight);
               dweight.addmm_(gradients.t(), part);
               dbias.addmv_(gradients.t(), ones.narrow(0, 0, part.size(0)));
             });
  return {losses, dx, dweight, dbias};
}

template <typename Labels>
Three only_gradients(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const Labels& labels) {
  auto [losses, dx, dweight, dbias] = losses_and_gradients(grad, x, weight, bias, labels);
  return {dx, dweight, dbias};
}

}  // namespace

Tensor linear_cross_entropy_on_device(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                      const Tensor& target) {
  return only_losses(x, weight, bias, Targets{target});
}

Tensor linear_multilabel_bce_on_device(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                       const Tensor& ptr, const Tensor& classes) {
  return only_losses(x, weight, bias, Lists{ptr, classes});
}

LossesAndGradients linear_cross_entropy_both_on_device(const Tensor& x, const Tensor& weight,
                                                       const Tensor& bias, const Tensor& target) {
  return losses_and_gradients({}, x, weight, bias, Targets{target});
}

LossesAndGradients linear_multilabel_bce_both_on_device(const Tensor& x, const Tensor& weight,
                                                        const Tensor& bias, const Tensor& ptr,
                                                        const Tensor& classes) {
  return losses_and_gradients({}, x, weight, bias, Lists{ptr, classes});
}

Three linear_cross_entropy_backward_on_device(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                              const Tensor& bias, const Tensor& target) {
  return only_gradients(grad, x, weight, bias, Targets{target});
}

Three linear_multilabel_bce_backward_on_device(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                               const Tensor& bias, const Tensor& ptr, const Tensor& classes) {
  return only_gradients(grad, x, weight, bias, Lists{ptr, classes});
}

}  // namespace plimsoll
