#include "sample/prefetcher.h"

#include <sys/resource.h>

#include <algorithm>

namespace plimsoll {
namespace {

// How often this thread has waited for the disk.
int64_t major_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_majflt;
}

}  // namespace

Prefetcher::Prefetcher(const BlockSource& source, std::span<const GraphShape> shapes, int64_t ahead)
    : source_(source), shapes_(shapes), ahead_(ahead) {
  if (ahead > 0) thread_ = std::jthread([this](const std::stop_token& stop) { read_ahead(stop); });
}

Prefetcher::~Prefetcher() = default;

void Prefetcher::expect(std::span<const int64_t> graphs) {
  if (ahead_ == 0) return;
  const std::lock_guard lock(mutex_);
  coming_.push_back({.graphs = graphs, .block = {}});
  changed_.notify_all();
}

void Prefetcher::forget() {
  std::unique_lock lock(mutex_);
  // The block that is being read stays where it is until it is there.
  changed_.wait(lock, [&] {
    return std::none_of(coming_.begin(), coming_.end(),
                        [](const Coming& coming) { return coming.state == State::reading; });
  });
  coming_.clear();
  spare_.clear();
  held_ = 0;
}

void Prefetcher::read(std::span<const int64_t> graphs, GraphBlock& block) {
  std::unique_lock lock(mutex_);
  const auto mine = std::find_if(coming_.begin(), coming_.end(), [&](const Coming& coming) {
    return coming.graphs.data() == graphs.data() && coming.graphs.size() == graphs.size();
  });
  if (mine != coming_.end()) {
    changed_.wait(lock, [&] { return mine->state != State::reading; });
    const bool ready = mine->state == State::ready;
    if (ready) {
      std::swap(block, mine->block);
      if (static_cast<int64_t>(spare_.size()) < ahead_) spare_.push_back(std::move(mine->block));
      --held_;
      ++hits_;
    }
    coming_.erase(mine);
    changed_.notify_all();
    if (ready) return;
  }
  lock.unlock();
  read_now(graphs, block);
}

int64_t Prefetcher::hits() const {
  const std::lock_guard lock(mutex_);
  return hits_;
}

void Prefetcher::read_now(std::span<const int64_t> graphs, GraphBlock& block) const {
  int64_t nodes = 0;
  int64_t edges = 0;
  for (const int64_t g : graphs) {
    nodes += shapes_[static_cast<size_t>(g)].nodes;
    edges += shapes_[static_cast<size_t>(g)].edges;
  }
  block.make_room(static_cast<int64_t>(graphs.size()), nodes, edges, source_.node_features(),
                  source_.edge_features());
  source_.read(graphs, block);
}

// Tells the system about the blocks behind those that are held. Called under the lock.
void Prefetcher::advise(std::list<Coming>::iterator from) {
  for (int64_t i = 0; i < 2 * ahead_ && from != coming_.end(); ++i, ++from) {
    if (from->advised) continue;
    source_.will_need(from->graphs);
    from->advised = true;
  }
}

void Prefetcher::read_ahead(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  bool cold = false;  // the last block had to be waited for
  for (;;) {
    auto next = coming_.end();
    const bool go = changed_.wait(lock, stop, [&] {
      next = std::find_if(coming_.begin(), coming_.end(),
                          [](const Coming& coming) { return coming.state == State::expected; });
      return held_ < ahead_ && next != coming_.end();
    });
    if (!go) return;
    if (cold) advise(next);
    next->state = State::reading;
    ++held_;
    GraphBlock block;
    if (!spare_.empty()) {
      block = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    const int64_t faults = major_faults();
    bool done = true;
    try {
      read_now(next->graphs, block);
    } catch (const std::exception&) {
      done = false;
    }
    cold = major_faults() > faults;
    lock.lock();
    next->state = done ? State::ready : State::failed;
    if (done) {
      next->block = std::move(block);
    } else {
      --held_;
      spare_.clear();  // memory is short, or soon will be
    }
    changed_.notify_all();
  }
}

}  // namespace plimsoll
