#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// Names the module of a model that runs on this thread. Memory allocated during the scope is recorded under
/// that name, and so is memory that the gradients of its operations allocate later. Scopes can be nested; the
/// innermost one applies. Has no effect without NameModules.
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

/// For its lifetime, tapes that this thread records (memory/tape.h) contain the names of modules. Cannot be
/// nested.
class NameModules {
 public:
  NameModules();
  ~NameModules();
  NameModules(const NameModules&) = delete;
  NameModules& operator=(const NameModules&) = delete;

  /// Called around the node of the gradient graph with this number (torch's RecordFunction::seqNr).
  static void enter_node(int64_t node);
  static void leave_node();
};

/// Returns a copy of `name` that lives as long as the program. There is one copy per name. Thread-safe.
const char* interned(const std::string& name);

}  // namespace plimsoll
