#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace plimsoll {

class OrderedRun;

/// The turn of one item in Workers::run_ordered() or run_stream().
class Turn {
 public:
  /// Returns when all earlier items are done. Code after the call runs in the order of the items, one item at
  /// a time. An item that never calls it is done when its turn comes after its work has returned. Throws
  /// Stopped when an earlier item failed, to unwind this one; do not catch it.
  void wait();
  struct Stopped {};

  /// Index of the thread that works on this item, 0 .. threads()-1. It can index scratch memory.
  int worker() const { return worker_; }

 private:
  friend class OrderedRun;
  Turn(OrderedRun* run, int64_t item, int worker) : run_(run), item_(item), worker_(worker) {}
  OrderedRun* run_;
  int64_t item_;
  int worker_;
};

/// A fixed number of threads, including the caller's, that live as long as this object. It executes one run
/// at a time: two threads must not call run_ordered() or run_stream() at once, and the work of a run must not
/// start another run on the same Workers.
class Workers {
 public:
  /// Works on one item. Called from several threads at once.
  using Work = std::function<void(int64_t item, Turn& turn)>;

  /// Fetches item `item` for a worker. Returns false when there are no more items. Called in the order of the
  /// items, by one thread at a time.
  using Take = std::function<bool(int64_t item, int worker)>;

  /// Starts threads - 1 threads; none if `threads` is below 2. Errors: ThreadRefused.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const;

  /// Calls work(item, turn) for the items 0 .. items-1, which are taken in order.
  ///
  /// Code before turn.wait() runs at the same time as other items. Code after it runs in the order of the
  /// items. A thread finishes its item before it takes another, so at most threads() items are active. A sum,
  /// a file or a gradient written after turn.wait() is therefore the same for any number of threads.
  ///
  /// The first exception, in the order of the items, ends the run: no new item starts, earlier items finish,
  /// and later ones unwind at turn.wait(). The exception is then thrown to the caller.
  void run_ordered(int64_t items, const Work& work);

  /// Does the same for an unknown number of items. Each is fetched, in order, by the thread that works on it.
  /// An exception from `take` counts as an exception of the item that it should have fetched.
  void run_stream(const Take& take, const Work& work);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
