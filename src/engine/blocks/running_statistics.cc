#include "engine/blocks/running_statistics.h"

#include <algorithm>

namespace plimsoll {

RunningStatistics::RunningStatistics(const ParameterList& parameters) : parameters_(parameters) {
  for (const ParameterList::Entry& buffer : parameters.buffers())
    sums_.push_back({0, std::vector<double>(static_cast<size_t>(buffer.value.numel()))});
}

void RunningStatistics::clear() {
  for (Sum& sum : sums_) {
    sum.rows = 0;
    sum.values.assign(sum.values.size(), 0.0);
  }
}

void RunningStatistics::add(const BlockStatistics& block) {
  const auto add_to = [](Sum& sum, const at::Tensor& values, int64_t rows) {
    sum.rows += static_cast<double>(rows);
    const float* const value = values.const_data_ptr<float>();
    for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += static_cast<double>(rows) * value[i];
  };
  for (const BlockStatistics::Entry& entry : block.entries) {
    add_to(sums_[entry.buffer], entry.mean, entry.rows);
    add_to(sums_[entry.buffer + 1], entry.variance, entry.rows);
  }
}

void RunningStatistics::add(const RunningStatistics& right) {
  for (size_t b = 0; b < sums_.size(); ++b) {
    sums_[b].rows += right.sums_[b].rows;
    for (size_t i = 0; i < sums_[b].values.size(); ++i) sums_[b].values[i] += right.sums_[b].values[i];
  }
}

size_t RunningStatistics::numbers() const {
  size_t numbers = 0;
  for (const Sum& sum : sums_) numbers += 1 + sum.values.size();
  return numbers;
}

void RunningStatistics::write_to(double* place) const {
  for (const Sum& sum : sums_) {
    *place++ = sum.rows;
    place = std::ranges::copy(sum.values, place).out;
  }
}

void RunningStatistics::read_from(const double* place) {
  for (Sum& sum : sums_) {
    sum.rows = *place++;
    std::copy_n(place, sum.values.size(), sum.values.begin());
    place += sum.values.size();
  }
}

void RunningStatistics::commit(double momentum) {
  for (size_t b = 0; b < sums_.size(); ++b) {
    const Sum& sum = sums_[b];
    if (sum.rows == 0) continue;
    float* const running = parameters_.buffers()[b].value.data_ptr<float>();
    for (size_t i = 0; i < sum.values.size(); ++i)
      running[i] = static_cast<float>((1 - momentum) * running[i] + momentum * sum.values[i] / sum.rows);
  }
}

}  // namespace plimsoll
