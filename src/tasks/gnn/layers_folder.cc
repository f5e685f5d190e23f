#include "tasks/gnn/layers_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/units.h"
#include "io/scratch_file.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// Returns why the folder cannot hold the files, or an empty text if it can.
std::string why_not(const fs::path& folder, int64_t bytes) {
  if (::access(folder.c_str(), W_OK) != 0) return std::strerror(errno);
  if (ScratchFile::is_in_memory(folder)) return "in memory (tmpfs)";
  const int64_t free = ScratchFile::free_bytes(folder);
  return free < bytes ? fmt::format("{} free", format_bytes(free)) : "";
}

}  // namespace

fs::path layers_folder(const RunFolder& run, int64_t bytes) {
  std::string reasons;
  const char* const given = std::getenv("TMPDIR");
  const std::array<fs::path, 3> places = {run.root, given != nullptr && *given != '\0' ? given : "/tmp",
                                          "/var/tmp"};
  for (const fs::path& place : places) {
    const std::string reason = why_not(place, bytes);
    if (reason.empty()) return place / (place == run.root ? "layers" : "plimsoll-layers");
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", place.string(), reason);
  }
  throw Failure(
      fmt::format("the outputs of layers for all nodes need {} of disk space, and no suitable folder was "
                  "found ({}); set TMPDIR to a folder on a disk with enough space",
                  format_bytes(bytes), reasons));
}

}  // namespace plimsoll
