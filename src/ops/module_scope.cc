#include "ops/module_scope.h"

#include <ATen/SequenceNumber.h>

#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "memory/tape.h"

namespace plimsoll {
namespace {

thread_local bool naming = false;

// The nodes of the gradient graph that a module has created, as a range of torch's sequence numbers of this
// thread.
struct ModuleNodes {
  uint64_t first;
  uint64_t end;
  const char* module;
};
// The modules of nodes, inner modules first. The capacity includes the modules that are still open.
thread_local std::vector<ModuleNodes> made_by;
thread_local size_t open_modules = 0;
// Modules that were interrupted by nested nodes.
thread_local std::vector<const char*> interrupted;

}  // namespace

const char* interned(const std::string& name) {
  static Mutex mutex;
  static auto& names PLIMSOLL_GUARDED_BY(mutex) = *new std::unordered_set<std::string>;
  const MutexLock lock(mutex);
  return names.insert(name).first->c_str();
}

ModuleScope::ModuleScope(const std::string& name) {
  if (!naming) return;
  const char* const module = interned(name);
  const size_t count = made_by.size() + open_modules + 1;
  if (made_by.capacity() < count) made_by.reserve(2 * count);
  ++open_modules;
  before_ = current_module();
  first_node_ = at::sequence_number::peek();
  set_current_module(module);
}

ModuleScope::~ModuleScope() {
  if (before_ == nullptr) return;
  --open_modules;
  made_by.push_back({first_node_, at::sequence_number::peek(), current_module()});
  set_current_module(before_);
}

NameModules::NameModules() {
  naming = true;
  made_by.clear();
  interrupted.clear();
}

NameModules::~NameModules() {
  set_current_module("");
  naming = false;
}

// A node that no module has created belongs to a layer that is recomputed, and is attributed to the module
// that recomputes it.
void NameModules::enter_node(int64_t node) {
  interrupted.push_back(current_module());
  for (const ModuleNodes& nodes : made_by)
    if (node >= static_cast<int64_t>(nodes.first) && node < static_cast<int64_t>(nodes.end)) {
      set_current_module(nodes.module);
      return;
    }
}

void NameModules::leave_node() {
  if (interrupted.empty()) return;
  set_current_module(interrupted.back());
  interrupted.pop_back();
}

}  // namespace plimsoll
