#include "io/lost_mapping.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace plimsoll {
namespace {

// An entry that a signal handler can read without a lock and that never moves. `path` is set last and cleared
// first.
struct Place {
  std::atomic<bool> taken{false};
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<char*> path{nullptr};
};
std::array<Place, 512> places;
static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<char*>::is_always_lock_free);

void say(const char* text) {
  const ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(ignored);
}

void on_lost_page(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  const char* path = "a file";
  bool found = false;
  for (const Place& place : places) {
    const char* const name = place.path.load();
    if (name == nullptr || at < place.begin.load() || at >= place.end.load()) continue;
    path = name;
    found = true;
  }
  if (!found && info->si_code != BUS_ADRERR) {  // Not a page of a file: behave as if there were no handler.
    std::signal(SIGBUS, SIG_DFL);
    return;
  }
  say("\nplimsoll: ");
  say(path);
  say(": can no longer be read: it was shortened while it was in use, or its disk fails; make the data set "
      "again (--force), then continue with --resume if there is a checkpoint\n");
  ::_exit(3);
}

}  // namespace

void report_lost_mappings() {
  struct sigaction action {};
  action.sa_sigaction = on_lost_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

MappingPlace::MappingPlace(const void* data, size_t bytes, const std::string& path) {
  for (size_t i = 0; i < places.size(); ++i) {
    Place& place = places[i];
    if (place.taken.exchange(true)) continue;
    place.begin = reinterpret_cast<uintptr_t>(data);
    place.end = reinterpret_cast<uintptr_t>(data) + bytes;
    place.path = ::strdup(path.c_str());
    place_ = static_cast<int>(i);
    return;
  }
}

MappingPlace& MappingPlace::operator=(MappingPlace&& other) noexcept {
  std::swap(place_, other.place_);
  return *this;
}

MappingPlace::~MappingPlace() {
  if (place_ < 0) return;
  Place& place = places[static_cast<size_t>(place_)];
  std::free(place.path.exchange(nullptr));
  place.taken = false;
}

}  // namespace plimsoll
