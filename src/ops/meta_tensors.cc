#include "ops/meta_tensors.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "memory/tape.h"
#include "ops/attention/attention.h"

namespace plimsoll {
namespace {

thread_local std::optional<std::span<const OrderSizes>> scoped;
thread_local MetaTensors::Where asked_by = MetaTensors::Where::cpu;
thread_local std::set<std::string> lacking;

// Maximum number of pieces of a workspace: kGroupPieces per group, and kMorePieces for the thread and
// products.
constexpr int64_t kGroupPieces = 10;
constexpr int64_t kMorePieces = 24;

}  // namespace

MetaTensors::MetaTensors(std::span<const OrderSizes> orders, Where where) {
  scoped = orders;
  asked_by = where;
  lacking.clear();
}

MetaTensors::~MetaTensors() {
  scoped.reset();
}

bool MetaTensors::active() {
  return scoped.has_value();
}

const OrderSizes& MetaTensors::order(int64_t numbers) {
  const auto found = std::ranges::find(*scoped, numbers, &OrderSizes::numbers);
  if (found == scoped->end())
    throw Failure("a layer reads an order of edges that is not among the known orders");
  return *found;
}

int64_t MetaTensors::edges_of(int64_t numbers, int64_t targets) {
  return scoped->empty() ? edges_of_order(numbers, targets) : order(numbers).edges;
}

bool MetaTensors::on_cuda() {
  return active() && asked_by == Where::cuda;
}

void MetaTensors::lacks_cuda(const char* name) {
  if (on_cuda()) lacking.insert(name);
}

std::vector<std::string> MetaTensors::without_cuda() const {
  return {lacking.begin(), lacking.end()};
}

void ask_for_workspace(const at::Tensor& like, int64_t bytes, int64_t groups) {
  const at::Tensor asked = at::empty({bytes}, like.options().dtype(at::kByte));
  if (TapeRecorder* const recorder = TapeScope::current())
    recorder->add_to_workspace(kMorePieces + kGroupPieces * groups);
}

}  // namespace plimsoll
