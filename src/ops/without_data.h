#pragma once

#include <ATen/core/Tensor.h>

#include "ops/declared_bytes.h"

namespace plimsoll {

/// While it lives, operators of this thread ask for tensors without data (torch's meta device) as they ask
/// for those with data, on one thread: in the same order, and with their workspaces, where the order of edges
/// has these sizes. Nothing is computed. May not be nested.
class WithoutDataScope {
 public:
  explicit WithoutDataScope(const OrderSizes& order);
  ~WithoutDataScope();
  WithoutDataScope(const WithoutDataScope&) = delete;
  WithoutDataScope& operator=(const WithoutDataScope&) = delete;

  /// That of this thread, or null.
  static const OrderSizes* order();
};

/// What an operator on `like` asks for in its WorkspaceScope, `bytes` at most at once. It takes no more
/// pieces than those of groups of ranges, of which the order has `groups`.
void ask_for_workspace(const at::Tensor& like, int64_t bytes, int64_t groups);

}  // namespace plimsoll
