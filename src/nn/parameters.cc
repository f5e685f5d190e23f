#include "nn/parameters.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

thread_local c10::DeviceType device = c10::DeviceType::CPU;
thread_local GivenValues::Values given;

struct Stored {
  std::string name;
  StoredRows* rows = nullptr;
};
thread_local Stored stored;

}  // namespace

void initial_values(const Init& init, uint64_t seed, size_t place, int64_t first, std::span<float> values) {
  const Philox philox(seed);
  for (size_t i = 0; i < values.size(); ++i) {
    if (init.kind == Init::Kind::zeros || init.kind == Init::Kind::constant) {
      values[i] = static_cast<float>(init.bound);
      continue;
    }
    const uint64_t index = static_cast<uint64_t>(first) + i;
    const Philox::Counter bits =
        philox(philox_counter(Purpose::initial_weights, static_cast<uint32_t>(place), 0,
                              static_cast<uint32_t>(index >> 32U), static_cast<uint32_t>(index)));
    if (init.kind == Init::Kind::uniform) {
      values[i] = static_cast<float>(init.bound * (2.0 * uniform(bits[0]) - 1.0));
    } else {
      // Box-Muller; 1 - u is never 0.
      const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(bits[0])));
      values[i] =
          static_cast<float>(init.bound * radius * std::cos(2.0 * std::numbers::pi * uniform(bits[1])));
    }
  }
}

namespace {

// 4 TiB of parameters: more than any machine can train, and sums of bytes stay far below 2^63.
constexpr double kMaxNumbers = 0x1p40;

void require_possible(const std::string& name, const std::vector<int64_t>& shape, int64_t before) {
  auto numbers = 1.0;
  for (const int64_t size : shape) numbers *= static_cast<double>(size);
  if (numbers + static_cast<double>(before) > kMaxNumbers)
    throw UsageError(fmt::format(
        "parameter {} of shape [{}] would bring the model to {:.3g} numbers, expected at most 2^40; "
        "lower hidden widths, heads or layers",
        name, fmt::join(shape, ", "), numbers + static_cast<double>(before)));
}

}  // namespace

MetaParameters::MetaParameters() {
  device = c10::DeviceType::Meta;
}

MetaParameters::~MetaParameters() {
  device = c10::DeviceType::CPU;
}

StoredParameter::StoredParameter(const std::string& name, StoredRows& rows) {
  stored = {name, &rows};
}

StoredParameter::~StoredParameter() {
  stored = {};
}

std::vector<int64_t> ParameterList::Entry::shape() const {
  std::vector<int64_t> shape = value.sizes().vec();
  if (stored != nullptr) shape[0] = stored->rows();
  return shape;
}

void ParameterList::Entry::read(const std::function<void(std::span<const float>)>& take) const {
  if (stored != nullptr) return stored->read_all(take);
  take({value.const_data_ptr<float>(), static_cast<size_t>(value.numel())});
}

GivenValues::GivenValues(Values values) {
  given = std::move(values);
}

GivenValues::~GivenValues() {
  given = nullptr;
}

Init Init::glorot(int64_t fan_in, int64_t fan_out) {
  return {Kind::uniform, std::sqrt(6.0 / static_cast<double>(fan_in + fan_out))};
}

Init Init::linear(int64_t fan_in) {
  return {Kind::uniform, 1.0 / std::sqrt(static_cast<double>(fan_in))};
}

at::Tensor ParameterList::add(const std::string& name, const std::vector<int64_t>& shape, const Init& init) {
  if (given) {
    entries_.push_back({name, given(name, shape)});
    return entries_.back().value;
  }
  require_possible(name, shape, count());
  const TagScope scope(Tag::parameters);
  if (stored.rows != nullptr && name == stored.name) {
    at::Tensor slots =
        at::zeros({stored.rows->slots(), shape[1]}, at::TensorOptions(device).dtype(at::kFloat));
    slots.set_requires_grad(true);
    entries_.push_back({name, slots, false, stored.rows});
    return slots;
  }
  at::Tensor value = at::empty(shape, at::TensorOptions(device).dtype(at::kFloat));
  if (!value.is_meta())
    initial_values(init, seed_, entries_.size(), 0,
                   {value.data_ptr<float>(), static_cast<size_t>(value.numel())});
  value.set_requires_grad(true);
  entries_.push_back({name, value});
  return value;
}

at::Tensor ParameterList::add_buffer(const std::string& name, const std::vector<int64_t>& shape,
                                     float value) {
  const TagScope scope(Tag::parameters);
  buffers_.push_back({name, given ? given(name, shape)
                                  : at::full(shape, value, at::TensorOptions(device).dtype(at::kFloat))});
  return buffers_.back().value;
}

void ParameterList::make_lazy(const std::string& name) {
  std::ranges::find(entries_, name, &Entry::name)->lazy = true;
}

std::vector<ParameterList::Entry> ParameterList::all() const {
  std::vector<Entry> all = entries_;
  all.insert(all.end(), buffers_.begin(), buffers_.end());
  return all;
}

std::vector<at::Tensor> ParameterList::from(size_t first) const {
  std::vector<at::Tensor> values;
  for (size_t i = first; i < entries_.size(); ++i) values.push_back(entries_[i].value);
  return values;
}

int64_t ParameterList::count() const {
  int64_t count = 0;
  for (const Entry& entry : entries_) {
    int64_t numbers = 1;
    for (const int64_t size : entry.shape()) numbers *= size;
    count += numbers;
  }
  return count;
}

std::string ParameterList::hash() const {
  std::vector<Entry> sorted = all();
  std::sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  Hasher hasher;
  for (const Entry& entry : sorted) entry.read([&](std::span<const float> numbers) { hasher.add(numbers); });
  return hasher.hex128();
}

}  // namespace plimsoll
