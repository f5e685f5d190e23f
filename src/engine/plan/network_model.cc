#include "engine/plan/network_model.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/number_text.h"

namespace plimsoll {
namespace {

// Messages of a step to each other rank: the record, a slice of the sum, and a slice of the parameters.
constexpr double kMessagesOfStep = 3;

// Removes a suffix and returns whether it was there.
bool drop_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

std::optional<double> factor_of(std::string_view& text) {
  if (drop_suffix(text, "K")) return 1e3;
  if (drop_suffix(text, "M")) return 1e6;
  if (drop_suffix(text, "G")) return 1e9;
  if (drop_suffix(text, "T")) return 1e12;
  return std::nullopt;
}

}  // namespace

double parse_link_speed(std::string_view text) {
  constexpr double kBitsOfByte = 8;
  std::string_view number = text;
  drop_suffix(number, "/s");
  if (drop_suffix(number, "b"))
    if (const auto factor = factor_of(number))
      if (const auto value = parse_number<double>(number); value && *value > 0 && *value * *factor < 1e18)
        return *value * *factor / kBitsOfByte;
  throw UsageError(
      fmt::format("--network: found '{}', expected bits per second, such as 25Gb, 400Mb/s or 1.5Gb", text));
}

RankSpeed estimate_rank_speed(const MemoryPlan& plan, const Network& network) {
  RankSpeed speed;
  speed.steps = plan.steps;
  const int others = plan.ranks - 1;
  speed.exchange_s = (kMessagesOfStep * others + (others > 0 ? plan.ranks : 0)) * network.message_s +
                     static_cast<double>(plan.bytes_sent) / network.bytes_per_s;
  if (plan.execution.graphs_per_s <= 0 || plan.steps == 0) return speed;
  const double graphs_of_step = static_cast<double>(plan.training_graphs) / static_cast<double>(plan.steps);
  speed.compute_s = graphs_of_step / plan.execution.graphs_per_s / plan.ranks;
  speed.graphs_per_s = graphs_of_step / (speed.compute_s + speed.exchange_s);
  speed.of_perfect = speed.compute_s / (speed.compute_s + speed.exchange_s);
  return speed;
}

}  // namespace plimsoll
