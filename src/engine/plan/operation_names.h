#pragma once

#include <cstdint>

#include "ops/module_scope.h"

namespace plimsoll {

/// While it lives, tapes that this thread records (memory/tape.h) contain the names of torch's operations
/// and of modules (ops/module_scope.h). In the forward pass, the name is that of the outermost operation; in
/// the backward pass, that of the node of the gradient graph. Costs about a microsecond per operation.
class NameOperations {
 public:
  NameOperations();
  ~NameOperations();
  NameOperations(const NameOperations&) = delete;
  NameOperations& operator=(const NameOperations&) = delete;

 private:
  NameModules modules_;
  uint64_t handle_;
};

}  // namespace plimsoll
