#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "memory/slab.h"
#include "ops/check.h"
#include "ops/linear_losses.h"

// The operators of linear_losses.h on a CUDA device, by torch's own: tiles of more rows, since there each
// operation has a price of its own. Classes and ptr are those that the host has checked.

namespace plimsoll {
namespace {

using Tensor = at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

constexpr int64_t kRows = kDeviceLogitRows;

// Of a tile: losses [rows], and gradients of their sum by the logits, which may take their place.
struct OfTile {
  Tensor losses;
  Tensor gradients;
};

Tensor as_numbers(const Tensor& mask, const Tensor& like) {
  return mask.to(like.scalar_type());
}

OfTile cross_entropy(const Tensor& logits, const Tensor& target, bool wants_gradients) {
  const Tensor log_sum = at::logsumexp(logits, 1, /*keepdim=*/true);
  const Tensor column = target.unsqueeze(1);
  OfTile found{(log_sum - logits.gather(1, column)).squeeze(1), {}};
  if (!wants_gradients) return found;
  const Tensor right = column.eq(at::arange(logits.size(1), target.options()));
  found.gradients = (logits - log_sum).exp_().sub_(as_numbers(right, logits));
  return found;
}

OfTile multilabel_bce(const Tensor& logits, const Tensor& listed, bool wants_gradients) {
  const auto classes = static_cast<double>(logits.size(1));
  OfTile found{(at::softplus(logits) - logits * listed).sum(1) / classes, {}};
  if (wants_gradients) found.gradients = at::sigmoid(logits).sub_(listed).div_(classes);
  return found;
}

// What is right of the rows of a tile, one after the other. What tiles() returns ends with the operator's
// workspace, in which it was made.
class Targets {
 public:
  explicit Targets(const Tensor& target) : target_(target) {}
  const Targets& tiles() const { return *this; }
  OfTile tile(const Tensor& logits, int64_t first, bool wants_gradients) const {
    return cross_entropy(logits, target_.narrow(0, first, logits.size(0)), wants_gradients);
  }

 private:
  Tensor target_;
};

class Lists {
 public:
  Lists(const Tensor& ptr, const Tensor& classes) : ptr_(ptr), classes_(classes) {}

  class Tiles {
   public:
    // Waits for the device.
    explicit Tiles(const Lists& lists)
        : ptr_(lists.ptr_),
          classes_(lists.classes_),
          begins_(at::cat({ptr_.slice(0, 0, ptr_.size(0) - 1, kRows), ptr_.narrow(0, ptr_.size(0) - 1, 1)})
                      .cpu()) {}
    OfTile tile(const Tensor& logits, int64_t first, bool wants_gradients) const {
      const int64_t* const begin = begins_.const_data_ptr<int64_t>() + first / kRows;
      const Tensor entries = at::arange(begin[0], begin[1], ptr_.options());
      const Tensor ends = ptr_.narrow(0, first + 1, logits.size(0));
      const Tensor row = at::searchsorted(ends, entries, /*out_int32=*/false, /*right=*/true);
      const Tensor place = row * logits.size(1) + classes_.narrow(0, begin[0], begin[1] - begin[0]);
      const Tensor listed = at::zeros({logits.numel()}, logits.options());
      listed.index_fill_(0, place, 1);
      return multilabel_bce(logits, listed.view(logits.sizes()), wants_gradients);
    }

   private:
    const Tensor& ptr_;
    const Tensor& classes_;
    const Tensor begins_;  // where the lists of each tile begin; on the host
  };
  Tiles tiles() const { return Tiles(*this); }

 private:
  Tensor ptr_;
  Tensor classes_;
};

void check_layer(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(x.dim() == 2 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          "x f32 or f64 [N, D]", x);
  require_like(x, weight, {weight.size(0), x.size(1)}, "weight [C, D] of x's dtype");
  require_like(x, bias, {weight.size(0)}, "bias [C] of x's dtype");
}

template <typename Right>
Tensor losses_there(const Tensor& x, const Tensor& weight, const Tensor& bias, const Right& right) {
  check_layer(x, weight, bias);
  const Tensor losses = at::empty({x.size(0)}, x.options());
  const WorkspaceScope workspace;
  const auto& tiles = right.tiles();
  for (int64_t first = 0; first < x.size(0); first += kRows) {
    const int64_t rows = std::min(kRows, x.size(0) - first);
    const Tensor logits = at::addmm(bias, x.narrow(0, first, rows), weight.t());
    losses.narrow(0, first, rows).copy_(tiles.tile(logits, first, false).losses);
  }
  return losses;
}

// Of losses whose gradients are `grad`; undefined: 1 each.
template <typename Right>
LossesAndGradients both_there(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const Right& right) {
  check_layer(x, weight, bias);
  const Tensor losses = at::empty({x.size(0)}, x.options());
  const Tensor dx = at::empty(x.sizes(), x.options());
  const Tensor dweight = at::zeros(weight.sizes(), x.options());
  const Tensor dbias = at::zeros(bias.sizes(), x.options());
  const WorkspaceScope workspace;
  const auto& tiles = right.tiles();
  for (int64_t first = 0; first < x.size(0); first += kRows) {
    const int64_t rows = std::min(kRows, x.size(0) - first);
    const Tensor part = x.narrow(0, first, rows);
    OfTile found = tiles.tile(at::addmm(bias, part, weight.t()), first, true);
    if (grad.defined()) found.gradients.mul_(grad.narrow(0, first, rows).unsqueeze(1));
    losses.narrow(0, first, rows).copy_(found.losses);
    Tensor to = dx.narrow(0, first, rows);
    at::mm_out(to, found.gradients, weight);
    dweight.addmm_(found.gradients.t(), part);
    dbias.add_(found.gradients.sum(0));
  }
  return {losses, dx, dweight, dbias};
}

template <typename Right>
Three gradients_there(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& bias,
                      const Right& right) {
  auto [losses, dx, dweight, dbias] = both_there(grad, x, weight, bias, right);
  return {dx, dweight, dbias};
}

}  // namespace

Tensor linear_cross_entropy_on_device(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                      const Tensor& target) {
  return losses_there(x, weight, bias, Targets(target));
}

Tensor linear_multilabel_bce_on_device(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                       const Tensor& ptr, const Tensor& classes) {
  return losses_there(x, weight, bias, Lists(ptr, classes));
}

LossesAndGradients linear_cross_entropy_both_on_device(const Tensor& x, const Tensor& weight,
                                                       const Tensor& bias, const Tensor& target) {
  return both_there({}, x, weight, bias, Targets(target));
}

LossesAndGradients linear_multilabel_bce_both_on_device(const Tensor& x, const Tensor& weight,
                                                        const Tensor& bias, const Tensor& ptr,
                                                        const Tensor& classes) {
  return both_there({}, x, weight, bias, Lists(ptr, classes));
}

Three linear_cross_entropy_backward_on_device(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                              const Tensor& bias, const Tensor& target) {
  return gradients_there(grad, x, weight, bias, Targets(target));
}

Three linear_multilabel_bce_backward_on_device(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                               const Tensor& bias, const Tensor& ptr, const Tensor& classes) {
  return gradients_there(grad, x, weight, bias, Lists(ptr, classes));
}

}  // namespace plimsoll
