#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// A module of a model at work on this thread: what is allocated while it lives is recorded under its name,
/// and so is what the gradients of its operations allocate later. May be nested, where the innermost counts.
/// Does nothing without NameModules.
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

/// While it lives, tapes that this thread records (memory/tape.h) name modules.
class NameModules {
 public:
  NameModules();
  ~NameModules();
  NameModules(const NameModules&) = delete;
  NameModules& operator=(const NameModules&) = delete;

  /// Around the node of the gradient's graph that has this number of torch (RecordFunction::seqNr).
  static void enter_node(int64_t node);
  static void leave_node();
};

/// A copy that lives as long as the program: there are as many as there are names.
const char* interned(const std::string& name);

}  // namespace plimsoll
