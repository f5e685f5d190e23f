#include "nn/node_ids.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"

namespace plimsoll {
namespace {

// In a trimmed sample, only the nodes that its layers compute have keys.
std::string name_of(int64_t node, const Batch& batch) {
  if (!batch.node_keys.defined() || node >= batch.node_keys.size(1)) return fmt::format("node {}", node);
  const int64_t* const item = batch.node_keys.const_data_ptr<int64_t>();
  return fmt::format("graph {}: node {}", item[node], item[batch.node_keys.size(1) + node]);
}

// Checks a batch on the host.
void check_node_ids(const Batch& batch, int64_t ids) {
  const at::Tensor column = batch.x.select(1, 0);
  const float* const x = column.const_data_ptr<float>();
  const auto end = static_cast<float>(ids);
  for (int64_t n = 0; n < column.size(0); ++n) {
    const float index = x[n * column.stride(0)];
    if (index >= 0 && index < end) continue;
    throw InputError(
        fmt::format("{} has the ID index {}, expected one from 0 to {}; x and vocabulary of the data set do "
                    "not match; make the data set again",
                    name_of(n, batch), index, ids - 1));
  }
}

// Views x as u32.
at::Tensor numbers_of(const Batch& batch) {
  return batch.x.view(at::kUInt32).select(1, 0);
}

void check_node_numbers(const Batch& batch, int64_t nodes) {
  const at::Tensor numbers = numbers_of(batch);
  const auto* const x = static_cast<const uint32_t*>(numbers.const_data_ptr());
  for (int64_t n = 0; n < numbers.size(0); ++n)
    if (const uint32_t number = x[n * numbers.stride(0)]; number >= nodes)
      throw InputError(fmt::format("{} has the number {}, expected one from 0 to {}", name_of(n, batch),
                                   number, nodes - 1));
}

}  // namespace

at::Tensor node_ids(const Batch& batch, int64_t ids) {
  const at::Tensor column = batch.x.select(1, 0);
  if (!column.is_meta()) check_node_ids(batch.read(), ids);
  return column.to(at::kLong);
}

at::Tensor node_numbers(const Batch& batch, int64_t nodes) {
  if (!batch.x.is_meta()) check_node_numbers(batch.read(), nodes);
  return numbers_of(batch).to(at::kLong);
}

}  // namespace plimsoll
