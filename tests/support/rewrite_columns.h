#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "support/write_bytes.h"

namespace plimsoll {

/// Gives the columns of a data set other file names and headers of 128 bytes, as other programs write them.
inline void rewrite_columns(const std::filesystem::path& folder) {
  constexpr size_t kLong = 4096, kShort = 128;
  Json manifest = parse_json(read_bytes(folder / "manifest.json"));
  for (auto& [name, column] : manifest["columns"].items()) {
    const std::string old = column["file"];
    std::string bytes = read_bytes(folder / old);
    std::filesystem::remove(folder / old);
    bytes.replace(kShort - 1, kLong - kShort, "");
    bytes[8] = static_cast<char>(kShort - 10);
    bytes[9] = 0;
    column["file"] = "of-" + old;
    write_bytes(folder / ("of-" + old), bytes);
  }
  write_bytes(folder / "manifest.json", manifest.dump());
}

}  // namespace plimsoll
