#include "memory/tape_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace plimsoll {
namespace {

// Solves rows x coefficients = values for several right-hand sides. Rows and columns that depend on others
// are left out; their coefficients are 0.
class AffineSolver {
 public:
  explicit AffineSolver(std::span<const Terms> rows) : rows_(rows), columns_(rows.front().size()) {
    std::vector<std::vector<double>> left;
    for (const Terms& row : rows) left.emplace_back(row.begin(), row.end());
    std::vector<bool> used(left.size(), false);
    for (size_t column = 0; column < columns_; ++column) {
      size_t pivot = left.size();
      for (size_t r = 0; r < left.size(); ++r)
        if (!used[r] && (pivot == left.size() || std::abs(left[r][column]) > std::abs(left[pivot][column])))
          pivot = r;
      if (pivot == left.size() || std::abs(left[pivot][column]) < 1e-6) continue;
      used[pivot] = true;
      Step step{column, pivot, left[pivot], std::vector<double>(left.size(), 0)};
      for (size_t r = 0; r < left.size(); ++r) {
        if (used[r]) continue;
        step.factor[r] = left[r][column] / left[pivot][column];
        for (size_t c = column; c < columns_; ++c) left[r][c] -= step.factor[r] * left[pivot][c];
      }
      steps_.push_back(std::move(step));
    }
  }

  // Returns coefficients whose constant is raised until no value is underestimated. *residual is the maximum
  // error before the constant is raised.
  std::vector<double> solve(std::vector<double> values, double* residual) const {
    const std::vector<double> given = values;
    std::vector<double> found(columns_, 0.0);
    for (const Step& step : steps_)
      for (size_t r = 0; r < values.size(); ++r) values[r] -= step.factor[r] * values[step.row];
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      double rest = values[step->row];
      for (size_t c = step->column + 1; c < columns_; ++c) rest -= step->pivot[c] * found[c];
      found[step->column] = rest / step->pivot[step->column];
    }
    for (double& coefficient : found)
      if (std::abs(coefficient - std::round(coefficient)) < 1e-6) coefficient = std::round(coefficient);
    double under = 0;
    *residual = 0;
    for (size_t r = 0; r < given.size(); ++r) {
      double estimate = 0;
      for (size_t c = 0; c < columns_; ++c) estimate += found[c] * static_cast<double>(rows_[r][c]);
      under = std::max(under, given[r] - estimate);
      *residual = std::max(*residual, std::abs(given[r] - estimate));
    }
    if (under >= 0.5) found[0] += std::ceil(under);
    return found;
  }

 private:
  struct Step {
    size_t column, row;
    std::vector<double> pivot;   // The pivot row at this step.
    std::vector<double> factor;  // Multiples of it subtracted from the other rows.
  };
  std::span<const Terms> rows_;
  size_t columns_;
  std::vector<Step> steps_;
};

// Returns the first position at which two tapes differ in their sequence.
std::optional<size_t> first_difference(const Tape& a, const Tape& b) {
  for (size_t i = 0; i < std::min(a.pieces.size(), b.pieces.size()); ++i) {
    const Tape::Piece& p = a.pieces[i];
    const Tape::Piece& q = b.pieces[i];
    if (p.taken != q.taken || p.given != q.given || p.workspace != q.workspace || p.operation != q.operation)
      return i;
  }
  if (a.pieces.size() != b.pieces.size()) return std::min(a.pieces.size(), b.pieces.size());
  return std::nullopt;
}

double sum_of(const double* coefficients, const Terms& terms) {
  double sum = 0;
  for (size_t t = 0; t < terms.size(); ++t) sum += coefficients[t] * static_cast<double>(terms[t]);
  return sum;
}

int64_t whole(double bytes) {
  return std::max<int64_t>(std::llround(bytes), 0);
}

}  // namespace

TapeModel::TapeModel(std::span<const Tape> tapes, std::span<const Terms> terms, const AllocationSizes& rooms)
    : rooms_(rooms) {
  if (tapes.empty() || tapes.size() != terms.size()) throw UsageError("a tape's model needs probes");
  tape_ = tapes.front();
  terms_ = terms.front().size();
  for (size_t i = 1; i < tapes.size() && same_sequence_; ++i) {
    const auto at = first_difference(tape_, tapes[i]);
    if (!at) continue;
    same_sequence_ = false;
    const Tape& longer = *at < tape_.pieces.size() ? tape_ : tapes[i];
    difference_ =
        fmt::format("the allocations of {} depend on the data, not only on counts",
                    longer.pieces[*at].operation.empty() ? "an operation" : longer.pieces[*at].operation);
  }
  if (same_sequence_) fit(tapes, terms);
  fit_envelope(tapes, terms);
}

