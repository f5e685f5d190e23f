#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace plimsoll {

/// A system of linear equations modulo 2^bits, where bits is 1 to 8: sum of coefficient * value = result.
/// Equations are added one at a time. They are stored as rows whose first entries are powers of two (Howell,
/// "Spans in the module (Z_m)^s", Linear and Multilinear Algebra 19, 1986), so that all consequences of the
/// equations are known in constant memory. Not thread-safe.
class ResidueSystem {
 public:
  static constexpr int kMaxUnknowns = 16;
  /// The values in one equation, indexed by unknown. Entries after the last unknown are 0.
  using Row = std::array<uint8_t, kMaxUnknowns>;

  /// Relation of an equation to those before it.
  enum class Kind : uint8_t { news, follows, contradicts };

  explicit ResidueSystem(int bits) : mask_(static_cast<uint8_t>((1U << bits) - 1)), bits_(bits) {}

  /// Adds an equation. After a contradiction, every further equation is a contradiction.
  Kind add(const Row& values, uint8_t result);
  bool solvable() const { return solvable_; }
  /// The coefficient of an unknown; none if the equations leave it open. The system must be solvable.
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
  // Indexed by the position of the line's first entry; that entry is 0 if there is no line.
  std::array<Line, kMaxUnknowns> lines_{};
};

}  // namespace plimsoll
