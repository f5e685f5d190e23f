#include "io/external_sort.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int64_t kWriteBuffer = 256 << 10;
constexpr int64_t kMinReadBuffer = 32 << 10;
constexpr int64_t kMaxReadBuffer = 1 << 20;
constexpr size_t kMaxRuns = 256;  // Maximum number of runs merged at a time. Each has an open file.
constexpr size_t kLongestNumber = 10;
constexpr int64_t kRecordsPerTick = int64_t{1} << 18;
constexpr uint64_t kLow = 0xFFFFFFFF;

using Keys = Vector<uint64_t, Tag::ingest>;
using Order = Vector<uint32_t, Tag::ingest>;

// Moves the upper half of a key down to the used bits of the lower half. The order of keys does not change.
uint64_t packed(uint64_t key, int low_bits) {
  return low_bits == 32 ? key : (key >> 32) << low_bits | (key & kLow);
}
uint64_t unpacked(uint64_t key, int low_bits) {
  return low_bits == 32 ? key : (key >> low_bits) << 32 | (key & ((uint64_t{1} << low_bits) - 1));
}

// Frees the memory of a vector; assigning `{}` would not.
template <typename T>
void let_go(Vector<T, Tag::ingest>& vector) {
  Vector<T, Tag::ingest>().swap(vector);
}

// Sorts stably by each byte of the keys, from the lowest up. Bytes that are the same in all keys are skipped.
void radix_sort(Keys& keys, Keys& keys_scratch, Order& order, Order& order_scratch, size_t count) {
  std::array<std::array<uint32_t, 256>, 8> counts{};
  for (size_t i = 0; i < count; ++i)
    for (size_t byte = 0; byte < 8; ++byte) ++counts[byte][keys[i] >> (8 * byte) & 0xFF];
  const bool with_order = !order.empty();
  for (size_t byte = 0; byte < 8; ++byte) {
    std::array<uint32_t, 256>& at = counts[byte];
    if (count == 0 || at[keys[0] >> (8 * byte) & 0xFF] == count) continue;
    uint32_t sum = 0;
    for (uint32_t& place : at) place = std::exchange(sum, sum + place);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t place = at[keys[i] >> (8 * byte) & 0xFF]++;
      keys_scratch[place] = keys[i];
      if (with_order) order_scratch[place] = order[i];
    }
    keys.swap(keys_scratch);
    order.swap(order_scratch);
  }
}

}  // namespace

class ExternalSort::RunWriter {
 public:
  using Write = std::function<void(std::span<const std::byte>)>;

  RunWriter(Write write, int low_bits, size_t payload)
      : write_(std::move(write)),
        low_bits_(low_bits),
        payload_(payload),
        buffer_(std::max<size_t>(kWriteBuffer, 2 * (payload + kLongestNumber))) {}

  void add(uint64_t key, const std::byte* payload) {
    if (filled_ + kLongestNumber + payload_ > buffer_.size()) flush();
    const uint64_t whole = packed(key, low_bits_);
    uint64_t rest = whole - std::exchange(previous_, whole);
    for (; rest >= 128; rest >>= 7) buffer_[filled_++] = static_cast<std::byte>(rest | 128);
    buffer_[filled_++] = static_cast<std::byte>(rest);
    if (payload_ > 0) std::memcpy(buffer_.data() + filled_, payload, payload_);
    filled_ += payload_;
  }
  void flush() {
    write_({buffer_.data(), filled_});
    filled_ = 0;
  }

 private:
  Write write_;
  int low_bits_;
  size_t payload_;
  uint64_t previous_ = 0;
  Vector<std::byte, Tag::ingest> buffer_;
  size_t filled_ = 0;
};

class ExternalSort::RunReader {
 public:
  RunReader(const Run& run, size_t payload, size_t buffer, FileSystem& files)
      : file_(File::open(run.path, files)), low_bits_(run.low_bits), payload_(payload), buffer_(buffer) {
    for (auto left = static_cast<size_t>(run.begin); left > 0;) {
      const size_t got = file_.read(buffer_.data(), std::min(left, buffer_.size()));
      if (got == 0) throw damaged();
      left -= got;
    }
  }

