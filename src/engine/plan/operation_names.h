#pragma once

#include <cstdint>

#include "ops/module_scope.h"

namespace plimsoll {

/// While it lives, tapes that this thread records (memory/tape.h) name torch's operations, and modules
/// (ops/module_scope.h): in the forward pass the outermost operation, in the backward pass the node of the
/// gradient's graph. Costs about a microsecond per operation.
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
