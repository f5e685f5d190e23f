#include "ops/thread_random.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <string>
#include <string_view>

#include "ops/dropout/dropout.h"
#include "ops/operator.h"

namespace plimsoll {
namespace {

// A dispatch key that a thread sets. It is dispatched before all other keys, and torch registers nothing for
// it.
constexpr c10::DispatchKey kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

constexpr std::string_view kGeneratorArgument = "generator";

thread_local at::Generator* own_generator = nullptr;

/// Returns the dispatch keys after kKey. kKey itself stays set, so that operators that are called inside also
/// use it.
c10::DispatchKeySet after(c10::DispatchKeySet keys) {
  return keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
}

/// Calls an operator, with this thread's generator if no generator was passed.
void draw(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name() == kGeneratorArgument && (*stack)[first + i].isNone() && own_generator != nullptr)
      (*stack)[first + i] = c10::IValue(*own_generator);
  op.redispatchBoxed(after(keys), stack);
}

at::Tensor drop(c10::DispatchKeySet keys, const at::Tensor& x, double p, bool train) {
  const bool ours = train && p > 0 && p < 1 && own_generator != nullptr && x.is_cpu() &&
                    x.scalar_type() == at::kFloat && x.layout() == at::kStrided && x.numel() >> 34 == 0;
  if (!ours) {
    static const auto op = find_operator<at::Tensor(const at::Tensor&, double, bool)>("aten::dropout");
    return op.redispatch(after(keys), x, p, train);
  }
  const at::Tensor seed = at::empty({3}, at::TensorOptions().dtype(at::kLong));
  auto* const words = seed.mutable_data_ptr<int64_t>();
  auto* const generator = own_generator->get<at::CPUGeneratorImpl>();
  words[0] = static_cast<int64_t>(generator->random64() >> 1);
  words[1] = generator->random() & 0xFFFF;
  words[2] = generator->random();
  return dropout(x, p, seed);
}

void register_drawing() {
  static torch::Library library(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__);
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op) continue;
    for (const auto& argument : op->schema().arguments()) {
      if (argument.name() != kGeneratorArgument) continue;
      const std::string text = name.name + (name.overload_name.empty() ? "" : "." + name.overload_name);
      library.impl(text.c_str(), torch::CppFunction::makeFromBoxedFunction<&draw>());
      break;
    }
  }
  library.impl("aten::dropout", drop);
}

}  // namespace

ThreadRandom::ThreadRandom(uint64_t seed)
    : generator_(at::detail::createCPUGenerator(seed)), outer_(own_generator) {
  static const bool registered = (register_drawing(), true);
  (void)registered;
  own_generator = &generator_;
  c10::impl::tls_set_dispatch_key_included(kKey, true);
}

ThreadRandom::~ThreadRandom() {
  own_generator = outer_;
  if (outer_ == nullptr) c10::impl::tls_set_dispatch_key_included(kKey, false);
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

}  // namespace plimsoll
