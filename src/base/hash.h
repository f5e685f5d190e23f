#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace plimsoll {

/// Computes the XXH3 hash of a stream of bytes. The stream may be added in any number of parts, and hex64()
/// and hex128() may be called after any of them. Not thread-safe.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void add(const void* data, size_t bytes);
  template <typename T>
  void add(std::span<const T> values) {
    add(values.data(), values.size_bytes());
  }

  /// Returns XXH3-64 of the bytes added so far as 16 hex digits: the checksum of a column or a source file.
  std::string hex64() const;
  /// Returns XXH3-128 of the bytes added so far as 32 hex digits. It identifies weights and the content of a
  /// recording.
  std::string hex128() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
