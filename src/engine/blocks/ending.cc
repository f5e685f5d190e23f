#include "engine/blocks/ending.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "device/device_region.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

enum class Ending : int { done, interrupted, out_of_budget, failed };

Ending kind_of_ending(const std::exception_ptr& error) {
  if (!error) return Ending::done;
  try {
    std::rethrow_exception(error);
  } catch (const Interrupted&) {
    return Ending::interrupted;
  } catch (const BudgetExceeded&) {
    return Ending::out_of_budget;
  } catch (const DeviceRegionFull&) {
    return Ending::out_of_budget;
  } catch (...) {
    return Ending::failed;
  }
}

}  // namespace

double ending_of(const std::exception_ptr& error) {
  return static_cast<double>(kind_of_ending(error));
}

void require_all_done(std::span<const double> records, size_t size, const std::exception_ptr& error) {
  Ending worst = Ending::done;
  size_t rank = 0;
  for (size_t r = 0; r * size < records.size(); ++r) {
    const auto ending = static_cast<Ending>(static_cast<int>(records[r * size]));
    if (ending <= worst) continue;
    worst = ending;
    rank = r;
  }
  if (worst == Ending::done) return;
  if (error) std::rethrow_exception(error);
  switch (worst) {
    case Ending::interrupted:
      throw Interrupted(fmt::format("rank {} was asked to stop", rank));
    case Ending::out_of_budget:
      throw Interrupted(fmt::format("rank {} is out of budget", rank));
    default:
      throw Failure(fmt::format("rank {} failed; its own message gives the reason", rank));
  }
}

void require_all_done(Exchange& exchange, const std::exception_ptr& error) {
  const double mine = ending_of(error);
  std::vector<double> endings(static_cast<size_t>(exchange.ranks()));
  gather(exchange, std::span(&mine, 1), endings);
  require_all_done(endings, 1, error);
}

}  // namespace plimsoll
