#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/location.h"

namespace plimsoll {

/// Memory that the client of an object store holds outside the ledger, beside libarrow's own; 3 MiB were
/// measured, and TLS adds to them.
inline constexpr int64_t kObjectClientBytes = int64_t{8} << 20;

/// What tells two contents of an object apart.
struct ObjectVersion {
  int64_t bytes = 0;
  std::string etag = {};

  bool operator==(const ObjectVersion&) const = default;
};

// Requests to an object store, through libarrow. They end when the user interrupts. Errors of all: InputError
// (no such bucket, no permission), Failure (network or server; this build has no Arrow), Interrupted,
// BudgetExceeded.

/// Describes an object; nothing if there is none.
std::optional<ObjectVersion> find_object(const Location& object);

/// Returns the paths of all objects below a folder, sorted.
std::vector<std::filesystem::path> list_objects(const Location& folder);

/// Returns the text of an object. Errors: also InputError for a missing object, or one of more than 16 MiB.
std::string read_object(const Location& object);

/// Throws the error that `text`, Arrow's description, says that a store has answered, with the remedy.
/// Returns if it says another thing, such as that a file is not Parquet.
void throw_if_store_failed(const std::string& name, const std::string& text);

}  // namespace plimsoll
