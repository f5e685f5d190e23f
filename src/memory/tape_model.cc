#include "memory/tape_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace plimsoll {
namespace {

// Solves rows x coefficients = values for several right-hand sides. Rows and columns that depend on others
// are left out; their coefficients are 0.
class AffineSolver {
  using Row = Vector<double, Tag::columns>;

 public:
  explicit AffineSolver(std::span<const Terms> rows) : rows_(rows), columns_(rows.front().size()) {
    std::vector<Row> left;
    for (const Terms& row : rows) left.emplace_back(row.begin(), row.end());
    std::vector<bool> used(left.size(), false);
    for (size_t column = 0; column < columns_; ++column) {
      size_t pivot = left.size();
      for (size_t r = 0; r < left.size(); ++r)
        if (!used[r] && (pivot == left.size() || std::abs(left[r][column]) > std::abs(left[pivot][column])))
          pivot = r;
      if (pivot == left.size() || std::abs(left[pivot][column]) < 1e-6) continue;
      used[pivot] = true;
      Step step{column, pivot, left[pivot], Row(left.size(), 0.0)};
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
    Row pivot;   // The pivot row at this step.
    Row factor;  // Multiples of it subtracted from the other rows.
  };
  std::span<const Terms> rows_;
  size_t columns_;
  std::vector<Step> steps_;
};

double sum_of(const double* coefficients, const Terms& terms) {
  double sum = 0;
  for (size_t t = 0; t < terms.size(); ++t) sum += coefficients[t] * static_cast<double>(terms[t]);
  return sum;
}

int64_t whole(double bytes) {
  return std::max<int64_t>(std::llround(bytes), 0);
}

}  // namespace

TapeModel::TapeModel(const TapeProbes& probes)
    : rooms_(probes.rooms()),
      tape_(probes.first()),
      same_sequence_(probes.difference().empty()),
      difference_(probes.difference()) {
  if (probes.empty()) throw UsageError("a tape's model needs probes");
  if (same_sequence_) fit(probes);
  fit_envelope(probes);
}

void TapeModel::fit(const TapeProbes& probes) {
  const std::vector<Terms>& terms = probes.terms();
  const AffineSolver solver(terms);
  const auto values = [&](const auto& size_of) {
    std::vector<double> list;
    for (const TapeProbes::Sizes& sizes : probes.sizes()) list.push_back(static_cast<double>(size_of(sizes)));
    return list;
  };
  size_t workspaces = 0;
  for (size_t i = 0; i < tape_.pieces.size(); ++i) {
    double residual = 0;
    const auto bytes = solver.solve(values([&](const auto& sizes) { return sizes.bytes[i]; }), &residual);
    if (residual >= 0.5 && difference_.empty())
      difference_ =
          fmt::format("the allocations of {} are not an affine function of counts",
                      tape_.pieces[i].operation.empty() ? "an operation" : tape_.pieces[i].operation);
    bytes_.add(bytes);
    if (!tape_.pieces[i].workspace) {
      pieces_.add({});
      continue;
    }
    const size_t at = 2 * workspaces++;
    double ignored = 0;
    auto pieces = solver.solve(values([&](const auto& sizes) { return sizes.workspace[at]; }), &ignored);
    // Places in a workspace are those of Packing. The bytes lost beyond a fixed sum per piece are added.
    const auto lost = static_cast<double>(lost_per_piece());
    double missing = 0;
    for (size_t p = 0; p < terms.size(); ++p)
      missing =
          std::max(missing, static_cast<double>(probes.sizes()[p].workspace[at + 1]) -
                                (sum_of(bytes.data(), terms[p]) + lost * sum_of(pieces.data(), terms[p])));
    pieces[0] += std::ceil(missing / lost);
    pieces_.add(pieces);
  }
}

// Fits non-negative coefficients whose result is never below the bytes that a probe used in ranges without a
// plan. envelope() adds a quarter.
void TapeModel::fit_envelope(const TapeProbes& probes) {
  const std::vector<Terms>& terms = probes.terms();
  std::vector<double> high;
  for (const TapeProbes::Sizes& sizes : probes.sizes())
    high.push_back(static_cast<double>(sizes.as_they_come));
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
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = whole(bytes_.at(i, terms));
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
    pieces[i].bytes = room_of(i, bytes_.at(i, terms), pieces_.at(i, terms));
  }
}

void TapeModel::highest_rooms(const Terms& lowest, const Terms& highest,
                              std::span<PlannedAllocation> pieces) const {
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].workspace = tape_.pieces[i].workspace;
    pieces[i].bytes =
        room_of(i, bytes_.max_within(i, lowest, highest), pieces_.max_within(i, lowest, highest));
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
