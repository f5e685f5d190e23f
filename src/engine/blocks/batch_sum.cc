#include "engine/blocks/batch_sum.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "ops/allocator.h"

namespace plimsoll {

BatchSum::BatchSum(const ParameterList& parameters, int64_t numbers) : statistics(parameters) {
  const TagScope scope(Tag::gradients);
  if (numbers > 0) row = at::zeros({numbers});
  int64_t first = 0;
  for (const ParameterList::Entry& entry : parameters.entries()) {
    const int64_t count = entry.value.numel();
    gradients.push_back(numbers > 0 ? row.narrow(0, first, count).view(entry.value.sizes())
                                    : at::zeros_like(entry.value));
    first += count;
  }
}

void BatchSum::clear() {
  for (at::Tensor& sum : gradients) sum.zero_();
  statistics.clear();
  loss = 0;
}

void BatchSum::add(const BatchSum& right) {
  const c10::AutoGradMode no_gradients(false);
  for (size_t p = 0; p < gradients.size(); ++p) gradients[p].add_(right.gradients[p]);
  statistics.add(right.statistics);
  loss += right.loss;
}

void BatchSum::add(const std::vector<at::Tensor>& of_block, const BlockStatistics& found, double block_loss) {
  const c10::AutoGradMode no_gradients(false);
  for (size_t p = 0; p < gradients.size(); ++p) gradients[p].add_(of_block[p]);
  statistics.add(found);
  loss += block_loss;
}

}  // namespace plimsoll
