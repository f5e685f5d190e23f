#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/sections/training.h"
#include "engine/blocks/exchange.h"
#include "engine/blocks/row_marks.h"
#include "engine/blocks/slices.h"

namespace plimsoll {

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adam;
  double learning_rate = 1e-3;
  /// The weights times this factor are added to the gradients; for adamw, the weights are instead multiplied
  /// by 1 - learning_rate * weight_decay (Loshchilov & Hutter, 2019).
  double weight_decay = 1e-4;
  double momentum = 0;  ///< Only for sgd.
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// Updates parameters by their gradients, with the formulas of torch.optim. The constructor allocates the
/// state (Tag::optimizer); step() works in place and allocates nothing, so it cannot run out of memory. Torch
/// rounds some operations in another order, so weights agree with torch's to about 1e-6 after a hundred
/// steps, not to the bit. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// `gradients` has one tensor per parameter, of its shape. `rows` has the rows of each that may differ from
  /// 0; if it is empty, any row may.
  void step(const std::vector<at::Tensor>& gradients, std::span<const RowMarks> rows = {}) {
    ++steps_;
    update(gradients, rows);
  }
  /// Sets the rate from the next step on.
  void set_learning_rate(double rate) { options_.learning_rate = rate; }

  /// The state that a checkpoint must hold in addition to steps(), by name: f32 tensors that may be read and
  /// overwritten in place.
  std::vector<std::pair<std::string, at::Tensor>> state() const { return state_; }
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 protected:
  Optimizer(const OptimizerOptions& options, std::vector<bool> lazy)
      : options_(options), lazy_(std::move(lazy)) {}
  /// Makes a zero tensor for each parameter, which state() lists as NAME.0, NAME.1 ...
  std::vector<at::Tensor> add_state(const std::string& name, const std::vector<at::Tensor>& parameters);
  /// Changes the parameters and their state; steps_ already counts this step.
  virtual void update(const std::vector<at::Tensor>& gradients, std::span<const RowMarks> rows) = 0;
  /// Calls move(i) for each number of a parameter that the step changes.
  template <typename Move>
  void each_moved(size_t parameter, const at::Tensor& gradients, std::span<const RowMarks> rows,
                  const Move& move) const;
  int64_t steps_ = 0;
  OptimizerOptions options_;

 private:
  std::vector<bool> lazy_;  // One entry per parameter; empty if no parameter is lazy.
  std::vector<std::pair<std::string, at::Tensor>> state_;
};

/// `parameters` are f32 and contiguous, and are updated in place. A step leaves numbers of a lazy parameter
/// unchanged if their gradient is 0, and their state as well. If `lazy` is empty, no parameter is lazy.
/// Errors: BudgetExceeded.
std::unique_ptr<Optimizer> make_optimizer(std::vector<at::Tensor> parameters, const OptimizerOptions& options,
                                          std::vector<bool> lazy = {});

/// Returns the number of f32 state tensors that such an optimizer keeps per parameter.
int64_t state_tensors(const OptimizerOptions& options);

/// Elements per chunk of the sums in clip_gradients().
inline constexpr int64_t kNormChunk = 65536;

/// Scales gradients in place so that their common 2-norm is at most `longest`, as
/// torch.nn.utils.clip_grad_norm_ does; 0: never. Returns the norm before scaling. The norm is summed in
/// double precision over chunks of kNormChunk elements of each gradient, in their order, so that processes
/// can share the sum. Does not allocate. `rows` has the same meaning as in Optimizer::step(); the result has
/// the same bits without it.
double clip_gradients(const std::vector<at::Tensor>& gradients, double longest,
                      std::span<const RowMarks> rows = {});
/// Clips the gradients of all ranks together, to the same bits as in one process. `gradients` belong to the
/// pieces of this rank's slice. The sum is passed from rank to rank, and all ranks must call it. Errors:
/// RankLost.
double clip_gradients(const std::vector<at::Tensor>& gradients, double longest, Exchange& exchange,
                      const Slices& slices);

}  // namespace plimsoll
