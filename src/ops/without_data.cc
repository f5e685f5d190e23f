#include "ops/without_data.h"

#include <ATen/ops/empty.h>

#include "memory/tape.h"

namespace plimsoll {
namespace {

thread_local const OrderSizes* scoped = nullptr;

// Pieces of a workspace: those of each group, and those of a thread and of products.
constexpr int64_t kGroupPieces = 10;
constexpr int64_t kMorePieces = 24;

}  // namespace

WithoutDataScope::WithoutDataScope(const OrderSizes& order) {
  scoped = &order;
}

WithoutDataScope::~WithoutDataScope() {
  scoped = nullptr;
}

const OrderSizes* WithoutDataScope::order() {
  return scoped;
}

void ask_for_workspace(const at::Tensor& like, int64_t bytes, int64_t groups) {
  const at::Tensor asked = at::empty({bytes}, like.options().dtype(at::kByte));
  if (TapeRecorder* const recorder = TapeScope::current())
    recorder->add_to_workspace(kMorePieces + kGroupPieces * groups);
}

}  // namespace plimsoll