void TapeModel::fit(std::span<const Tape> tapes, std::span<const Terms> terms) {
  const AffineSolver solver(terms);
  const auto values = [&](size_t piece, auto field) {
    std::vector<double> list;
    for (const Tape& tape : tapes) list.push_back(static_cast<double>(field(tape.pieces[piece])));
    return list;
  };
  for (size_t i = 0; i < tape_.pieces.size(); ++i) {
    double residual = 0;
    double ignored = 0;
    auto bytes = solver.solve(values(i, [](const Tape::Piece& p) { return p.bytes; }), &residual);
    auto pieces = solver.solve(values(i, [](const Tape::Piece& p) { return p.pieces; }), &ignored);
    if (residual >= 0.5 && difference_.empty())
      difference_ =
          fmt::format("the allocations of {} are not an affine function of counts",
                      tape_.pieces[i].operation.empty() ? "an operation" : tape_.pieces[i].operation);
    if (tape_.pieces[i].workspace) {
      // Places in a workspace are those of Packing. The bytes lost beyond a fixed sum per piece are added.
      const auto lost = static_cast<double>(lost_per_piece());
      double missing = 0;
      for (size_t p = 0; p < tapes.size(); ++p)
        missing =
            std::max(missing, static_cast<double>(tapes[p].pieces[i].room) -
                                  (sum_of(bytes.data(), terms[p]) + lost * sum_of(pieces.data(), terms[p])));
      pieces[0] += std::ceil(missing / lost);
    }
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  }
}

// Fits non-negative coefficients whose result is never below the bytes that a probe used in ranges without a
// plan. envelope() adds a quarter.
void TapeModel::fit_envelope(std::span<const Tape> tapes, std::span<const Terms> terms) {
  std::vector<double> high;
  for (const Tape& tape : tapes) {
    const int64_t more = std::ssize(tape.pieces) * (rooms_.alignment - Packing::kAlignment);
    high.push_back(static_cast<double>(packed_as_they_come(tape) + more));
  }
  double residual = 0;
  envelope_ = AffineSolver(terms).solve(high, &residual);
  for (size_t t = 1; t < envelope_.size(); ++t) envelope_[t] = std::max(envelope_[t], 0.0);
  double under = 0;
  for (size_t p = 0; p < terms.size(); ++p)
    under = std::max(under, high[p] - sum_of(envelope_.data(), terms[p]));
  envelope_[0] = std::max(envelope_[0] + under, 0.0);
}

std::vector<int64_t> TapeModel::sizes(const Terms& terms) const {
  std::vector<int64_t> bytes(tape_.pieces.size());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = whole(sum_of(&bytes_[i * terms_], terms));
  return bytes;
}

int64_t TapeModel::room_of(size_t piece, double bytes, double pieces) const {
  const int64_t asked = whole(bytes);
  if (tape_.pieces[piece].workspace)
    return round_up(asked + whole(static_cast<double>(lost_per_piece()) * pieces));
  return asked == 0 ? 0 : round_up(asked + rooms_.header);
}

void TapeModel::rooms(const Terms& terms, std::span<PlannedAllocation> pieces) const {
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].workspace = tape_.pieces[i].workspace;
    pieces[i].bytes = room_of(i, sum_of(&bytes_[i * terms_], terms),
                              pieces[i].workspace ? sum_of(&pieces_[i * terms_], terms) : 0);
  }
}

void TapeModel::highest_rooms(const Terms& lowest, const Terms& highest,
                              std::span<PlannedAllocation> pieces) const {
  const auto max = [&](const double* coefficients) {
    double sum = 0;
    for (size_t t = 0; t < terms_; ++t)
      sum += coefficients[t] * static_cast<double>(coefficients[t] > 0 ? highest[t] : lowest[t]);
    return sum;
  };
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].workspace = tape_.pieces[i].workspace;
    pieces[i].bytes = room_of(i, max(&bytes_[i * terms_]), max(&pieces_[i * terms_]));
  }
}

int64_t TapeModel::envelope(const Terms& terms) const {
  const int64_t seen = whole(sum_of(envelope_.data(), terms));
  return round_up(seen + seen / 4);
}

Tape::Peak TapeModel::peak(const Terms& terms) const {
  return peak_of(tape_, sizes(terms));
}

}  // namespace plimsoll
