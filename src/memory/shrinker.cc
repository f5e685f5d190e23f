#include "memory/shrinker.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

namespace plimsoll {
namespace {

struct Shrinkers {
  const pid_t process = getpid();
  std::mutex mutex;
  std::map<const Shrinker*, std::function<void()>> all;  // Guarded by mutex.
};

Shrinkers& shrinkers() {
  static auto& registered = *new Shrinkers;  // Never destroyed: tensors are made until the process ends.
  return registered;
}

}  // namespace

Shrinker::Shrinker(std::function<void()> give_up) {
  const std::lock_guard lock(shrinkers().mutex);
  shrinkers().all.emplace(this, std::move(give_up));
}

Shrinker::~Shrinker() {
  const std::lock_guard lock(shrinkers().mutex);
  shrinkers().all.erase(this);
}

bool Shrinker::ask() {
  std::unique_lock lock(shrinkers().mutex, std::defer_lock);
  // A child of fork() has no thread that would unlock a mutex locked during the fork.
  if (getpid() == shrinkers().process)
    lock.lock();
  else if (!lock.try_lock())
    return false;
  if (shrinkers().all.empty()) return false;
  for (const auto& [shrinker, give_up] : shrinkers().all) give_up();
  return true;
}

}  // namespace plimsoll
