#include "rows/spilled_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/start_thread.h"

namespace plimsoll {
namespace {

constexpr int64_t kMinPacks = 4;    // Minimum number of packs in a round.
constexpr int64_t kFirstRound = 4;  // The first round is 1/kFirstRound of a full one.
constexpr size_t kLookedUp = 256;   // Rows that are looked up at a time.
constexpr size_t kPrefetched = 8;   // Distance of the prefetch, in rows.
// After a caller has waited this long, packs far before its batch are considered abandoned: a reader that
// still wants one would have requested it by then.
constexpr auto kPatience = std::chrono::milliseconds(50);

}  // namespace

PackSizes SpilledFeatures::sizes_for(const RowLayout& layout, const Options& options) {
  return PackSizes::of(layout, options.bytes, round_bytes(options), options.max_rows, options.max_note);
}

int64_t SpilledFeatures::kept_rows(const RowLayout& layout, const Options& options) {
  const PackSizes sizes = sizes_for(layout, options);
  if (sizes.round < kMinPacks * (sizes.pack + sizes.notes)) return -1;
  if (layout.rows > std::numeric_limits<uint32_t>::max()) return -1;
  const int64_t loaded = sizes.pack + sizes.notes + RowSet::bytes_for(layout.rows);
  const int64_t lists = 2 * (sizes.round / layout.row_bytes) * static_cast<int64_t>(sizeof(uint32_t));
  const int64_t waiting = 2 * sizes.packs * static_cast<int64_t>(sizeof(WaitingPack));
  const int64_t left = options.bytes - kLoaded * loaded - lists - waiting - sizes.memory_bytes(layout) -
                       PinnedRows::bytes_for(layout, 0) - 16 * 1024;
  return left < 0 ? -1 : std::min(left / layout.row_bytes, layout.rows);
}

SpilledFeatures::SpilledFeatures(const std::filesystem::path& path, const RowLayout& layout, RowCopy copy,
                                 const Options& options, ScratchFile scratch, std::span<const uint8_t> uses)
    : row_bytes_(layout.row_bytes),
      copy_(std::move(copy)),
      sizes_(sizes_for(layout, options)),
      scratch_(std::move(scratch)),
      kept_(layout, uses, std::max<int64_t>(kept_rows(layout, options), 0)),
      round_(path, layout, sizes_, kept_, scratch_) {
  if (kept_rows(layout, options) < 0)
    throw UsageError(
        fmt::format("{} bytes of memory and {} of disk space are too few for packs of rows of {} bytes",
                    options.bytes, options.scratch_bytes, layout.row_bytes));
  for (PackedRows& rows : round_rows_) rows.reserve(static_cast<size_t>(sizes_.round / row_bytes_));
  for (LoadedPack& loaded : loaded_) {
    loaded.bytes = MappedBytes(Tag::cache, sizes_.notes + sizes_.pack);
    loaded.set = RowSet(layout.rows);
  }
  thread_ = start_thread([this](const std::stop_token& stop) { run_loader(stop); });
}

SpilledFeatures::~SpilledFeatures() = default;

bool SpilledFeatures::begin_round(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  const size_t next = 1 - making_;
  if (!changed_.wait(mutex_, stop, [&]() PLIMSOLL_REQUIRES(mutex_) { return round_packs_[next] == 0; }))
    return false;
  lock.unlock();
  making_ = next;
  // The first round is short, so that readers wait less for it. Each later round is made while the previous
  // one is read, and is at most twice as long.
  const int64_t min = std::max(PackSizes::aligned(sizes_.round / kFirstRound), sizes_.pack + sizes_.notes);
  const int64_t bytes = added_ > 0 ? std::min(sizes_.round, 2 * round_.bytes()) : min;
  round_.begin(static_cast<int64_t>(making_) * sizes_.round, bytes, added_, round_rows_[making_]);
  return true;
}

bool SpilledFeatures::add(std::span<const int64_t> rows, std::span<const std::byte> note) {
  if (!round_.add(rows, note)) return false;
  ++added_;
  const MutexLock lock(mutex_);
  round_counters_ = round_.counters();
  return true;
}

bool SpilledFeatures::write(const std::stop_token& stop) {
  if (!round_.write(stop)) return false;
  const MutexLock lock(mutex_);
  round_counters_ = round_.counters();
  round_packs_[making_] = std::ssize(round_.packs());
  for (Pack& pack : round_.packs()) {
    const int64_t batches = pack.batches();
    packs_.push_back({std::move(pack), making_, batches, false});
  }
  round_.packs().clear();
  changed_.notify_all();
  return true;
}

void SpilledFeatures::fail(std::exception_ptr error) {
  const MutexLock lock(mutex_);
  error_ = std::move(error);
  changed_.notify_all();
}

void SpilledFeatures::forget(int64_t generation) {
  const MutexLock lock(mutex_);
  generation_ = generation;
  changed_.notify_all();
  changed_.wait(mutex_, [&]() PLIMSOLL_REQUIRES(mutex_) {
    return !loading_ &&
           std::ranges::all_of(loaded_, [](const LoadedPack& loaded) { return loaded.readers == 0; });
  });
  for (LoadedPack& loaded : loaded_) loaded.pack = nullptr;
  packs_.clear();
  round_packs_ = {};
  added_ = ended_ = 0;
}

bool SpilledFeatures::is_loaded(const WaitingPack& waiting) const {
  return std::ranges::find(loaded_, &waiting, &LoadedPack::pack) != loaded_.end();
}

SpilledFeatures::LoadedPack* SpilledFeatures::loaded(const WaitingPack& waiting) {
  const auto found = std::ranges::find(loaded_, &waiting, &LoadedPack::pack);
  return found == loaded_.end() ? nullptr : &*found;
}

SpilledFeatures::WaitingPack* SpilledFeatures::pack_of(int64_t batch) {
  const auto after = std::ranges::upper_bound(
      packs_, batch, {}, [](const WaitingPack& waiting) { return waiting.pack.first_batch; });
  if (after == packs_.begin() || std::prev(after)->pack.end_batch() <= batch) return nullptr;
  return &*std::prev(after);
}

// Frees packs that will no longer be read.
void SpilledFeatures::release() {
  for (LoadedPack& loaded : loaded_)
    if (loaded.pack != nullptr && loaded.pack->over && loaded.is_loaded && loaded.readers == 0)
      loaded.pack = nullptr;
  while (!packs_.empty() && packs_.front().over && !is_loaded(packs_.front())) {
    --round_packs_[packs_.front().round];
    ended_ = packs_.front().pack.end_batch();
    packs_.pop_front();
  }
  changed_.notify_all();
}

// Called when a caller has waited for `batch` for kPatience. Packs that are too far before the batch to be in
// memory together with its pack are marked as over; if no pack contains the batch, so are all packs of the
// older of two rounds. Packs for which other callers wait are not marked.
void SpilledFeatures::end_packs_far_before(int64_t batch) {
  const WaitingPack* const waiting = pack_of(batch);
  if (waiting == nullptr && (round_packs_[0] == 0 || round_packs_[1] == 0)) return;
  int ahead = kLoaded;
  bool changed = false;
  for (auto before = packs_.rbegin(); before != packs_.rend(); ++before) {
    const bool too_far = waiting == nullptr
                             ? before->round == packs_.front().round
                             : before->pack.first_batch < waiting->pack.first_batch && --ahead <= 0;
    const bool ends = too_far && !before->over && std::ranges::none_of(awaited_, [&](int64_t awaited) {
                        return before->pack.first_batch <= awaited && awaited < before->pack.end_batch();
                      });
    changed = changed || ends;
    before->over = before->over || ends;
  }
  if (changed) release();  // Makes other waiting callers check again.
}

bool SpilledFeatures::read(int64_t generation, int64_t batch, const Placing& place) {
  MutexLock lock(mutex_);
  LoadedPack* from = nullptr;
  const auto is_decided = [&]() PLIMSOLL_REQUIRES(mutex_) {
    from = nullptr;
    if (error_ || generation_ != generation) return true;
    WaitingPack* const waiting = pack_of(batch);
    if (waiting == nullptr) return batch < ended_;
    if (waiting->over) return true;
    from = loaded(*waiting);
    return from != nullptr && from->is_loaded;
  };
  if (!is_decided()) {
    if (awaited_.empty()) waiting_since_ = Clock::now();
    awaited_.push_back(batch);
    while (!changed_.wait_for(mutex_, kPatience, is_decided)) end_packs_far_before(batch);
    awaited_.erase(std::ranges::find(awaited_, batch));
    if (awaited_.empty())
      counters_.waited_seconds += std::chrono::duration<double>(Clock::now() - waiting_since_).count();
  }
  if (error_) std::rethrow_exception(error_);
  if (from == nullptr) return false;
  WaitingPack& waiting = *pack_of(batch);
  const auto in_pack = static_cast<size_t>(batch - waiting.pack.first_batch);
  const int64_t begin = in_pack == 0 ? 0 : waiting.pack.note_ends[in_pack - 1];
  const std::span note(from->bytes.data() + begin,
                       static_cast<size_t>(waiting.pack.note_ends[in_pack] - begin));
  ++from->readers;
  lock.unlock();
  std::exception_ptr error;
  try {
    copy(*from, place(note));
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  --from->readers;
  if (--waiting.left == 0) waiting.over = true;
  release();
  if (error) std::rethrow_exception(error);
  return true;
}

void SpilledFeatures::copy(const LoadedPack& from, const Place& place) const {
  const std::byte* const packed = from.bytes.data() + sizes_.notes;
  const auto out_bytes = static_cast<size_t>(copy_.out_bytes());
  std::array<const std::byte*, kLookedUp> rows;
  for (size_t first = 0; first < place.rows.size(); first += kLookedUp) {
    const auto some = place.rows.subspan(first, std::min(kLookedUp, place.rows.size() - first));
    for (size_t i = 0; i < some.size(); ++i) {
      if (i + kPrefetched < some.size()) {
        kept_.prefetch(some[i + kPrefetched]);
        from.set.prefetch(some[i + kPrefetched]);
      }
      rows[i] = kept_.find(some[i]);
      if (rows[i] != nullptr) continue;
      const int64_t index = from.set.index(some[i]);
      if (index == RowSet::kNone) throw Failure("read a row that is not in the pack of its batch");
      rows[i] = packed + index * row_bytes_;
    }
    for (size_t i = 0; i < some.size(); ++i) {
      if (i + kPrefetched < some.size()) __builtin_prefetch(rows[i + kPrefetched]);
      copy_.copy(rows[i], place.out + (first + i) * out_bytes);
    }
  }
}

// Returns the first pack that is not in memory and still has readers, or null.
const SpilledFeatures::WaitingPack* SpilledFeatures::next_to_load() const {
  if (error_ || std::ranges::find(loaded_, nullptr, &LoadedPack::pack) == loaded_.end()) return nullptr;
  const auto found = std::ranges::find_if(packs_, [&](const WaitingPack& waiting) PLIMSOLL_REQUIRES(mutex_) {
    return !waiting.over && !is_loaded(waiting);
  });
  return found == packs_.end() ? nullptr : &*found;
}

void SpilledFeatures::load(LoadedPack& to, const WaitingPack& waiting) {
  const Pack& pack = waiting.pack;
  const int64_t notes = PackSizes::aligned(pack.note_ends.back());
  scratch_.read(pack.notes_at, std::span(to.bytes.data(), static_cast<size_t>(notes)));
  const int64_t rows = PackSizes::aligned(pack.rows() * row_bytes_);
  scratch_.read(pack.rows_at, std::span(to.bytes.data() + sizes_.notes, static_cast<size_t>(rows)));
  to.set.clear();
  const PackedRows& round_rows = round_rows_[waiting.round];
  for (size_t at = pack.first_row; at < pack.last_row; ++at) to.set.add(round_rows[at]);
  to.set.number();
  const MutexLock lock(mutex_);
  counters_.bytes_read += notes + rows;
}

void SpilledFeatures::run_loader(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (changed_.wait(mutex_, stop, [&]() PLIMSOLL_REQUIRES(mutex_) { return next_to_load() != nullptr; }) &&
         !stop.stop_requested()) {
    const WaitingPack* const waiting = next_to_load();
    LoadedPack& to = *std::ranges::find(loaded_, nullptr, &LoadedPack::pack);
    to.pack = waiting;
    to.is_loaded = false;
    loading_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      load(to, *waiting);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    loading_ = false;
    to.is_loaded = true;
    if (error) error_ = error;
    release();
  }
}

RowCounters SpilledFeatures::counters() const {
  const MutexLock lock(mutex_);
  RowCounters counters = round_counters_;
  counters.bytes_read += counters_.bytes_read;
  counters.waited_seconds += counters_.waited_seconds;
  return counters;
}

}  // namespace plimsoll