  bool next() {
    if (filled_ - at_ < kLongestNumber + payload_ && !ended_) fill();
    if (at_ == filled_) return alive_ = false;
    uint64_t difference = 0;
    for (int shift = 0;; shift += 7) {
      if (shift > 63 || at_ == filled_) throw damaged();
      const auto byte = static_cast<uint64_t>(buffer_[at_++]);
      difference |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    if (filled_ - at_ < payload_) throw damaged();
    packed_ += difference;
    key_ = unpacked(packed_, low_bits_);
    record_ = buffer_.data() + at_;
    at_ += payload_;
    return true;
  }
  bool alive() const { return alive_; }
  uint64_t key() const { return key_; }
  const std::byte* payload() const { return record_; }

 private:
  InputError damaged() const {
    return InputError(file_.path() +
                      ": ends inside a record, expected a run of sorted records; make it again");
  }
  void fill() {
    std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
    filled_ -= std::exchange(at_, 0);
    while (filled_ < buffer_.size()) {
      const size_t got = file_.read(buffer_.data() + filled_, buffer_.size() - filled_);
      ended_ = got == 0;
      if (ended_) return;
      filled_ += got;
    }
  }

  File file_;
  int low_bits_;
  size_t payload_;
  Vector<std::byte, Tag::ingest> buffer_;
  size_t at_ = 0;
  size_t filled_ = 0;
  bool ended_ = false;
  bool alive_ = true;
  uint64_t packed_ = 0;
  uint64_t key_ = 0;
  const std::byte* record_ = nullptr;
};

ExternalSort::ExternalSort(Options options) : options_(std::move(options)) {
  const int64_t record = 16 + (options_.payload > 0 ? 8 + static_cast<int64_t>(options_.payload) : 0);
  const int64_t room = std::max<int64_t>((options_.memory - kWriteBuffer) / record, 1024);
  const int64_t max = std::max<int64_t>(options_.max, 1);
  capacity_ = static_cast<size_t>(std::min({room, max, int64_t{1} << 31}));
  allocate();
}

ExternalSort::~ExternalSort() {
  for (const Run& run : runs_)
    if (!run.taken) options_.files->remove_file(run.path);
}

void ExternalSort::allocate() {
  keys_.resize(capacity_);
  keys_scratch_.resize(capacity_);
  if (options_.payload == 0) return;
  order_.resize(capacity_);
  order_scratch_.resize(capacity_);
  payloads_.resize(capacity_ * options_.payload);
}

void ExternalSort::release() {
  let_go(keys_);
  let_go(keys_scratch_);
  let_go(order_);
  let_go(order_scratch_);
  let_go(payloads_);
  count_ = 0;
}

void ExternalSort::keep_payload(const void* payload) {
  std::memcpy(payloads_.data() + count_ * options_.payload, payload, options_.payload);
}

void ExternalSort::sort() {
  for (size_t i = 0; i < (order_.empty() ? 0 : count_); ++i) order_[i] = static_cast<uint32_t>(i);
  radix_sort(keys_, keys_scratch_, order_, order_scratch_, count_);
}

std::filesystem::path ExternalSort::next_path() {
  return options_.folder / fmt::format("{}.{}.run", options_.name, named_++);
}

void ExternalSort::spill() {
  sort();
  uint64_t used = 0;
  for (size_t i = 0; i < count_; ++i) used |= keys_[i];
  runs_.push_back({.path = next_path(), .low_bits = static_cast<int>(std::bit_width(used & kLow))});
  File file = File::create(runs_.back().path, *options_.files);
  RunWriter writer([&](std::span<const std::byte> piece) { file.write(piece.data(), piece.size()); },
                   runs_.back().low_bits, options_.payload);
  for (size_t i = 0; i < count_; ++i) {
    if (options_.unique && i > 0 && keys_[i] == keys_[i - 1]) continue;
    writer.add(keys_[i], options_.payload > 0 ? payloads_.data() + order_[i] * options_.payload : nullptr);
  }
  writer.flush();
  count_ = 0;
}

void ExternalSort::take_run(const std::filesystem::path& path, int64_t begin) {
  if (count_ > 0) spill();
  runs_.push_back({.path = path, .begin = begin, .taken = true});
}

void ExternalSort::write_run(const std::function<void(std::span<const std::byte>)>& write) const {
  RunWriter writer(write, Run().low_bits, options_.payload);
  for (Reader reader = read(); reader.next();) writer.add(reader.key(), reader.payload());
  writer.flush();
}

void ExternalSort::seal() {
  if (runs_.empty()) {
    sort();
    let_go(keys_scratch_);
    let_go(order_scratch_);
    return;
  }
  if (count_ > 0) spill();
  release();
  const auto fan_in = static_cast<size_t>(
      std::clamp<int64_t>((options_.memory - kWriteBuffer) / kMinReadBuffer, 2, kMaxRuns));
  // Only adjacent runs are merged, so records with equal keys keep their order.
  while (runs_.size() > fan_in) {
    const size_t rounds = (runs_.size() + fan_in - 1) / fan_in;
    for (size_t round = 0; round < rounds; ++round) {
      const size_t left = runs_.size() - round;
      const size_t rest = rounds - round;
      merge(round, (left + rest - 1) / rest);
    }
  }
}

// Replaces the `count` runs from `first` on with a single run.
void ExternalSort::merge(size_t first, size_t count) {
  if (count < 2) return;
  Run merged{.path = next_path(), .low_bits = 0};
  for (size_t i = first; i < first + count; ++i)
    merged.low_bits = std::max(merged.low_bits, runs_[i].low_bits);
  runs_.push_back(merged);  // Added at once, so that it is removed even after an error.
  {
    Reader reader(*this, first, count);
    File file = File::create(merged.path, *options_.files);
    RunWriter writer([&](std::span<const std::byte> piece) { file.write(piece.data(), piece.size()); },
                     merged.low_bits, options_.payload);
    for (int64_t record = 0; reader.next(); ++record) {
      if (record % kRecordsPerTick == 0) options_.tick();
      writer.add(reader.key(), reader.payload());
    }
    writer.flush();
  }
  for (size_t i = first; i < first + count; ++i) remove_file(runs_[i]);
  runs_.pop_back();
  const auto at = runs_.begin() + static_cast<std::ptrdiff_t>(first);
  runs_.erase(at + 1, at + static_cast<std::ptrdiff_t>(count));
  runs_[first] = merged;
}

size_t ExternalSort::run_buffer(size_t runs) const {
  const int64_t share = (options_.memory - kWriteBuffer) / static_cast<int64_t>(std::max<size_t>(runs, 1));
  return std::max(static_cast<size_t>(std::clamp(share, kMinReadBuffer, kMaxReadBuffer)),
                  4 * (options_.payload + kLongestNumber));
}

ExternalSort::Reader ExternalSort::read() const {
  return {*this, 0, runs_.size()};
}

void ExternalSort::remove() {
  release();
  while (!runs_.empty()) {
    remove_file(runs_.back());
    runs_.pop_back();
  }
}

void ExternalSort::remove_file(const Run& run) const {
  if (!run.taken && options_.files->remove_file(run.path) != 0) throw file_failure("cannot delete", run.path);
}

ExternalSort::Reader::Reader(const ExternalSort& sort, size_t first, size_t count) : sort_(&sort) {
  const size_t buffer = sort.run_buffer(count);
  readers_.reserve(count);
  for (size_t run = first; run < first + count; ++run)
    readers_.emplace_back(sort.runs_[run], sort.options_.payload, buffer, *sort.options_.files);
}

ExternalSort::Reader::~Reader() = default;
ExternalSort::Reader::Reader(Reader&&) noexcept = default;

bool ExternalSort::Reader::next() {
  const uint64_t before = key_;
  const bool follows = begun_;
  while (advance())
    if (!follows || !sort_->options_.unique || key_ != before) return true;
  return false;
}

bool ExternalSort::Reader::advance() {
  if (readers_.empty()) {
    begun_ = true;
    if (at_ == sort_->count_) return false;
    key_ = sort_->keys_[at_];
    if (sort_->options_.payload > 0)
      payload_ = sort_->payloads_.data() + sort_->order_[at_] * sort_->options_.payload;
    ++at_;
    return true;
  }
  if (!begun_) {
    begun_ = true;
    for (RunReader& reader : readers_) reader.next();
    losers_.assign(readers_.size(), readers_.size());
    for (size_t run = 0; run < readers_.size(); ++run) play(run);
  } else {
    const size_t winner = losers_[0];
    readers_[winner].next();
    play(winner);
  }
  const RunReader& winner = readers_[losers_[0]];
  if (!winner.alive()) return false;
  key_ = winner.key();
  payload_ = winner.payload();
  return true;
}

// Sends a run up the tournament. At each inner node, the run with the later record stays. A node without a
// run keeps the arriving one, and the climb ends there.
void ExternalSort::Reader::play(size_t run) {
  const size_t runs = readers_.size();
  const auto earlier = [&](size_t a, size_t b) {
    const RunReader& left = readers_[a];
    const RunReader& right = readers_[b];
    if (!left.alive() || !right.alive()) return left.alive();
    return left.key() != right.key() ? left.key() < right.key() : a < b;
  };
  for (size_t node = (run + runs) / 2; node > 0; node /= 2) {
    size_t& loser = losers_[node];
    if (loser == runs) {
      loser = run;
      return;
    }
    if (earlier(loser, run)) std::swap(loser, run);
  }
  losers_[0] = run;
}

}  // namespace plimsoll
