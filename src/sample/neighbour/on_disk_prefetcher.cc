#include "sample/neighbour/on_disk_prefetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/start_thread.h"

namespace plimsoll {
namespace {

constexpr int64_t kRead = -1;

}  // namespace

OnDiskPrefetcher::OnDiskPrefetcher(std::unique_ptr<PackedBatches> packs, std::unique_ptr<BlockSamples> origin,
                                   BlockSamples* stored_samples, const RunOrder& order,
                                   const Options& options)
    : group_(options.group),
      left_out_(options.left_out),
      max_nodes_(options.max_nodes),
      max_note_(options.max_note),
      packs_(std::move(packs)),
      origin_(std::move(origin)),
      stored_samples_(stored_samples),
      order_(order) {
  samples_.resize(static_cast<size_t>(group_));
  sampling_.reserve(static_cast<size_t>(group_));
  announced_.reserve(static_cast<size_t>(group_));
  note_.reserve(static_cast<size_t>(options.max_note));
  if (options.readers > 0) {
    spare_.resize(static_cast<size_t>(options.readers));
    for (BlockSample& sample : spare_)
      sample.reserve(options.max_nodes, options.max_edges, options.edge_width);
    samples_.front().reserve(options.max_nodes, options.max_edges, options.edge_width);
  }
  thread_ = start_thread([this](const std::stop_token& stop) { pack_ahead(stop); });
}

OnDiskPrefetcher::~OnDiskPrefetcher() {
  thread_.request_stop();
  const MutexLock lock(mutex_);
  making_.request_stop();
}

bool OnDiskPrefetcher::read(int64_t number, const Place& place) {
  MutexLock lock(mutex_);
  changed_.wait(mutex_, [&]() PLIMSOLL_REQUIRES(mutex_) { return restarts_ == restarts_done_ || error_; });
  if (error_) std::rethrow_exception(error_);
  const bool again = order_.visit(number);
  const auto found = std::ranges::find(queue_, number);
  if (found == queue_.end()) {
    if (!again) restart_at(order_.after(number));
    return false;
  }
  *found = kRead;
  if (!std::exchange(is_confirmed_, true)) changed_.notify_all();
  auto before = static_cast<size_t>(found - queue_.begin());
  const int64_t batch = first_queued_ + static_cast<int64_t>(before);
  const int64_t generation = restarts_;
  for (; before > RunOrder::kUnderWay; --before) {
    queue_.pop_front();
    ++first_queued_;
  }
  BlockSample sample;
  if (!spare_.empty()) {
    sample = std::move(spare_.back());
    spare_.pop_back();
  }
  lock.unlock();
  const bool given = packs_->read(generation, batch, [&](std::span<const std::byte> note) {
    if (stored_samples_ == nullptr)
      sample.read(note);
    else
      stored_samples_->get({&number, 1}, {&sample, 1}, {});
    if (sample.number != number)
      throw Failure(fmt::format("block {} was read instead of block {}; this is a bug in Plimsoll",
                                sample.number, number));
    sample.choose_rows(left_out_);
    return PackedBatches::Place{sample.rows(), place(sample)};
  });
  lock.lock();
  spare_.push_back(std::move(sample));
  return given;
}

void OnDiskPrefetcher::expect(int64_t number) {
  const MutexLock lock(mutex_);
  restart_at(number);
  is_confirmed_ = true;
}

// Restarts prefetching from this block because the expected order was wrong. Without a number, no block is
// expected.
void OnDiskPrefetcher::restart_at(std::optional<int64_t> number) {
  restart();
  next_ = number;
  announce();
}

void OnDiskPrefetcher::restart() {
  queue_.clear();
  announced_.clear();
  first_queued_ = 0;
  next_.reset();
  is_confirmed_ = false;
  ++restarts_;
  making_.request_stop();
  changed_.notify_all();
}

// Called without the lock. Drops all queued blocks; readers then read these blocks themselves. Prefetching
// starts again, because memory that was refused may have become available.
void OnDiskPrefetcher::give_up() {
  const MutexLock lock(mutex_);
  restart();
}

// Announces the next group.
void OnDiskPrefetcher::announce() {
  while (next_ && std::ssize(announced_) < group_) {
    queue_.push_back(*next_);  // This may throw; the other push cannot, because it has capacity.
    announced_.push_back(*next_);
    next_ = order_.after(*next_);
  }
}

int64_t OnDiskPrefetcher::planned() const {
  const MutexLock lock(mutex_);
  return std::ssize(queue_) - std::ranges::count(queue_, kRead);
}

// Returns whether there are any samples. After an error, the readers of the group read their blocks
// themselves, get the same error and report it.
bool OnDiskPrefetcher::sample_group(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  // Checked while the lock is held, because prefetching may have restarted since the caller checked.
  // Announced blocks would then belong to the next generation and be lost with this round.
  if (stop.stop_requested()) return false;
  announce();
  sampling_.clear();
  sampling_.swap(announced_);
  if (sampling_.empty()) return false;
  lock.unlock();
  packed_ = sampled_ = 0;
  try {
    BlockSamples& origin = origin_ ? *origin_ : *stored_samples_;
    if (!origin.get(sampling_, samples_, stop)) return false;
  } catch (const std::exception&) {
    give_up();
    return false;
  }
  sampled_ = sampling_.size();
  return true;
}

// When buffers are allocated, the sizes of blocks of later epochs are not known, only bounded.
void OnDiskPrefetcher::require_planned(const BlockSample& sample) const {
  if ((max_nodes_ == 0 || sample.batch.nodes() <= max_nodes_) && std::ssize(note_) <= max_note_) return;
  throw Failure(
      fmt::format("block {} has {} nodes and {} edges, but at most {} nodes were planned; "
                  "train again with a smaller training.block.seeds",
                  sample.number, sample.batch.nodes(), sample.batch.edges(), max_nodes_));
}

void OnDiskPrefetcher::pack_round(const std::stop_token& stop) {
  if (!packs_->begin_round(stop)) return;
  while (!stop.stop_requested() && (packed_ < sampled_ || sample_group(stop))) {
    BlockSample& sample = samples_[packed_];
    if (stored_samples_ == nullptr) sample.write(note_);
    require_planned(sample);
    sample.choose_rows(left_out_);
    if (!packs_->add(sample.rows(), note_)) break;
    ++packed_;
  }
  packs_->write(stop);
}

void OnDiskPrefetcher::pack_ahead(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  const auto has_work = [&]() PLIMSOLL_REQUIRES(mutex_) {
    return restarts_ != restarts_done_ ||
           (is_confirmed_ && (!announced_.empty() || next_ || packed_ < sampled_));
  };
  while (changed_.wait(mutex_, stop, has_work) && !stop.stop_requested()) {
    if (const int64_t generation = restarts_; generation != restarts_done_) {
      making_ = {};
      lock.unlock();
      packs_->forget(generation);
      packed_ = sampled_ = 0;
      lock.lock();
      if (generation == restarts_) restarts_done_ = generation;
      changed_.notify_all();
      continue;
    }
    const std::stop_token making = making_.get_token();
    lock.unlock();
    try {
      pack_round(making);
    } catch (const BudgetExceeded&) {
      give_up();
    } catch (const std::bad_alloc&) {
      give_up();
    } catch (const std::exception&) {
      packs_->fail(std::current_exception());
      lock.lock();
      error_ = std::current_exception();
      changed_.notify_all();
      return;
    }
    lock.lock();
  }
}

}  // namespace plimsoll
