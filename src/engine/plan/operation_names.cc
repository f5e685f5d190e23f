#include "engine/plan/operation_names.h"

#include <ATen/record_function.h>

#include <cstring>
#include <string>
#include <string_view>

#include "memory/tape.h"

namespace plimsoll {
namespace {

thread_local int depth = 0;

const char* kept(const char* name) {
  constexpr const char* kEngine = "autograd::engine::evaluate_function: ";
  std::string text = name;
  if (text.starts_with(kEngine)) text.erase(0, std::strlen(kEngine));
  // The project's own functions have names like torch::autograd::CppNode<plimsoll::(anonymous
  // namespace)::GatFunction>.
  constexpr const char* kNode = "torch::autograd::CppNode<";
  if (text.starts_with(kNode) && text.ends_with('>')) {
    text = text.substr(std::strlen(kNode), text.size() - std::strlen(kNode) - 1);
    constexpr std::string_view kNowhere = "(anonymous namespace)::";
    if (const size_t at = text.find(kNowhere); at != std::string::npos) text.erase(at, kNowhere.size());
    text += " (backward)";
  }
  return interned(text);
}

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
  if (depth++ == 0) set_current_operation(kept(function.name()));
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) NameModules::enter_node(function.seqNr());
  return nullptr;
}

void leave(const at::RecordFunction& function, at::ObserverContext*) {
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) NameModules::leave_node();
  if (--depth == 0) set_current_operation("");
}

}  // namespace

NameOperations::NameOperations()
    : handle_(at::addThreadLocalCallback(
          at::RecordFunctionCallback(&enter, &leave)
              .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))) {
  depth = 0;
}

NameOperations::~NameOperations() {
  at::removeCallback(handle_);
  set_current_operation("");
}

}  // namespace plimsoll
