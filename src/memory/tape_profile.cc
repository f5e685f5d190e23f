#include "memory/tape_profile.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace plimsoll {
namespace {

// The allocation or the freeing of a piece.
struct Change {
  size_t piece;
  bool taken;
};

std::vector<Change> changes_of(const Tape& tape) {
  std::vector<Change> changes(static_cast<size_t>(tape.events));
  for (size_t i = 0; i < tape.pieces.size(); ++i) {
    changes[static_cast<size_t>(tape.pieces[i].taken)] = {i, true};
    if (tape.pieces[i].given != Tape::kNever) changes[static_cast<size_t>(tape.pieces[i].given)] = {i, false};
  }
  return changes;
}

std::vector<std::pair<std::string, int64_t>> held_at(const Tape& tape, const std::vector<int64_t>& bytes,
                                                     int32_t event) {
  std::map<std::string, int64_t> sums;
  for (size_t i = 0; i < tape.pieces.size(); ++i)
    if (const Tape::Piece& piece = tape.pieces[i];
        piece.taken <= event && piece.given > event && bytes[i] > 0)
      sums[std::string(piece.module)] += bytes[i];
  std::vector<std::pair<std::string, int64_t>> held(sums.begin(), sums.end());
  std::ranges::stable_sort(held, std::greater<>(), &std::pair<std::string, int64_t>::second);
  return held;
}

void add_timeline(TapeProfile& profile, const Tape& tape, const std::vector<int64_t>& bytes, size_t points,
                  size_t max_modules) {
  for (const auto& [module, held] : profile.at_peak)
    if (profile.modules.size() < max_modules) profile.modules.push_back(module);
  profile.modules.emplace_back("others");
  const size_t others = profile.modules.size() - 1;
  const auto place_of = [&](std::string_view module) {
    const auto found = std::ranges::find(profile.modules, module);
    return std::min(static_cast<size_t>(found - profile.modules.begin()), others);
  };
  profile.series.resize(profile.modules.size());
  std::vector<int64_t> held(profile.modules.size(), 0);
  std::vector<int64_t> highest;
  int64_t max = -1;
  int32_t at = 0;
  const std::vector<Change> changes = changes_of(tape);
  const size_t stretch = std::max<size_t>((changes.size() + points - 1) / std::max<size_t>(points, 1), 1);
  for (size_t event = 0; event < changes.size(); ++event) {
    const Change& change = changes[event];
    held[place_of(tape.pieces[change.piece].module)] += (change.taken ? 1 : -1) * bytes[change.piece];
    if (const int64_t sum = std::accumulate(held.begin(), held.end(), int64_t{0}); sum > max) {
      max = sum;
      highest = held;
      at = static_cast<int32_t>(event);
    }
    if ((event + 1) % stretch != 0 && event + 1 != changes.size()) continue;
    profile.at.push_back(at);
    for (size_t m = 0; m < held.size(); ++m) profile.series[m].push_back(highest[m]);
    max = -1;
  }
}

}  // namespace

TapeProfile profile_tape(const Tape& tape, const std::vector<int64_t>& bytes, size_t points,
                         size_t max_modules) {
  TapeProfile profile;
  profile.events = tape.events;
  const Tape::Peak peak = peak_of(tape, bytes);
  if (peak.piece < 0) return profile;
  const Tape::Piece& last = tape.pieces[static_cast<size_t>(peak.piece)];
  profile.peak = peak.bytes;
  profile.operation = last.operation;
  profile.peak_event = last.taken;
  profile.at_peak = held_at(tape, bytes, last.taken);
  add_timeline(profile, tape, bytes, points, max_modules);
  return profile;
}

}  // namespace plimsoll
