#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace plimsoll {

/// Decompresses a stream with zlib's inflate. Its memory does not depend on the data (about 40 KiB, in the
/// ledger under Tag::ingest). Not thread-safe. Errors: BudgetExceeded.
class Inflater {
 public:
  enum class Wrapper : uint8_t { zlib, gzip };
  explicit Inflater(Wrapper wrapper);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  struct Step {
    size_t taken = 0;    ///< Bytes read from `in`.
    size_t given = 0;    ///< Bytes written to `out`.
    bool ended = false;  ///< Whether the compressed data ended. If so, call reset() before inflating more.
    const char* damage = nullptr;  ///< Description of damage in the data, or null.
  };
  /// Inflates until `in` is used up, `out` is full, the data ends or is damaged. At most 1 GiB of each is
  /// used in one call. After damage, call reset().
  Step run(std::span<const char> in, std::span<char> out);
  /// Prepares for another stream of data.
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
