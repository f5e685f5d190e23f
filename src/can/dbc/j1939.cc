#include "can/dbc/j1939.h"

#include <algorithm>
#include <array>
#include <utility>

namespace plimsoll {
namespace {

using NamedGroup = std::pair<uint32_t, std::string_view>;

// Groups sorted by number. Sources: SAE J1939-21 (data link layer), J1939-81 (network management), J1939-73
// (diagnostics).
constexpr std::array<NamedGroup, 23> kGroups = {{{37632, "NAME Management"},
                                                 {50944, "ETP.DT"},
                                                 {51200, "ETP.CM"},
                                                 {51456, "Request2"},
                                                 {51712, "Transfer"},
                                                 {57088, "DM13"},
                                                 {58112, "DM7"},
                                                 {59392, "Acknowledgment"},
                                                 {59904, "Request"},
                                                 {60160, "TP.DT"},
                                                 {60416, "TP.CM"},
                                                 {60928, "Address Claimed"},
                                                 {61184, "Proprietary A"},
                                                 {65226, "DM1"},
                                                 {65227, "DM2"},
                                                 {65228, "DM3"},
                                                 {65229, "DM4"},
                                                 {65230, "DM5"},
                                                 {65231, "DM6"},
                                                 {65235, "DM11"},
                                                 {65236, "DM12"},
                                                 {65240, "Commanded Address"},
                                                 {126720, "Proprietary A2"}}};

}  // namespace

std::string_view j1939_group_name(uint32_t pgn) {
  const auto found = std::ranges::find(kGroups, pgn, &NamedGroup::first);
  return found == kGroups.end() ? std::string_view() : found->second;
}

}  // namespace plimsoll
