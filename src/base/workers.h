#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace plimsoll {

class OrderedRun;

/// The turn of one item in Workers::run_ordered.
class Turn {
 public:
  /// Returns when all items before this one are done: what follows happens in order, one item at a time.
  /// Throws Stopped when an earlier item failed, so that this one unwinds; let it pass.
  void wait();
  struct Stopped {};

  /// Which of the threads works on this item, 0 .. threads()-1: an index for scratch memory.
  int worker() const { return worker_; }

 private:
  friend class OrderedRun;
  Turn(OrderedRun* run, int64_t item, int worker) : run_(run), item_(item), worker_(worker) {}
  OrderedRun* run_;
  int64_t item_;
  int worker_;
};

/// A fixed number of threads, the caller's among them, that live as long as this object.
/// One run at a time; a run may not start another on the same Workers.
class Workers {
 public:
  /// Work on one item. Called from several threads at once.
  using Work = std::function<void(int64_t item, Turn& turn)>;

  /// Fetches item `item` for a worker; false when there is none. Called in the order of the items, one at a
  /// time.
  using Take = std::function<bool(int64_t item, int worker)>;

  /// Errors: ThreadRefused.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const;

  /// Runs work(item, turn) for the items 0 .. items-1, which are taken in order.
  ///
  /// What work does before turn.wait() runs at the same time as other items; what it does after happens in
  /// the order of the items. A thread ends its item before it takes another, so at most threads() items are
  /// alive. A sum, a file or a gradient written after turn.wait() is therefore the same for any number of
  /// threads.
  ///
  /// The first exception, in the order of the items, ends the run: no new item starts, earlier ones end,
  /// later ones unwind at turn.wait(), and then it is thrown to the caller.
  void run_ordered(int64_t items, const Work& work);

  /// The same for items whose number is not known: each is fetched, in order, by the thread that will work on
  /// it. An exception from `take` is that of the item it was asked for.
  void run_stream(const Take& take, const Work& work);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
