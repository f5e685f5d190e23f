#include "ops/linear_losses/linear_losses.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/logit_losses/logit_losses.h"
#include "memory/slab.h"
#include "ops/check.h"
#include "ops/numbers.h"
#include "ops/products.h"

namespace plimsoll {
namespace {

using Tensor = at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

void check(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(x.dim() == 2 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          "x f32 or f64 [N, D]", x);
  require(weight.dim() == 2 && weight.size(0) > 0, "weight [C, D] of at least one class", weight);
  require_like(x, weight, {weight.size(0), x.size(1)}, "weight [C, D] of x's dtype");
  require_like(x, bias, {weight.size(0)}, "bias [C] of x's dtype");
}

void check_indices(const Tensor& x, const Tensor& tensor, int64_t min, const char* expected) {
  require(tensor.dim() == 1 && tensor.scalar_type() == at::kLong && tensor.is_contiguous() &&
              tensor.size(0) >= min && tensor.device() == x.device(),
          expected, tensor);
}

void check_classes(const int64_t* found, int64_t count, int64_t classes) {
  const auto* const wrong =
      std::find_if(found, found + count, [&](int64_t c) { return c < 0 || c >= classes; });
  if (wrong != found + count)
    throw UsageError(fmt::format("linear losses: found class {} at index {}, expected a class from 0 to {}",
                                 *wrong, wrong - found, classes - 1));
}

void check_target(const Tensor& x, const Tensor& weight, const Tensor& target) {
  check_indices(x, target, x.size(0), "target i64 [N]");
  require(target.size(0) == x.size(0), "target i64 [N]", target);
  if (!x.is_meta()) check_classes(target.const_data_ptr<int64_t>(), target.size(0), weight.size(0));
}

void check_lists(const Tensor& x, const Tensor& weight, const Tensor& ptr, const Tensor& classes) {
  check_indices(x, ptr, x.size(0) + 1, "ptr i64 [N + 1]");
  require(ptr.size(0) == x.size(0) + 1, "ptr i64 [N + 1]", ptr);
  check_indices(x, classes, 0, "classes i64 [M]");
  if (x.is_meta()) return;
  const int64_t* const p = ptr.const_data_ptr<int64_t>();
  const int64_t rows = x.size(0);
  if (p[0] != 0 || !std::is_sorted(p, p + rows + 1) || p[rows] > classes.size(0))
    throw UsageError(
        fmt::format("linear losses: ptr goes from {} to {}, expected ascending numbers from 0 to at "
                    "most {}, the number of listed classes",
                    p[0], p[rows], classes.size(0)));
  check_classes(classes.const_data_ptr<int64_t>(), p[rows], weight.size(0));
}

/// Computes logits without bias, one tile of rows at a time.
class Tiles {
 public:
  Tiles(const Tensor& x, const Tensor& weight)
      : x_(x.contiguous()), weight_(weight), tile_(at::empty({kLogitRows, weight.size(0)}, x.options())) {}

  /// Calls work(rows of x, their logits, first row) for all tiles in order.
  template <typename Work>
  void run(const Work& work) const {
    if (x_.is_meta()) return;
    const at::AutoDispatchBelowADInplaceOrView guard;
    const OneProductThread one_thread;
    for (int64_t first = 0; first < x_.size(0); first += kLogitRows) {
      const int64_t count = std::min(kLogitRows, x_.size(0) - first);
      const Tensor logits = tile_.narrow(0, 0, count);
      multiply_rows(x_, first, first + count, weight_.t(), logits);
      work(x_.narrow(0, first, count), logits, first);
    }
  }

 private:
  Tensor x_;
  Tensor weight_;
  Tensor tile_;
};

// Calls losses(kernels, logits, bias, rows, first row, output for the losses) for all tiles.
template <typename Losses>
Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const Losses& losses) {
  const Tensor out = at::empty({x.size(0)}, x.options());
  const WorkspaceScope workspace;
  const Tiles tiles(x, weight);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "linear_losses", [&] {
    tiles.run([&](const Tensor&, const Tensor& logits, int64_t first) {
      losses(logit_losses<scalar_t>(kernel_level()), read<scalar_t>(logits), read<scalar_t>(bias),
             logits.size(0), first, write<scalar_t>(out) + first);
    });
  });
  return out;
}

