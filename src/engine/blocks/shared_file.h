#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Maximum time for which a file that rank 0 has written may be invisible to another machine. After an NFS
/// client did not find a name, it looks the name up again after acdirmax, one minute by default.
inline constexpr std::chrono::milliseconds kSeenWithin{150'000};

/// Calls `look` until it returns true. Between two calls it lists the folder, which makes many NFS clients
/// ask the server again. Errors: Failure after `limit`, which names the file; Interrupted.
void wait_until_seen(const std::filesystem::path& path, const std::function<bool()>& look,
                     std::chrono::milliseconds limit);

/// Looks for a file that rank 0 has written; `look` returns an optional value. Rank 0 looks once. If it finds
/// the file, the other ranks look until they find it, too. All ranks must call it. Errors: those of `look`
/// and of wait_until_seen(); RankLost.
template <typename Look>
auto look_on_ranks(Exchange* exchange, const std::filesystem::path& path, const Look& look,
                   std::chrono::milliseconds limit = kSeenWithin) {
  decltype(look()) found;
  if (rank_of(exchange) == 0) found = look();
  if (exchange == nullptr) return found;
  bool is_there = found.has_value();
  broadcast(*exchange, std::as_writable_bytes(std::span(&is_there, 1)));
  const auto look_again = [&] {
    found = look();
    return found.has_value();
  };
  if (is_there && !found.has_value()) wait_until_seen(path, look_again, limit);
  return found;
}

/// Returns whether rank 0 has the file. If so, this rank can see it, too, when the function returns. All
/// ranks must call it. Errors: those of wait_until_seen(); RankLost.
bool is_there_for_ranks(Exchange* exchange, const std::filesystem::path& path);

}  // namespace plimsoll
