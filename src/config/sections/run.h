#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/words.h"
#include "config/checks.h"

namespace plimsoll {

/// Steps of each stage to skip, warm up and trace, as in torch.profiler.schedule. None are traced if `active`
/// is 0.
struct ProfileSection {
  int64_t wait = 1;
  int64_t warmup = 1;
  int64_t active = 0;
  bool operators = false;  ///< Also trace torch's operators, which costs additional time.
};

/// Where a table of learned embeddings is stored: in memory, or in a file, with some of its rows in memory.
/// `automatic` keeps it in memory if it fits the budget.
enum class EmbeddingPlace : uint8_t { automatic, memory, disk };
template <>
inline constexpr auto kWords<EmbeddingPlace> = std::to_array<std::string_view>({"auto", "memory", "disk"});

/// How a run is monitored, and where it keeps its state. It does not change the result, so it is not part of
/// the run's identity.
struct RunSection {
  EmbeddingPlace embeddings = EmbeddingPlace::automatic;
  std::vector<std::string> trackers = {};  ///< "tensorboard", "tensorboard:DIR", "mlflow" or "mlflow:URI".
  ProfileSection profile;
};

/// Lists all keys except those of the profile.
template <EitherOf<RunSection> Section, typename Visit>
void visit_keys(Section& run, Visit&& visit) {
  visit("embeddings", run.embeddings, Choice<EmbeddingPlace>{});
  visit("trackers", run.trackers, Names{});
}

template <EitherOf<ProfileSection> Section, typename Visit>
void visit_keys(Section& profile, Visit&& visit) {
  visit("wait", profile.wait, Range{0, 1e9});
  visit("warmup", profile.warmup, Range{0, 1e9});
  visit("active", profile.active, Range{0, 1e9});
  visit("operators", profile.operators, Flag{});
}

}  // namespace plimsoll
