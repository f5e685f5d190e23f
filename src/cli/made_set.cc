#include "cli/made_set.h"

#include <fmt/format.h>

#include "base/units.h"

namespace plimsoll {

void print_made(const MadeSet& made, double seconds, Budget& budget, bool json) {
  const std::string out = made.out.string();
  if (json) {
    Json summary = {{"out", out}, {"already_there", made.already_there}};
    summary.update(made.counts);
    summary["seconds"] = seconds;
    summary["memory"] = budget.report_json();
    print_json(summary);
    return;
  }
  fmt::print("{}: {}\n", out, made.text);
  if (made.already_there) {
    fmt::print("already there, made from the same {}: nothing done\n", made.from);
    return;
  }
  fmt::print("{}{}\n{}\n", made.remarks, made.took, budget.report());
}

std::string format_rate(int64_t count, double seconds, const char* unit) {
  return fmt::format("{} {}/s", format_count(static_cast<int64_t>(static_cast<double>(count) / seconds)),
                     unit);
}

}  // namespace plimsoll
