#include "sample/block/prefetcher.h"

#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/start_thread.h"

namespace plimsoll {
namespace {

// Number of times this thread has waited for the disk.
int64_t major_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_majflt;
}

}  // namespace

Prefetcher::Prefetcher(const BlockSource& source, const GraphShapes& shapes, int64_t ahead)
    : source_(source), shapes_(shapes), ahead_(ahead) {
  if (ahead > 0) thread_ = start_thread([this](const std::stop_token& stop) { read_ahead(stop); });
}

Prefetcher::~Prefetcher() = default;

std::span<const int64_t> Prefetcher::Announced::block(size_t b) const {
  return graphs.subspan(static_cast<size_t>(begins[b]), static_cast<size_t>(begins[b + 1] - begins[b]));
}

void Prefetcher::make_room(const BlockSize& largest) {
  const MutexLock lock(mutex_);
  largest_ = largest;
}

void Prefetcher::expect(std::span<const int64_t> graphs, GraphList begins) {
  if (ahead_ == 0) return;
  const MutexLock lock(mutex_);
  announced_.push_back({graphs, std::move(begins)});
  changed_.notify_all();
}

void Prefetcher::forget() {
  const MutexLock lock(mutex_);
  announced_.clear();
  // The graphs of a block that is being read must stay unchanged until the read is done.
  changed_.wait(mutex_, [&]() PLIMSOLL_REQUIRES(mutex_) {
    return !advising_ && std::none_of(reads_.begin(), reads_.end(),
                                      [](const BlockRead& read) { return read.state == State::reading; });
  });
  // Reuses the memory of these blocks. Otherwise the next blocks would allocate more memory on a heap whose
  // holes other allocations may fill in the meantime.
  try {
    for (BlockRead& read : reads_)
      if (read.state == State::ready && static_cast<int64_t>(spare_.size()) < ahead_)
        spare_.push_back(std::move(read.block));
  } catch (const std::bad_alloc&) {  // There is no memory to record the block, so it is freed.
  }
  reads_.clear();
}

void Prefetcher::drop() {
  forget();
  const MutexLock lock(mutex_);
  spare_.clear();
}

// Marks this block and those before it as taken: their readers have started already.
void Prefetcher::pass_over(std::span<const int64_t> graphs) {
  for (Announced& batch : announced_) {
    if (graphs.data() < batch.graphs.data() || graphs.data() >= batch.graphs.data() + batch.graphs.size())
      continue;
    const int64_t first = graphs.data() - batch.graphs.data();
    while (!batch.done() && batch.begins[batch.next] <= first) ++batch.next;
  }
  while (!announced_.empty() && announced_.front().done()) announced_.pop_front();
}

void Prefetcher::read(std::span<const int64_t> graphs, GraphBlock& block) {
  MutexLock lock(mutex_);
  const auto mine = std::find_if(reads_.begin(), reads_.end(), [&](const BlockRead& read) {
    return read.graphs.data() == graphs.data() && read.graphs.size() == graphs.size();
  });
  if (mine == reads_.end()) {
    pass_over(graphs);
  } else {
    changed_.wait(mutex_, [&] { return mine->state != State::reading; });
    std::list<BlockRead> taken;  // No other reader gets the block, even after an error.
    taken.splice(taken.begin(), reads_, mine);
    changed_.notify_all();
    if (mine->state == State::ready) {
      std::swap(block, mine->block);
      if (static_cast<int64_t>(spare_.size()) < ahead_) spare_.push_back(std::move(mine->block));
      return;
    }
  }
  lock.unlock();
  read_now(graphs, block);
}

void Prefetcher::on_read(std::function<void(const GraphBlock&)> on_read) {
  on_read_ = std::move(on_read);
}

void Prefetcher::trace(SpanSink* spans) {
  const MutexLock lock(mutex_);
  spans_ = spans;
}

void Prefetcher::read_now(std::span<const int64_t> graphs, GraphBlock& block) const {
  BlockSize size;
  for (const int64_t g : graphs) size.add(shapes_[g]);
  block.make_room(size, source_.room());
  source_.read(graphs, block);
}

// Tells the system about the next blocks, without the lock, because this may take time.
void Prefetcher::advise() {
  advising_ = true;
  try {
    std::vector<std::span<const int64_t>> next;
    for (const Announced& batch : announced_)
      for (size_t b = batch.next; b + 1 < batch.begins.size() && static_cast<int64_t>(next.size()) < ahead_;
           ++b)
        next.push_back(batch.block(b));
    const MutexUnlock unlocked(mutex_);
    for (const std::span<const int64_t> graphs : next) source_.will_need(graphs);
  } catch (const std::exception&) {  // Fewer blocks are then announced to the system.
  }
  advising_ = false;
  changed_.notify_all();
}

// Takes the next announced block. A caller that reads it finds it in reads_, or reads it itself.
std::list<Prefetcher::BlockRead> Prefetcher::take_next() {
  Announced& batch = announced_.front();
  const std::span<const int64_t> graphs = batch.block(batch.next);
  ++batch.next;
  if (batch.done()) announced_.pop_front();
  try {
    return {BlockRead{graphs, State::reading, {}}};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void Prefetcher::read_ahead(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  const auto has_work = [&]() PLIMSOLL_REQUIRES(mutex_) {
    return static_cast<int64_t>(reads_.size()) < ahead_ && !announced_.empty();
  };
  while (changed_.wait(mutex_, stop, has_work) && !stop.stop_requested()) {
    std::list<BlockRead> next = take_next();
    if (next.empty()) continue;
    const auto mine = next.begin();
    reads_.splice(reads_.end(), next);
    GraphBlock block;
    const bool is_new = spare_.empty();
    if (!is_new) {
      block = std::move(spare_.back());
      spare_.pop_back();
    }
    const BlockSize largest = largest_;
    lock.unlock();
    const auto start = SpanSink::Clock::now();
    const int64_t faults = major_faults();
    bool done = true;
    try {
      if (is_new) block.make_room(largest, source_.room());
      read_now(mine->graphs, block);
      if (on_read_) on_read_(block);
    } catch (const std::exception&) {
      done = false;
    }
    const bool cold = major_faults() > faults;  // The read had to wait for the disk.
    const auto end = SpanSink::Clock::now();
    lock.lock();
    if (spans_ != nullptr)
      spans_->span(SpanSink::kReader, "read ahead", start, end,
                   {block.graphs(), block.nodes(), block.edge_count()});
    mine->state = done ? State::ready : State::failed;
    if (done) {
      mine->block = std::move(block);
    } else {
      spare_.clear();  // Memory is or will soon be short.
    }
    changed_.notify_all();
    if (cold) advise();
  }
}

}  // namespace plimsoll
