#include "engine/blocks/batch_sum.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <span>

#include "ops/allocator.h"

namespace plimsoll {
namespace {

RowMarks marks_of(const ParameterList::Entry& entry) {
  const auto numbers = entry.stored != nullptr ? entry.stored->row_of_slots() : std::span<const uint32_t>();
  return RowMarks(entry.value.size(0), numbers);
}

}  // namespace

BatchSum::BatchSum(const ParameterList& parameters, int64_t numbers)
    : statistics(parameters), parameters_(parameters) {
  const TagScope scope(Tag::gradients);
  if (numbers > 0) row = at::zeros({numbers});
  int64_t first = 0;
  for (const ParameterList::Entry& entry : parameters.entries()) {
    const int64_t count = entry.value.numel();
    gradients.push_back(numbers > 0 ? row.narrow(0, first, count).view(entry.value.sizes())
                                    : at::zeros_like(entry.value));
    rows.push_back(entry.lazy && numbers == 0 ? marks_of(entry) : RowMarks());
    first += count;
  }
}

void BatchSum::clear() {
  for (size_t p = 0; p < gradients.size(); ++p) {
    float* const sum = gradients[p].data_ptr<float>();
    rows[p].each_range(gradients[p],
                       [sum](int64_t begin, int64_t end) { std::fill(sum + begin, sum + end, 0.0F); });
    rows[p].clear();
  }
  statistics.clear();
  loss = 0;
}

void BatchSum::add(const BatchSum& right) {
  const c10::AutoGradMode no_gradients(false);
  for (size_t p = 0; p < gradients.size(); ++p) {
    if (!rows[p].known()) {
      gradients[p].add_(right.gradients[p]);
      continue;
    }
    float* const sum = gradients[p].data_ptr<float>();
    const float* const more = right.gradients[p].const_data_ptr<float>();
    right.rows[p].each_range(gradients[p], [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sum[i] += more[i];
    });
    rows[p].add(right.rows[p]);
  }
  statistics.add(right.statistics);
  loss += right.loss;
}

void BatchSum::add_rows(size_t parameter, const at::Tensor& values, const at::Tensor& ids) {
  const at::Tensor contiguous = values.contiguous();
  const float* from = contiguous.const_data_ptr<float>();
  const int64_t width = contiguous.size(1);
  for (const int64_t id : std::span(ids.const_data_ptr<int64_t>(), static_cast<size_t>(ids.numel()))) {
    float* const sum = gradients[parameter].data_ptr<float>() + id * width;
    for (int64_t i = 0; i < width; ++i) sum[i] += from[i];
    from += width;
    if (rows[parameter].known()) rows[parameter].add(id);
  }
}

void BatchSum::add(const BlockGradients& block, const BlockStatistics& found, double block_loss) {
  const c10::AutoGradMode no_gradients(false);
  for (size_t p = 0; p < gradients.size(); ++p) {
    if (block.table.defined() && block.table.is_same(parameters_.entries()[p].value)) {
      add_rows(p, block.values[p], block.ids);
    } else {
      gradients[p].add_(block.values[p]);
      rows[p].add_all();
    }
  }
  statistics.add(found);
  loss += block_loss;
}

}  // namespace plimsoll
