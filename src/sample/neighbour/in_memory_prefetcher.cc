#include "sample/neighbour/in_memory_prefetcher.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/start_thread.h"

namespace plimsoll {

InMemoryPrefetcher::InMemoryPrefetcher(const FeatureFile& rows, std::unique_ptr<BlockSamples> samples,
                                       const RunOrder& order, std::span<const uint8_t> uses,
                                       const Options& options)
    : options_(options), sweep_(rows, options.row_bytes), samples_(std::move(samples)), order_(order) {
  sweep_.set_uses(uses);
  thread_ = start_thread([this](const std::stop_token& stop) { sample_ahead(stop); });
}

void InMemoryPrefetcher::expect(int64_t number) {
  const MutexLock lock(mutex_);
  restart_at(number);
}

bool InMemoryPrefetcher::read(int64_t number, const Place& place) {
  MutexLock lock(mutex_);
  changed_.wait(mutex_, [&]() PLIMSOLL_REQUIRES(mutex_) {
    return std::ranges::find(sampling_, number) == sampling_.end();
  });
  const bool again = order_.visit(number);
  const std::optional<QueuedBlock> queued = take(number);
  if (!queued) {
    if (!again) restart_at(order_.after(number));
    return false;
  }
  std::exception_ptr error;
  if (queued->planned) {
    lock.unlock();
    try {
      sweep_.gather(queued->sample.rows(), place(queued->sample));
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
  }
  end(*queued);
  if (error) std::rethrow_exception(error);
  return queued->planned;
}

// Removes a block from the queue, together with blocks so far before it that they will no longer be read.
std::optional<InMemoryPrefetcher::QueuedBlock> InMemoryPrefetcher::take(int64_t number) {
  const auto found = std::ranges::find(queue_, number, &QueuedBlock::number);
  if (found == queue_.end()) return std::nullopt;
  QueuedBlock taken = std::move(*found);
  for (size_t before = static_cast<size_t>(queue_.erase(found) - queue_.begin());
       before > RunOrder::kUnderWay; --before) {
    const QueuedBlock passed = std::move(queue_.front());
    queue_.pop_front();
    end(passed);
  }
  return taken;
}

void InMemoryPrefetcher::end(const QueuedBlock& queued) {
  queued_bytes_ -= queued.bytes;
  if (queued.planned) sweep_.end(queued.sample.rows());
  plan();
  changed_.notify_all();
}

void InMemoryPrefetcher::plan() {
  for (QueuedBlock& queued : queue_) {
    if (queued.planned) continue;
    if (!sweep_.plan(queued.sample.rows())) return;
    queued.planned = true;
  }
}

// Restarts prefetching from this block because the expected order was wrong. Without a number, no block is
// expected.
void InMemoryPrefetcher::restart_at(std::optional<int64_t> number) {
  for (const QueuedBlock& queued : queue_) {
    if (queued.planned) sweep_.end(queued.sample.rows());
    queued_bytes_ -= queued.bytes;
  }
  queue_.clear();
  ++restarts_;
  next_ = number;
  changed_.notify_all();
}

int64_t InMemoryPrefetcher::planned() const {
  const MutexLock lock(mutex_);
  return std::ranges::count_if(queue_, &QueuedBlock::planned);
}

void InMemoryPrefetcher::sample_group(const std::stop_token& stop) {
  const int64_t restarts = restarts_;
  for (std::optional<int64_t> number = next_; number && std::ssize(sampling_) < options_.group;
       number = order_.after(*number))
    sampling_.push_back(*number);
  next_ = order_.after(sampling_.back());
  Vector<BlockSample, Tag::cache> group(sampling_.size());
  const std::span<const int64_t> numbers(sampling_);  // Only this thread changes them.
  bool sampled = false;
  {
    const MutexUnlock unlocked(mutex_);
    sampled = samples_->get(numbers, group, stop);
    for (size_t i = 0; sampled && i < group.size(); ++i) group[i].choose_rows(options_.left_out);
  }
  if (restarts != restarts_) return samples_->forget();
  for (size_t i = 0; sampled && i < group.size(); ++i) {
    const int64_t bytes = group[i].bytes();
    queue_.push_back({numbers[i], false, bytes, std::move(group[i])});
    queued_bytes_ += bytes;
  }
}

void InMemoryPrefetcher::sample_ahead(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  const auto has_work = [&]() PLIMSOLL_REQUIRES(mutex_) { return next_ && has_room(); };
  while (changed_.wait(mutex_, stop, has_work) && !stop.stop_requested()) {
    const int64_t restarts = restarts_;
    try {
      sample_group(stop);
    } catch (const std::exception&) {  // Readers of these blocks get the same error and report it.
      if (restarts == restarts_) next_.reset();
    }
    sampling_.clear();
    plan();
    changed_.notify_all();
  }
}

}  // namespace plimsoll
