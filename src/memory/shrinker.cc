#include "memory/shrinker.h"

#include <unistd.h>

#include <map>
#include <utility>

#include "base/mutex.h"

namespace plimsoll {
namespace {

struct Shrinkers {
  const pid_t process = getpid();
  Mutex mutex;
  std::map<const Shrinker*, std::function<void()>> all PLIMSOLL_GUARDED_BY(mutex);
};

Shrinkers& shrinkers() {
  static auto& registered = *new Shrinkers;  // Never destroyed: tensors are made until the process ends.
  return registered;
}

}  // namespace

Shrinker::Shrinker(std::function<void()> give_up) {
  const MutexLock lock(shrinkers().mutex);
  shrinkers().all.emplace(this, std::move(give_up));
}

Shrinker::~Shrinker() {
  const MutexLock lock(shrinkers().mutex);
  shrinkers().all.erase(this);
}

bool Shrinker::ask() {
  Shrinkers& registered = shrinkers();
  // A child of fork() has no thread that would unlock a mutex locked during the fork.
  if (getpid() == registered.process)
    registered.mutex.lock();
  else if (!registered.mutex.try_lock())
    return false;
  const MutexLock lock(registered.mutex, std::adopt_lock);
  if (registered.all.empty()) return false;
  for (const auto& [shrinker, give_up] : registered.all) give_up();
  return true;
}

}  // namespace plimsoll