// Calls gradients(kernels, logits, bias, rows, first row, gradients of the losses, output for the gradient of
// bias, output for the losses) for all tiles. Either `grad` or `losses` is undefined.
template <typename Gradients>
Three all_gradients(const Tensor& grad, const Tensor& losses, const Tensor& x, const Tensor& weight,
                    const Tensor& bias, const Gradients& gradients) {
  const Tensor dx = at::empty(x.sizes(), x.options());
  const Tensor dweight = at::zeros(weight.sizes(), x.options());
  const Tensor dbias = at::zeros(bias.sizes(), x.options());
  const WorkspaceScope workspace;
  const Tensor dout = grad.defined() ? grad.contiguous() : grad;
  if (dout.defined()) require_like(x, dout, {x.size(0)}, "a gradient of the losses [N]");
  const Tiles tiles(x, weight);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "linear_losses_backward", [&] {
    tiles.run([&](const Tensor& rows, const Tensor& logits, int64_t first) {
      const int64_t count = logits.size(0);
      gradients(logit_losses<scalar_t>(kernel_level()), write<scalar_t>(logits), read<scalar_t>(bias), count,
                first, dout.defined() ? read<scalar_t>(dout) + first : nullptr, write<scalar_t>(dbias),
                losses.defined() ? write<scalar_t>(losses) + first : nullptr);
      multiply_rows(logits, 0, count, weight, dx.narrow(0, first, count));
      add_transposed_product(logits, rows, dweight);
    });
  });
  return {dx, dweight, dbias};
}

template <typename Gradients>
Three backward(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& bias,
               const Gradients& gradients) {
  return all_gradients(grad, {}, x, weight, bias, gradients);
}

template <typename Gradients>
LossesAndGradients both(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Gradients& gradients) {
  const Tensor losses = at::empty({x.size(0)}, x.options());
  return std::tuple_cat(std::make_tuple(losses), all_gradients({}, losses, x, weight, bias, gradients));
}

auto cross_entropy_gradients(const Tensor& weight, const Tensor& target) {
  return [&](const auto& kernels, auto* logits, const auto* bias, int64_t rows, int64_t first,
             const auto* grad, auto* dbias, auto* losses) {
    kernels.cross_entropy_backward(logits, bias, rows, weight.size(0), read<int64_t>(target) + first, grad,
                                   dbias, losses);
  };
}

auto multilabel_bce_gradients(const Tensor& weight, const Tensor& ptr, const Tensor& classes) {
  return [&](const auto& kernels, auto* logits, const auto* bias, int64_t rows, int64_t first,
             const auto* grad, auto* dbias, auto* losses) {
    kernels.multilabel_bce_backward(logits, bias, rows, weight.size(0), read<int64_t>(ptr) + first,
                                    read<int64_t>(classes), grad, dbias, losses);
  };
}

}  // namespace

Tensor linear_cross_entropy_cpu(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                const Tensor& target) {
  check(x, weight, bias);
  check_target(x, weight, target);
  const int64_t classes = weight.size(0);
  return forward(
      x, weight, bias,
      [&](const auto& kernels, const auto* logits, const auto* b, int64_t rows, int64_t first, auto* losses) {
        kernels.cross_entropy(logits, b, rows, classes, read<int64_t>(target) + first, losses);
      });
}

Three linear_cross_entropy_backward_cpu(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                        const Tensor& bias, const Tensor& target) {
  check(x, weight, bias);
  check_target(x, weight, target);
  return backward(grad, x, weight, bias, cross_entropy_gradients(weight, target));
}

LossesAndGradients linear_cross_entropy_both_cpu(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                 const Tensor& target) {
  check(x, weight, bias);
  check_target(x, weight, target);
  return both(x, weight, bias, cross_entropy_gradients(weight, target));
}

Tensor linear_multilabel_bce_cpu(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& ptr,
                                 const Tensor& classes) {
  check(x, weight, bias);
  check_lists(x, weight, ptr, classes);
  return forward(
      x, weight, bias,
      [&](const auto& kernels, const auto* logits, const auto* b, int64_t rows, int64_t first, auto* losses) {
        kernels.multilabel_bce(logits, b, rows, weight.size(0), read<int64_t>(ptr) + first,
                               read<int64_t>(classes), losses);
      });
}

Three linear_multilabel_bce_backward_cpu(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                         const Tensor& bias, const Tensor& ptr, const Tensor& classes) {
  check(x, weight, bias);
  check_lists(x, weight, ptr, classes);
  return backward(grad, x, weight, bias, multilabel_bce_gradients(weight, ptr, classes));
}

LossesAndGradients linear_multilabel_bce_both_cpu(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                  const Tensor& ptr, const Tensor& classes) {
  check(x, weight, bias);
  check_lists(x, weight, ptr, classes);
  return both(x, weight, bias, multilabel_bce_gradients(weight, ptr, classes));
}

}  // namespace plimsoll
