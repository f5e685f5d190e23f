#include "ops/operation_names.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "memory/tape.h"

namespace plimsoll {
namespace {

thread_local int depth = 0;
thread_local bool naming = false;

// Nodes of the gradient's graph that a module has made, by the numbers that torch gives to a thread's nodes.
struct ModuleNodes {
  uint64_t first;
  uint64_t end;
  const char* module;
};
thread_local std::vector<ModuleNodes> nodes;        // inner modules first
thread_local std::vector<const char*> interrupted;  // modules, by the nodes that run within one another

// Names live as long as the program: there are as many as there are operations.
const char* kept(const char* name) {
  static std::mutex mutex;
  static auto* const names = new std::unordered_set<std::string>;
  constexpr const char* kEngine = "autograd::engine::evaluate_function: ";
  std::string text = name;
  if (text.starts_with(kEngine)) text.erase(0, std::strlen(kEngine));
  // Of our own functions: torch::autograd::CppNode<plimsoll::(anonymous namespace)::GatFunction>.
  constexpr const char* kNode = "torch::autograd::CppNode<";
  if (text.starts_with(kNode) && text.ends_with('>')) {
    text = text.substr(std::strlen(kNode), text.size() - std::strlen(kNode) - 1);
    constexpr std::string_view kNowhere = "(anonymous namespace)::";
    if (const size_t at = text.find(kNowhere); at != std::string::npos) text.erase(at, kNowhere.size());
    text += " (backward)";
  }
  const std::lock_guard lock(mutex);
  return names->insert(text).first->c_str();
}

// A node that no module has made is one of a layer that runs again: it belongs to whoever runs it.
void enter_module_of(int64_t node) {
  interrupted.push_back(current_module());
  for (const ModuleNodes& of : nodes)
    if (node >= static_cast<int64_t>(of.first) && node < static_cast<int64_t>(of.end)) {
      set_current_module(of.module);
      return;
    }
}

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
  if (depth++ == 0) set_current_operation(kept(function.name()));
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) enter_module_of(function.seqNr());
  return nullptr;
}

void leave(const at::RecordFunction& function, at::ObserverContext*) {
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION && !interrupted.empty()) {
    set_current_module(interrupted.back());
    interrupted.pop_back();
  }
  if (--depth == 0) set_current_operation("");
}

}  // namespace

NameOperations::NameOperations()
    : handle_(at::addThreadLocalCallback(
          at::RecordFunctionCallback(&enter, &leave)
              .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))) {
  depth = 0;
  naming = true;
  nodes.clear();
  interrupted.clear();
}

NameOperations::~NameOperations() {
  at::removeCallback(handle_);
  set_current_operation("");
  set_current_module("");
  naming = false;
}

ModuleScope::ModuleScope(const std::string& name) {
  if (!naming) return;
  before_ = current_module();
  first_node_ = at::sequence_number::peek();
  set_current_module(kept(name.c_str()));
}

ModuleScope::~ModuleScope() {
  if (before_ == nullptr) return;
  nodes.push_back({first_node_, at::sequence_number::peek(), current_module()});
  set_current_module(before_);
}

}  // namespace plimsoll
