#pragma once

#include <cstdint>

#include "ops/module_scope.h"

namespace plimsoll {

/// While it lives, tapes that this thread records (memory/tape.h) name torch's operations: the outermost one
/// of forward, the node of the gradient's graph in backward; and modules (ops/module_scope.h). It costs about
/// a microsecond an operation.
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
