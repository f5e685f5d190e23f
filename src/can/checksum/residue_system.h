#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace plimsoll {

/// Linear equations between numbers modulo 2^bits, bits 1 to 8, that come one after the other: sum of
/// coefficient * value = result. Held as rows whose first entries are powers of two (Howell, "Spans in the
/// module (Z_m)^s", Linear and Multilinear Algebra 19, 1986), so that what follows from all equations is
/// known however many came.
class ResidueSystem {
 public:
  static constexpr int kMaxUnknowns = 16;
  /// Of one equation, by unknown; those after the last unknown are 0.
  using Row = std::array<uint8_t, kMaxUnknowns>;

  /// What an equation is to those before it.
  enum class Kind : uint8_t { news, follows, contradicts };

  explicit ResidueSystem(int bits) : mask_(static_cast<uint8_t>((1U << bits) - 1)), bits_(bits) {}

  /// After one equation that contradicts, all further ones do.
  Kind add(const Row& values, uint8_t result);
  bool solvable() const { return solvable_; }
  /// The coefficient of an unknown; nothing where the equations leave it open.
  std::optional<uint8_t> coefficient(int unknown) const;

 private:
  struct Line {
    Row row{};
    uint8_t result = 0;
  };

  Kind reduce(Line line);
  void put(size_t at, const Line& line);
  void take(Line& from, const Line& line, uint8_t times) const;

  uint8_t mask_;
  int bits_;
  bool solvable_ = true;
  std::array<Line, kMaxUnknowns> lines_{};  // by their first entry; 0 there: none
};

}  // namespace plimsoll
