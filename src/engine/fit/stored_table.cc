#include "engine/fit/stored_table.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace plimsoll {
namespace {

std::span<const int64_t> numbers_of(const at::Tensor& ids) {
  return {ids.const_data_ptr<int64_t>(), static_cast<size_t>(ids.numel())};
}

Failure too_many_rows() {
  return Failure("a step looked up more rows of a table than were planned; this is a bug in Plimsoll");
}

VersionedRows file_for(const StoredTable::Options& options) {
  return {options.sizes,
          [width = options.sizes.width, seed = options.seed](int64_t row, std::span<float> to) {
            initial_values(Init::normal(), seed, 0, row * width, to);
          }};
}

}  // namespace

StoredTable::StoredTable(const Options& options)
    : options_(options),
      file_(file_for(options)),
      slot_of_(static_cast<size_t>(options.sizes.rows), kNone),
      row_of_(static_cast<size_t>(options.slots), kNone),
      step_of_(static_cast<size_t>(options.slots), 0),
      flags_(static_cast<size_t>(options.slots), 0),
      one_row_(static_cast<size_t>((options.sizes.moments + 1) * options.sizes.width)),
      wanted_(static_cast<size_t>(options.slots)),
      taken_(static_cast<size_t>(options.slots)),
      changed_(static_cast<size_t>(options.slots)) {}

void StoredTable::attach(const ParameterList& parameters, const Optimizer& optimizer) {
  weights_ = parameters.entries().front().value;
  for (const auto& [name, value] : optimizer.state()) {
    if (!is_moment_of_table(name)) continue;
    moment_names_.push_back(name);
    moments_.push_back(value);
  }
  if (std::ssize(moments_) != options_.sizes.moments)
    throw Failure("a table on a disk was planned for another number of moments");
}

void StoredTable::start_from(std::span<const float> weights, std::shared_ptr<const void> owner) {
  given_ = weights;
  owner_of_given_ = std::move(owner);
}

void StoredTable::start() {
  file_.create(options_.folder / kFile);
  if (!given_.empty()) write_weights(given_);
  given_ = {};
  owner_of_given_ = nullptr;
}

// Writes the weights of all rows, with moments of 0.
void StoredTable::write_weights(std::span<const float> weights) {
  const auto width = static_cast<size_t>(options_.sizes.width);
  const std::span<float> moments = std::span(one_row_).first(moments_.size() * width);
  std::ranges::fill(moments, 0.0F);
  for (int64_t row = 0; row < rows(); ++row)
    file_.write(row, weights.subspan(static_cast<size_t>(row) * width, width), moments);
}

void StoredTable::resume(std::span<const std::byte> places) {
  file_.open(options_.folder / kFile, places);
}

// The first pass writes the best weights, and the second one writes the current weights next to them.
void StoredTable::take(const WholeTable& whole) {
  file_.create(options_.folder / kFile);
  write_weights(whole.best);
  file_.keep_best();
  const auto width = static_cast<size_t>(options_.sizes.width);
  const std::span<float> moments = std::span(one_row_).first(moments_.size() * width);
  for (int64_t row = 0; row < rows(); ++row) {
    const size_t first = static_cast<size_t>(row) * width;
    for (size_t m = 0; m < moments_.size(); ++m)
      std::ranges::copy(whole.moments[m].subspan(first, width), moments.subspan(m * width, width).begin());
    file_.write(row, whole.weights.subspan(first, width), moments);
  }
}

std::span<float> StoredTable::weights_of(uint32_t slot) const {
  const auto width = static_cast<size_t>(options_.sizes.width);
  return {weights_.data_ptr<float>() + slot * width, width};
}

// Copies the moments of a slot into one_row_.
void StoredTable::gather_moments(uint32_t slot) {
  const auto width = static_cast<size_t>(options_.sizes.width);
  auto to = one_row_.begin();
  for (const at::Tensor& moment : moments_)
    to = std::copy_n(moment.const_data_ptr<float>() + slot * width, width, to);
}

void StoredTable::store(uint32_t slot) {
  const auto width = static_cast<size_t>(options_.sizes.width);
  gather_moments(slot);
  file_.write(row_of_[slot], weights_of(slot), std::span(one_row_).first(moments_.size() * width));
  bytes_written_ += static_cast<int64_t>((moments_.size() + 1) * width * sizeof(float));
  flags_[slot] &= static_cast<uint8_t>(~Flag::changed);
}

// Writes rows in the order of the file.
void StoredTable::store(std::span<uint32_t> slots) {
  std::ranges::sort(slots, {}, [&](uint32_t slot) { return row_of_[slot]; });
  for (const uint32_t slot : slots) store(slot);
}

// Goes around the slots, and marks one as used in this step. A slot that was used since the last round stays
// for another round.
uint32_t StoredTable::free_slot() {
  for (int64_t looked = 0; looked < 2 * options_.slots + 1; ++looked) {
    const uint32_t slot = hand_;
    hand_ = slot + 1 == options_.slots ? 0 : slot + 1;
    if (step_of_[slot] == step_) continue;
    if (row_of_[slot] != kNone && (flags_[slot] & Flag::recent) != 0) {
      flags_[slot] &= static_cast<uint8_t>(~Flag::recent);
      continue;
    }
    step_of_[slot] = step_;
    return slot;
  }
  throw too_many_rows();
}

