#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/attention/attention_bytes.h"

namespace plimsoll {

/// For its lifetime, the operators that this thread calls on tensors without data (torch's meta device) make
/// the same allocations in the same order, workspaces included, as for tensors with data on one thread.
/// Nothing is computed. `orders` has the sizes of the orders of edges, which are identified by `numbers`; it
/// must outlive this object. Cannot be nested.
class MetaTensors {
 public:
  /// The kind of device whose operators are imitated.
  enum class Where : uint8_t { cpu, cuda };

  explicit MetaTensors(std::span<const OrderSizes> orders, Where where = Where::cpu);
  ~MetaTensors();
  MetaTensors(const MetaTensors&) = delete;
  MetaTensors& operator=(const MetaTensors&) = delete;

  /// active() returns whether this thread has a MetaTensors. order() returns the sizes of its order of length
  /// `numbers`. Call order() only if active() is true. Errors: Failure if it has no such order.
  static bool active();
  static const OrderSizes& order(int64_t numbers);
  /// Returns how many edges an order of length `numbers` into this number of targets keeps. If the orders are
  /// not known (`orders` is empty), returns the maximum. Call it only if active() is true.
  static int64_t edges_of(int64_t numbers, int64_t targets);
  /// Returns whether this thread has a MetaTensors that imitates CUDA's operators (ops/device_bytes.h).
  static bool on_cuda();
  /// If on_cuda(), records that an operator has no CUDA kernel. The operator then allocates as on the CPU.
  static void lacks_cuda(const char* name);
  /// The recorded operators, by name.
  std::vector<std::string> without_cuda() const;
};

/// Allocates, on the device of `like`, the workspace of an operator that holds at most `bytes` bytes at once.
/// Call it in the operator's WorkspaceScope. `groups` is the number of groups of ranges, which bounds the
/// number of pieces.
void ask_for_workspace(const at::Tensor& like, int64_t bytes, int64_t groups);

}  // namespace plimsoll
