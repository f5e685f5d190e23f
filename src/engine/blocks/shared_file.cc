#include "engine/blocks/shared_file.h"

#include <fmt/format.h>

#include <thread>

#include "base/interrupt.h"
#include "io/file_system.h"

namespace plimsoll {

void wait_until_seen(const std::filesystem::path& path, const std::function<bool()>& look,
                     std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds kPause{50};
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!look()) {
    if (interrupt_requested) throw Interrupted("interrupted while waiting for " + path.string());
    if (std::chrono::steady_clock::now() >= end)
      throw Failure(
          fmt::format("{}: rank 0 wrote this file, but this machine does not see it after {:g} s; put the "
                      "folder of the run "
                      "on a disk that all ranks share",
                      path.string(), std::chrono::duration<double>(limit).count()));
    std::this_thread::sleep_for(kPause);
    FileSystem::disk().names_in(path.parent_path());
  }
}

bool is_there_for_ranks(Exchange* exchange, const std::filesystem::path& path) {
  const auto look = [&] { return FileSystem::disk().exists(path) ? std::optional(true) : std::nullopt; };
  return look_on_ranks(exchange, path, look).has_value();
}

}  // namespace plimsoll
