#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/blocks/exchange.h"
#include "engine/blocks/slices.h"

namespace plimsoll {

struct OptimizerOptions {
  std::string kind = "adam";  ///< adam | adamw | sgd
  double learning_rate = 1e-3;
  double weight_decay =
      1e-4;             ///< added to the gradient; adamw: taken off the weights (Loshchilov & Hutter, 2019)
  double momentum = 0;  ///< sgd alone
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// Moves parameters by their gradients, with the formulas of torch.optim. Its state is allocated when it is
/// made (Tag::optimizer); step() works in place and allocates nothing, so that it cannot fail for memory.
/// torch rounds in another order in places, so weights agree to about 1e-6 after a hundred steps, not to the
/// bit. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One gradient for each parameter, of its shape.
  virtual void step(const std::vector<at::Tensor>& gradients) = 0;
  /// From the next step on.
  void set_learning_rate(double rate) { options_.learning_rate = rate; }

  /// What a checkpoint has to hold besides steps(), by name: f32, to be read and overwritten in place.
  std::vector<std::pair<std::string, at::Tensor>> state() const { return state_; }
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 protected:
  explicit Optimizer(const OptimizerOptions& options) : options_(options) {}
  /// A zero for each parameter, entered in state() as NAME.0, NAME.1 ...
  std::vector<at::Tensor> add_state(const std::string& name, const std::vector<at::Tensor>& parameters);
  int64_t steps_ = 0;
  OptimizerOptions options_;

 private:
  std::vector<std::pair<std::string, at::Tensor>> state_;
};

/// `parameters` f32 contiguous, updated in place. Errors: UsageError for an unknown kind.
std::unique_ptr<Optimizer> make_optimizer(std::vector<at::Tensor> parameters,
                                          const OptimizerOptions& options);

/// How many f32 tensors of state such an optimizer keeps beside each parameter.
int64_t state_tensors(const OptimizerOptions& options);

/// Scales gradients in place so that their 2-norm, taken over all of them, is at most `longest`, as
/// torch.nn.utils.clip_grad_norm_ does; 0: never. Returns the norm before, a sum in double over chunks of
/// kNormChunk elements of each, in their order, which processes can share. Allocates nothing.
inline constexpr int64_t kNormChunk = 65536;
double clip_gradients(const std::vector<at::Tensor>& gradients, double longest);
/// The same of all ranks together, to the same bits: `gradients` are those of the pieces of this rank's
/// slice. The sum goes from rank to rank.
double clip_gradients(const std::vector<at::Tensor>& gradients, double longest, Exchange& exchange,
                      const Slices& slices);

}  // namespace plimsoll
