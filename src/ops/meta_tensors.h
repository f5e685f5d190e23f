#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/attention_bytes.h"

namespace plimsoll {

/// While it lives, operators of this thread ask for tensors without data (torch's meta device) as they ask
/// for those with data, on one thread: in the same order, and with their workspaces, where orders of edges
/// have these sizes, which are told apart by `numbers` and must outlive it. Nothing is computed. May not be
/// nested.
class MetaTensors {
 public:
  /// Whose operators ask.
  enum class Where : uint8_t { cpu, cuda };

  explicit MetaTensors(std::span<const OrderSizes> orders, Where where = Where::cpu);
  ~MetaTensors();
  MetaTensors(const MetaTensors&) = delete;
  MetaTensors& operator=(const MetaTensors&) = delete;

  /// Whether this thread has one, and its order of so many numbers. Errors: Failure where it has none such.
  static bool active();
  static const OrderSizes& order(int64_t numbers);
  /// Whether this thread has one whose operators are CUDA's (ops/device_bytes.h).
  static bool on_cuda();
  /// Notes down that an operator has no kernel for CUDA, where on_cuda(). It asks as on the CPU.
  static void lacks_cuda(const char* name);
  /// Those that were noted down, by name.
  std::vector<std::string> without_cuda() const;
};

/// What an operator on `like` asks for in its WorkspaceScope, `bytes` at most at once. It takes no more
/// pieces than those of groups of ranges, of which the order has `groups`.
void ask_for_workspace(const at::Tensor& like, int64_t bytes, int64_t groups);

}  // namespace plimsoll
