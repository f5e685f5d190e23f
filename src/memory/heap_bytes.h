#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "memory/charge.h"

namespace plimsoll {

/// Returns the bytes that malloc uses for an allocation, as glibc rounds it.
inline int64_t heap_piece(size_t bytes) {
  return bytes == 0 ? 0 : std::max<int64_t>(32, static_cast<int64_t>((bytes + 8 + 15) / 16 * 16));
}

/// Returns the bytes that an object holds on the heap, without the object itself.
inline int64_t heap_bytes(const std::string& text) {
  constexpr size_t kWithin = 15;  // Characters stored in the string object itself.
  return text.capacity() <= kWithin ? 0 : heap_piece(text.capacity() + 1);
}
int64_t heap_bytes(const std::filesystem::path& path);
int64_t heap_bytes(const Json& json);

/// Does the same as parse_json() of base/json.h and adds the tree's bytes to `charge` as the tree grows. On
/// return, `charge` has grown by at most the size of the tree. Errors: BudgetExceeded; `charge` then keeps
/// the bytes of the part that was parsed.
Json parse_json(std::string_view text, Charge& charge);

/// Collects rows of a table for a manifest and enters them in the ledger. Not thread-safe. Errors:
/// BudgetExceeded.
class JsonTable {
 public:
  void push_back(Json row) {
    // The array exists twice while it grows.
    charge_.add(heap_bytes(row) + 3 * static_cast<int64_t>(sizeof(Json)));
    rows_.push_back(std::move(row));
  }
  /// Returns the rows; call it once. Their bytes stay in the ledger as long as this object lives.
  Json take() { return std::move(rows_); }

 private:
  Charge charge_{Tag::columns};
  Json rows_ = Json::array();
};

}  // namespace plimsoll
