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
  const std::lock_guard lock(mutex_);
  begin_at(number);
}

bool InMemoryPrefetcher::read(int64_t number, const Place& place) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return std::ranges::find(sampling_, number) == sampling_.end(); });
  const bool again = order_.visit(number);
  const std::optional<Coming> coming = take(number);
  if (!coming) {
    if (!again) begin_at(order_.after(number));
    return false;
  }
  std::exception_ptr error;
  if (coming->planned) {
    lock.unlock();
    try {
      sweep_.gather(coming->sample.rows(), place(coming->sample));
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
  }
  end(*coming);
  if (error) std::rethrow_exception(error);
  return coming->planned;
}

// Removes a block from the queue, together with blocks so far before it that nobody will read them.
std::optional<InMemoryPrefetcher::Coming> InMemoryPrefetcher::take(int64_t number) {
  const auto found = std::ranges::find(coming_, number, &Coming::number);
  if (found == coming_.end()) return std::nullopt;
  Coming taken = std::move(*found);
  for (size_t before = static_cast<size_t>(coming_.erase(found) - coming_.begin());
       before > RunOrder::kUnderWay; --before) {
    const Coming passed = std::move(coming_.front());
    coming_.pop_front();
    end(passed);
  }
  return taken;
}

void InMemoryPrefetcher::end(const Coming& coming) {
  coming_bytes_ -= coming.bytes;
  if (coming.planned) sweep_.end(coming.sample.rows());
  plan();
  changed_.notify_all();
}

void InMemoryPrefetcher::plan() {
  for (Coming& coming : coming_) {
    if (coming.planned) continue;
    if (!sweep_.plan(coming.sample.rows())) return;
    coming.planned = true;
  }
}

// Restarts prefetching from this block because the expectation was wrong; without a number nothing is
// expected.
void InMemoryPrefetcher::begin_at(std::optional<int64_t> number) {
  for (const Coming& coming : coming_) {
    if (coming.planned) sweep_.end(coming.sample.rows());
    coming_bytes_ -= coming.bytes;
  }
  coming_.clear();
  ++begun_;
  next_ = number;
  changed_.notify_all();
}

int64_t InMemoryPrefetcher::planned() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::count_if(coming_, &Coming::planned);
}

void InMemoryPrefetcher::sample_group(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  const int64_t begun = begun_;
  for (std::optional<int64_t> number = next_; number && std::ssize(sampling_) < options_.group;
       number = order_.after(*number))
    sampling_.push_back(*number);
  next_ = order_.after(sampling_.back());
  Vector<BlockSample, Tag::cache> group(sampling_.size());
  lock.unlock();
  const bool sampled = samples_->get(sampling_, group, stop);
  for (size_t i = 0; sampled && i < group.size(); ++i) group[i].choose_rows(options_.left_out);
  lock.lock();
  if (begun != begun_) return samples_->forget();
  for (size_t i = 0; sampled && i < group.size(); ++i) {
    const int64_t bytes = group[i].bytes();
    coming_.push_back({sampling_[i], false, bytes, std::move(group[i])});
    coming_bytes_ += bytes;
  }
}

void InMemoryPrefetcher::sample_ahead(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto has_work = [&] { return next_ && has_room(); };
  while (changed_.wait(lock, stop, has_work) && !stop.stop_requested()) {
    const int64_t begun = begun_;
    try {
      sample_group(lock, stop);
    } catch (const std::exception&) {  // Readers of these blocks meet the same error and report it.
      if (!lock.owns_lock()) lock.lock();
      if (begun == begun_) next_.reset();
    }
    sampling_.clear();
    plan();
    changed_.notify_all();
  }
}

}  // namespace plimsoll
