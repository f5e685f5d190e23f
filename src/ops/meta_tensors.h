#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/attention/attention_bytes.h"

namespace plimsoll {

/// While it lives, operators of this thread allocate tensors without data (torch's meta device) in the same
/// way as tensors with data on one thread: in the same order, and with their workspaces, for orders of edges
/// of these sizes. Orders are distinguished by `numbers`. The sizes must outlive this object. Nothing is
/// computed. Cannot be nested.
class MetaTensors {
 public:
  /// The kind of device whose operators are imitated.
  enum class Where : uint8_t { cpu, cuda };

  explicit MetaTensors(std::span<const OrderSizes> orders, Where where = Where::cpu);
  ~MetaTensors();
  MetaTensors(const MetaTensors&) = delete;
  MetaTensors& operator=(const MetaTensors&) = delete;

  /// active() returns whether this thread has a MetaTensors. order() returns its order of `numbers` numbers.
  /// Errors: Failure if it has no such order.
  static bool active();
  static const OrderSizes& order(int64_t numbers);
  /// Returns how many edges an order into this number of targets keeps. Without known orders it keeps all.
  static int64_t edges_of(int64_t numbers, int64_t targets);
  /// Returns whether this thread has a MetaTensors that imitates CUDA's operators (ops/device_bytes.h).
  static bool on_cuda();
  /// Records, if on_cuda(), that an operator has no CUDA kernel. The operator allocates as on the CPU.
  static void lacks_cuda(const char* name);
  /// The recorded operators, by name.
  std::vector<std::string> without_cuda() const;
};

/// Allocates the workspace of an operator on `like` in the operator's WorkspaceScope: at most `bytes` bytes
/// at once. The number of pieces is at most that of `groups` groups of ranges.
void ask_for_workspace(const at::Tensor& like, int64_t bytes, int64_t groups);

}  // namespace plimsoll
