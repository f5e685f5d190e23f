#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// While it lives, tapes that this thread records (memory/tape.h) name torch's operations: the outermost one
/// of forward, the node of the gradient's graph in backward; and modules, by ModuleScope. It costs about a
/// microsecond an operation.
class NameOperations {
 public:
  NameOperations();
  ~NameOperations();
  NameOperations(const NameOperations&) = delete;
  NameOperations& operator=(const NameOperations&) = delete;

 private:
  uint64_t handle_;
};

/// A module of a model at work on this thread: what is allocated while it lives is recorded under its name,
/// and so is what the gradients of its operations allocate later. May be nested, where the innermost counts.
/// Does nothing without NameOperations.
class ModuleScope {
 public:
  explicit ModuleScope(const std::string& name);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  const char* before_ = nullptr;
  uint64_t first_node_ = 0;
};

}  // namespace plimsoll
