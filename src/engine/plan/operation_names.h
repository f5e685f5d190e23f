#pragma once

#include <cstdint>

#include "ops/module_scope.h"

namespace plimsoll {

/// While it lives, tapes that this thread records (memory/tape.h) contain the names of torch's operations and
/// of modules (ops/module_scope.h). In the forward pass an operation is the outermost one, in the backward
/// pass the node of the gradient's graph. Costs about a microsecond per operation.
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
