#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace plimsoll {

/// zlib's inflate, piece by piece: memory does not depend on what is inflated (about 40 KiB, in the ledger
/// under Tag::ingest). Not thread-safe. Errors: BudgetExceeded.
class Inflater {
 public:
  enum class Wrapper : uint8_t { zlib, gzip };
  explicit Inflater(Wrapper wrapper);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  struct Step {
    size_t taken = 0;              ///< bytes of `in`
    size_t given = 0;              ///< bytes of `out`
    bool ended = false;            ///< the data ends here: reset() before more is inflated
    const char* damage = nullptr;  ///< what is wrong with the data, if anything is
  };
  /// Until `in` is used up, `out` is full or the data ends.
  Step run(std::span<const char> in, std::span<char> out);
  /// Other data follow.
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
