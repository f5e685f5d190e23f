#include "can/dbc/dbc_multiplexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "can/dbc/dbc_numbers.h"
#include "memory/heap_bytes.h"

namespace plimsoll {
namespace {

constexpr int kMaxDepth = 8;  // Maximum nesting of multiplexors.
constexpr const char* kLeftOut = "the signal is left out";

class Multiplexors {
 public:
  Multiplexors(DbcMessage& message, const std::vector<DbcRole>& roles,
               const std::vector<DbcMultiplexing>& lines, DbcRemarks& remarks, Charge& charge)
      : signals_(message.signals),
        roles_(roles),
        remarks_(remarks),
        charge_(charge),
        is_out_(signals_.size()) {
    if (!lines.empty())
      for (size_t s = 0; s < signals_.size(); ++s) {
        of_maps_.add(kMapEntryBytes<decltype(places_)> + heap_bytes(signals_[s].name));
        places_.try_emplace(signals_[s].name, s);
      }
    for (const DbcMultiplexing& line : lines) {
      of_maps_.add(kMapEntryBytes<decltype(lines_)> + 2 * static_cast<int64_t>(sizeof(void*)) +
                   heap_bytes(line.signal));
      lines_[line.signal].push_back(&line);
    }
    find_multiplexors(lines);
  }

  void set_all() {
    for (size_t s = 0; s < signals_.size(); ++s) {
      const auto found = lines_.find(signals_[s].name);
      if (found != lines_.end())
        set_by_line(s, line_of(s, found->second));
      else if (roles_[s].is_multiplexed)
        set_by_role(s);
    }
    for (size_t s = 0; s < signals_.size(); ++s) check_depth(s);
    remove_left_out();
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  // A signal that is named as a multiplexor in another line is a multiplexor, whatever its own line says.
  void find_multiplexors(const std::vector<DbcMultiplexing>& lines) {
    is_multiplexor_.resize(signals_.size());
    for (size_t s = 0; s < signals_.size(); ++s) is_multiplexor_[s] = roles_[s].is_multiplexor;
    for (const DbcMultiplexing& line : lines)
      if (const auto place = places_.find(line.multiplexor); place != places_.end())
        is_multiplexor_[place->second] = true;
    for (size_t s = 0; s < signals_.size(); ++s) {
      if (!is_multiplexor_[s]) continue;
      only_ = count_++ == 0 ? s : kNone;
      if (!roles_[s].is_multiplexed) top_ = tops_++ == 0 ? s : kNone;
    }
  }

  // Two signals may have the same name. Uses the line that holds the signal's own value, else the last line.
  const DbcMultiplexing& line_of(size_t s, const std::vector<const DbcMultiplexing*>& lines) const {
    const std::optional<int64_t> own = roles_[s].value;
    const auto has_own = [&](const DbcMultiplexing* line) {
      return std::ranges::any_of(line->multiplexor_values,
                                 [&](const DbcRange& r) { return own && *own >= r.first && *own <= r.last; });
    };
    const auto found = std::ranges::find_if(lines, has_own);
    return found == lines.end() ? *lines.back() : **found;
  }

  void set_by_line(size_t s, const DbcMultiplexing& line) {
    const auto place = places_.find(line.multiplexor);
    if (place == places_.end())
      return leave_out(s, fmt::format("a signal of the message as the multiplexor in line {}", line.line));
    if (line.multiplexor_values.empty()) {  // The line already has a remark.
      is_out_[s] = true;
      return;
    }
    set(s, place->second, line.multiplexor_values);
    if (count_ == 1 && roles_[s].value)
      signals_[s].multiplexor_values.push_back({*roles_[s].value, *roles_[s].value});
  }

  void set_by_role(size_t s) {
    const DbcRole& role = roles_[s];
    const bool has_others = count_ > (is_multiplexor_[s] ? 1 : 0);
    if (!has_others) {
      if (!std::exchange(reported_, true))
        remark(s, "M, the multiplexor of m0, m1 and so on", "read as a signal of every frame");
    } else if (!role.value) {
      leave_out(s, "a number after the m of a multiplexed signal");
    } else if (const size_t parent = count_ == 1 ? only_ : top_; parent != kNone && parent != s) {
      set(s, parent, {{*role.value, *role.value}});
      if (count_ > 1)
        remark(s, "a line SG_MUL_VAL_ that names one of several multiplexors",
               fmt::format("read as multiplexed by {}", signals_[parent].name));
    } else {
      leave_out(s, "a line SG_MUL_VAL_ that names one of several multiplexors");
    }
  }

  void set(size_t s, size_t parent, std::vector<DbcRange> multiplexor_values) {
    charge_.add(heap_piece((multiplexor_values.size() + 1) * sizeof(DbcRange)));
    signals_[s].multiplexor = static_cast<int>(parent);
    signals_[s].multiplexor_values = std::move(multiplexor_values);
  }

  void check_depth(size_t s) {
    int depth = 0;
    for (int m = signals_[s].multiplexor; m >= 0 && !is_out_[s];
         m = signals_[static_cast<size_t>(m)].multiplexor) {
      if (++depth > kMaxDepth) return leave_out(s, "multiplexors that do not depend on each other");
      if (is_out_[static_cast<size_t>(m)]) return leave_out(s, "a multiplexor that can be read");
    }
  }

  void remark(size_t s, std::string expected, std::string done) {
    remarks_.add(roles_[s].line, roles_[s].whole, std::move(expected), std::move(done));
  }
  void leave_out(size_t s, std::string expected) {
    is_out_[s] = true;
    remark(s, std::move(expected), kLeftOut);
  }

  void remove_left_out() {
    if (std::ranges::find(is_out_, true) == is_out_.end()) return;
    std::vector<int> places(signals_.size());
    size_t kept = 0;
    for (size_t s = 0; s < signals_.size(); ++s) {
      places[s] = static_cast<int>(kept);
      if (is_out_[s]) continue;
      if (kept != s) signals_[kept] = std::move(signals_[s]);
      ++kept;
    }
    signals_.resize(kept);
    for (DbcSignal& signal : signals_)
      if (signal.multiplexor >= 0) signal.multiplexor = places[static_cast<size_t>(signal.multiplexor)];
  }

  std::vector<DbcSignal>& signals_;
  const std::vector<DbcRole>& roles_;
  DbcRemarks& remarks_;
  Charge& charge_;  // Memory of the message.
  Charge of_maps_{Tag::ingest};
  std::vector<bool> is_out_;
  std::vector<bool> is_multiplexor_;
  std::map<std::string, size_t> places_;  // Indices of signals by name. Empty if there are no lines.
  std::map<std::string, std::vector<const DbcMultiplexing*>> lines_;
  int count_ = 0;          // Number of multiplexors.
  size_t only_ = kNone;    // The only multiplexor, if there is exactly one.
  int tops_ = 0;           // Number of multiplexors that are not multiplexed themselves.
  size_t top_ = kNone;     // The only such multiplexor, if there is exactly one.
  bool reported_ = false;  // Whether the missing multiplexor was reported.
};

}  // namespace

void set_multiplexors(DbcMessage& message, const std::vector<DbcRole>& roles,
                      const std::vector<DbcMultiplexing>& lines, DbcRemarks& remarks, Charge& charge) {
  const auto is_multiplexed = [](const DbcRole& role) { return role.is_multiplexed; };
  if (!lines.empty() || std::ranges::any_of(roles, is_multiplexed))
    Multiplexors(message, roles, lines, remarks, charge).set_all();
}

}  // namespace plimsoll