// Finds the rows that are in no slot, in ascending order. The slots of the others are used in this step.
void StoredTable::want(std::span<const int64_t> rows) {
  wanted_count_ = 0;
  for (const int64_t row : rows) {
    uint32_t& slot = slot_of_[static_cast<size_t>(row)];
    if (slot < kWanted) {
      step_of_[slot] = step_;
      flags_[slot] |= Flag::recent;
    } else if (slot == kNone) {
      if (wanted_count_ == wanted_.size()) throw too_many_rows();
      slot = kWanted;
      wanted_[wanted_count_++] = static_cast<uint32_t>(row);
    }
  }
  std::ranges::sort(std::span(wanted_).first(wanted_count_));
}

// Takes a slot for each wanted row, and first writes the changed rows in these slots.
void StoredTable::take_slots() {
  size_t count = 0;
  for (size_t i = 0; i < wanted_count_; ++i) {
    taken_[i] = free_slot();
    if ((flags_[taken_[i]] & Flag::changed) != 0) changed_[count++] = taken_[i];
  }
  store(std::span(changed_).first(count));
  for (size_t i = 0; i < wanted_count_; ++i) {
    const uint32_t slot = taken_[i];
    if (row_of_[slot] != kNone) slot_of_[row_of_[slot]] = kNone;
    row_of_[slot] = wanted_[i];
    slot_of_[wanted_[i]] = slot;
    flags_[slot] = Flag::recent;
  }
}

void StoredTable::load_wanted() {
  const auto width = static_cast<size_t>(options_.sizes.width);
  file_.read(std::span(wanted_).first(wanted_count_), [&](size_t i, std::span<const float> weights,
                                                          std::span<const float> moments) {
    std::ranges::copy(weights, weights_of(taken_[i]).begin());
    for (size_t m = 0; m < moments_.size(); ++m)
      std::ranges::copy(moments.subspan(m * width, width), moments_[m].data_ptr<float>() + taken_[i] * width);
  });
  bytes_read_ += static_cast<int64_t>(wanted_count_ * (moments_.size() + 1) * width * sizeof(float));
}

// Forgets the wanted rows, which were not read, so that another block does not use what is in their slots.
void StoredTable::drop_wanted() {
  for (const uint32_t row : std::span(wanted_).first(wanted_count_)) {
    uint32_t& slot = slot_of_[row];
    if (slot < kWanted) row_of_[slot] = kNone;
    slot = kNone;
  }
}

at::Tensor StoredTable::hold(const at::Tensor& ids) {
  at::Tensor slots = at::empty_like(ids);
  if (ids.is_meta()) return slots;
  const std::span<const int64_t> rows = numbers_of(ids);
  auto* const found = slots.data_ptr<int64_t>();
  if (!file_.is_open()) {
    for (size_t i = 0; i < rows.size(); ++i) found[i] = static_cast<int64_t>(i) % options_.slots;
    return slots;
  }
  const MutexLock lock(mutex_);
  try {
    want(rows);
    take_slots();
    load_wanted();
  } catch (...) {
    drop_wanted();
    throw;
  }
  for (size_t i = 0; i < rows.size(); ++i) found[i] = slot_of_[static_cast<size_t>(rows[i])];
  return slots;
}

void StoredTable::expect(std::span<const float> numbers) {
  if (!file_.is_open()) return;
  const MutexLock lock(mutex_);
  for (const float number : numbers) {
    const auto row = std::bit_cast<uint32_t>(number);
    if (row < slot_of_.size() && slot_of_[row] == kNone) file_.expect(row);
  }
}

at::Tensor StoredTable::read(const at::Tensor& ids) {
  const auto width = static_cast<size_t>(options_.sizes.width);
  const at::TensorOptions options = ids.options().dtype(at::kFloat);
  at::Tensor found = at::empty({ids.numel(), options_.sizes.width}, options);
  if (ids.is_meta()) return found;
  if (!file_.is_open()) return found.zero_();
  const std::span<const int64_t> rows = numbers_of(ids);
  const MutexLock lock(mutex_);
  float* to = found.data_ptr<float>();
  for (const int64_t row : rows) {
    const uint32_t slot = slot_of_[static_cast<size_t>(row)];
    if (slot == kNone) {
      file_.read(row, {to, width}, {});
      bytes_read_ += static_cast<int64_t>(width * sizeof(float));
    } else {
      std::ranges::copy(weights_of(slot), to);
    }
    to += width;
  }
  return found;
}

void StoredTable::end_step(const RowMarks& slots_changed) {
  slots_changed.each([&](int64_t slot) { flags_[static_cast<size_t>(slot)] |= Flag::changed; });
  ++step_;
}

void StoredTable::flush() {
  size_t count = 0;
  for (uint32_t slot = 0; slot < row_of_.size(); ++slot)
    if ((flags_[slot] & Flag::changed) != 0) changed_[count++] = slot;
  store(std::span(changed_).first(count));
}

void StoredTable::keep_best() {
  const MutexLock lock(mutex_);
  flush();
  file_.keep_best();
}

void StoredTable::forget() {
  std::ranges::fill(slot_of_, kNone);
  std::ranges::fill(row_of_, kNone);
  std::ranges::fill(step_of_, uint64_t{0});
  std::ranges::fill(flags_, uint8_t{0});
}

void StoredTable::restore_best() {
  const MutexLock lock(mutex_);
  file_.restore_best();
  forget();
}

std::span<const std::byte> StoredTable::before_checkpoint() {
  const MutexLock lock(mutex_);
  flush();
  file_.sync();
  return file_.places();
}

void StoredTable::after_checkpoint() {
  const MutexLock lock(mutex_);
  file_.commit();
}

void StoredTable::read_all(const std::function<void(std::span<const float>)>& take) {
  const MutexLock lock(mutex_);
  flush();
  file_.read_all(take);
}

}  // namespace plimsoll
